"""Writes one model call down as it happens, a line every 40 ms, and reads it back."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from cockpit.domain.errors import JournalError
from cockpit.domain.stream import Cut, Delta, End, Insert, Open, Resume, StreamLine
from cockpit.journal.codec import decode_stream_line, encode_stream_line
from cockpit.journal.lines import REPAIR, LineFile, line_number, read_lines

COALESCE_S = 0.04
"""Tokens of this long share a line: the eye sees no difference, the file shrinks several times."""

Channel = Literal["content", "reasoning"]


class StreamWriter:
    """The only writer of one ``stream.jsonl``; goes on where a crash left the file."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Open or make the file; ``clock`` gives seconds, from any start."""
        self._file = LineFile(path)
        self._clock = clock
        lines, _ = read_stream(path)
        self._edges = _edges(lines)
        self._ms = max((line.ms for line in lines if not isinstance(line, Open)), default=0)
        self._start_s = clock() - self._ms / 1000
        self._text: list[str] = []
        self._ids: list[int] = []
        self._channel: Channel = "content"
        self._since_s: float | None = None

    @property
    def index(self) -> int:
        """Number of answer tokens so far, those not yet written included."""
        return self._edges[-1] + len(self._ids)

    def open(self, line: Open) -> None:
        """Write the first line; milliseconds count from here."""
        self._start_s = self._clock()
        self._write(line, durable=True)

    def delta(self, text: str, ids: tuple[int, ...] = (), channel: Channel = "content") -> None:
        """Take some tokens; they reach the file within 40 ms of the next call to ``flush_if_due``."""
        if channel != self._channel:
            self.flush()
            self._channel = channel
        if self._since_s is None:
            self._since_s = self._clock()
        self._text.append(text)
        self._ids.extend(ids)
        self.flush_if_due(self._clock())

    def flush_if_due(self, now_s: float) -> bool:
        """Write the waiting tokens when the oldest waits for 40 ms; tells whether it did."""
        if self._since_s is None or now_s - self._since_s < COALESCE_S:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """Write the waiting tokens now; when the disk is full they go on waiting."""
        if self._since_s is None:
            return
        self._write(Delta(self._now_ms(), self._edges[-1], "".join(self._text), tuple(self._ids), self._channel))
        self._edges.append(self._edges[-1] + len(self._ids))
        self._text, self._ids, self._since_s = [], [], None

    def cut(self, why: str, at: int | None = None) -> Cut:
        """Drop the tokens from ``at`` on (None keeps all), rounded down to the edge of a line; returns what was cut."""
        self.flush()
        wanted = self._edges[-1] if at is None else at
        kept = max((edge for edge in self._edges if edge <= wanted), default=0)
        line = Cut(self._now_ms(), why, kept)
        self._write(line, durable=True)
        self._edges = [edge for edge in self._edges if edge <= kept]
        return line

    def insert(self, who: str, text: str, ids: tuple[int, ...] = ()) -> None:
        """Put in text that the model did not write."""
        self.flush()
        self._write(Insert(self._now_ms(), who, text, ids))
        self._edges.append(self._edges[-1] + len(ids))

    def resume(self, kept: int, prefilled: int | None = None) -> None:
        """Note that the stream goes on from ``kept`` answer tokens."""
        self.flush()
        self._write(Resume(self._now_ms(), kept, prefilled))

    def end(self, finish: str, usage: Mapping[str, Any] | None = None, reason: str = "") -> None:
        """Write the last line, and wait until all of them are on the disk."""
        self.flush()
        self._write(End(self._now_ms(), finish, usage or {}, reason), durable=True)

    def close(self) -> None:
        """Close the file; tokens still waiting are written first."""
        try:
            self.flush()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, line: StreamLine, *, durable: bool = False) -> None:
        self._file.append(encode_stream_line(line) + b"\n", durable=durable)

    def _now_ms(self) -> int:
        """Return milliseconds since ``open``, never less than before."""
        self._ms = max(self._ms, round((self._clock() - self._start_s) * 1000))
        return self._ms


def read_stream(path: Path, offset: int = 0) -> tuple[list[StreamLine], int]:
    """Return the lines from ``offset`` on and the offset after the last whole one.

    Raises ``JournalError`` that names file and line.
    """
    found, end = read_lines(path, offset)
    lines: list[StreamLine] = []
    for index, line in enumerate(found):
        try:
            lines.append(decode_stream_line(line))
        except JournalError as error:
            number = line_number(path, offset) + index
            raise JournalError(f"{path}, line {number}: {error.message}", hint=REPAIR) from error
    return lines, end


def _edges(lines: list[StreamLine]) -> list[int]:
    """Return the token counts at which a cut can fall: 0, and after each line that stands."""
    edges = [0]
    for line in lines:
        match line:
            case Delta() | Insert():
                edges.append(edges[-1] + len(line.ids))
            case Cut():
                edges = [edge for edge in edges if edge <= line.at]
            case Open() | Resume() | End():
                pass
    return edges
