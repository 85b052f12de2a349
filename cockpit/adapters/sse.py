"""Reads server-sent events out of bytes as they come, whatever the chunks look like.

Lines end at LF, CRLF or CR and nowhere else: U+2028 and U+0085 are legal inside JSON strings. Beyond the standard,
a field named ``error`` is an event of its own, as older llama.cpp builds send it.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"

DATA = "data"
ERROR = "error"
PING = ""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One thing the server sent."""

    field: str
    """``data``, ``error``, or empty for a comment (a keep-alive)."""
    data: str


class SseReader:
    """Turns chunks of bytes into events; any split of the same bytes gives the same events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._ended_in_cr = False
        self._is_first_line = True
        self._data: list[str] = []
        self._event = ""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that are complete now."""
        if self._ended_in_cr and chunk:
            self._ended_in_cr = False
            chunk = chunk.removeprefix(b"\n")
        if not _LINE_END.search(chunk):
            self._rest.append(chunk)
            return []
        self._ended_in_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(b"".join(self._rest) + chunk)
        self._rest = [rest]
        return [event for line in lines for event in self._take(line)]

    def close(self) -> list[SseEvent]:
        """Return what the last bytes amount to when the connection ends without a blank line."""
        rest = b"".join(self._rest)
        self._rest = []
        events = self._take(rest) if rest else []
        return [*events, *self._dispatch()]

    def _take(self, line: bytes) -> list[SseEvent]:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", errors="replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                return [SseEvent(PING, value)]
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "error":
                return [SseEvent(ERROR, value)]
        return []

    def _dispatch(self) -> list[SseEvent]:
        """End the current event; one without any data counts for nothing."""
        data, kind = "\n".join(self._data), ERROR if self._event == "error" else DATA
        self._data, self._event = [], ""
        return [SseEvent(kind, data)] if data else []
