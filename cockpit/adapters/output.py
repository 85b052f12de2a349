"""Keeps the output of a command: capped on disk, the beginning and the end in memory."""

import os
from collections import deque

END_KEPT = 512 * 1024
"""Bytes of the end that survive any amount of output: the reason of a failure stands there."""
START_KEPT = 128 * 1024
"""Bytes of the beginning shown in front of the end; undecodable bytes triple in UTF-8, so the sum stays below 2 MB."""


class CappedLog:
    """Writes a log of at most ``limit`` bytes: the beginning, and the end in place of what lies between.

    A disk that fills up never stops the command: the rest is counted and dropped, and ``problem`` says so.
    """

    def __init__(self, path: str, limit: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._room = max(limit - END_KEPT, END_KEPT)
        self._end: deque[bytes] = deque()
        self._end_bytes = 0
        self.total_bytes = 0
        """Bytes the command wrote in all."""
        self.is_truncated = False
        self.problem = ""

    def write(self, data: bytes) -> None:
        """Take the next piece of output."""
        self.total_bytes += len(data)
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        self._store(head)
        if rest:
            self._hold(rest)

    def _hold(self, data: bytes) -> None:
        self._end.append(data)
        self._end_bytes += len(data)
        while self._end_bytes - len(self._end[0]) >= END_KEPT:
            self._end_bytes -= len(self._end.popleft())
            self.is_truncated = True

    def _store(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.problem:
            try:
                view = view[os.write(self._file, view) :]
            except OSError as error:
                self.problem = f"the log is incomplete: {error.strerror}"
        self.is_truncated |= bool(view)

    def close(self) -> None:
        """Write the end that was held back, after a line that says how much is missing."""
        end = b"".join(self._end)
        self.is_truncated |= len(end) > END_KEPT
        if self.is_truncated and not self.problem:
            end = end[-END_KEPT:]
            dropped = self.total_bytes - os.lseek(self._file, 0, os.SEEK_CUR) - len(end)
            self._store(left_out(dropped).encode())
        self._store(end)
        os.close(self._file)


def left_out(size: int) -> str:
    """Return the line that stands where output is missing."""
    return f"\n[... {size:,} bytes left out ...]\n"


def excerpt(log: str, total_bytes: int) -> str:
    """Return the beginning and the end of a log as text; ``total_bytes`` is what the command wrote.

    Undecodable bytes become U+FFFD. A log that cannot be read gives an empty text.
    """
    try:
        with open(log, "rb") as file:  # noqa: PTH123 - shared with the reaper, which does without pathlib
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if max(size, total_bytes) <= START_KEPT + END_KEPT:
                return _decode(file.read(START_KEPT + END_KEPT))
            start = file.read(START_KEPT)
            file.seek(max(size - END_KEPT, START_KEPT))
            end = file.read(END_KEPT)
    except OSError:
        return ""
    missing = max(size, total_bytes) - len(start) - len(end)
    return _decode(start) + left_out(missing) + _decode(_whole_start(end))


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _whole_start(data: bytes) -> bytes:
    """Drop the rest of a character that was cut in two at the front."""
    cut = 0
    while cut < min(3, len(data)) and 0x80 <= data[cut] < 0xC0:
        cut += 1
    return data[cut:]
