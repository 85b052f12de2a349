"""Follows one task's journal: the state so far, and what is new since the last look."""

from cockpit.domain.entries import Record
from cockpit.domain.state import fold
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
        records, self._offset = read_records(self._journal, self._offset)
        self.state = fold(records, self.state)
        return records
