"""Follows one task's journal: the state so far, and what is new since the last look."""

from collections.abc import Iterator

from cockpit.domain.entries import Record
from cockpit.domain.state import TaskState, step
from cockpit.journal.layout import TaskFolder
from cockpit.journal.log import read_records
from cockpit.journal.snapshot import load_state


class TaskTail:
    """A task's state that is carried on record by record."""

    def __init__(self, folder: TaskFolder) -> None:
        """Read the journal; raises ``JournalError`` when it is damaged."""
        self._journal = folder.journal
        self.state, self._offset = load_state(folder)

    def advance(self) -> list[Record]:
        """Fold what was written since the last look and return it."""
        records = self._read()
        for record in records:
            self.state = step(self.state, record)
        return records

    def states(self) -> Iterator[TaskState]:
        """Yield the state after each record that was written since the last look."""
        for record in self._read():
            self.state = step(self.state, record)
            yield self.state

    def _read(self) -> list[Record]:
        records, self._offset = read_records(self._journal, self._offset)
        return records
