"""Appends facts to a journal and reads them back; a crash at any instant costs no record that was written."""

from pathlib import Path
from types import TracebackType
from typing import Self

from cockpit.domain.entries import Entry, Record
from cockpit.domain.errors import JournalError
from cockpit.journal.codec import decode_record, encode_record
from cockpit.journal.lines import REPAIR, LineFile, line_number, read_lines


class JournalWriter:
    """The only writer of one journal: the engine that holds the lock."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        """Open or make a journal; bytes of a torn last line move to ``journal.torn`` beside it.

        ``durable`` waits for the disk after every record. Raises ``JournalError`` when the last line is damaged.
        """
        self._file = LineFile(path, torn=path.with_suffix(".torn"))
        self._durable = durable
        self.seq = self._last_seq()

    @property
    def offset(self) -> int:
        """Where the next record will start: with the folded state, this makes a snapshot."""
        return self._file.size

    def append(self, entry: Entry, at_s: float) -> Record:
        """Write one fact.

        Raises ``HoldError`` (``disk_full``): then the journal is as before, and the same entry can be tried again.
        """
        record = Record(self.seq + 1, at_s, entry)
        self._file.append(encode_record(record) + b"\n", durable=self._durable)
        self.seq = record.seq
        return record

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _last_seq(self) -> int:
        line = self._file.last_line()
        if not line:
            return 0
        try:
            return decode_record(line).seq
        except JournalError as error:
            self._file.close()
            raise JournalError(f"{self._file.path}, last line: {error.message}", hint=REPAIR) from error


def read_records(path: Path, offset: int = 0) -> tuple[list[Record], int]:
    """Return the records from ``offset`` on and the offset after the last whole line.

    Raises ``JournalError`` that names file and line for anything but a torn last line.
    """
    lines, end = read_lines(path, offset)
    records: list[Record] = []
    for index, line in enumerate(lines):
        try:
            records.append(decode_record(line))
        except JournalError as error:
            number = line_number(path, offset) + index
            raise JournalError(f"{path}, line {number}: {error.message}", hint=REPAIR) from error
    return records, end
