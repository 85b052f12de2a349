"""Keeps a folded journal beside it, so that a long one opens fast; nothing is lost when it is deleted."""

import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cockpit.domain import entries, state
from cockpit.domain.errors import JournalError
from cockpit.domain.state import TaskState, fold
from cockpit.journal.codec import decode_record, from_json, to_json
from cockpit.journal.files import write_atomic
from cockpit.journal.layout import TaskFolder
from cockpit.journal.lines import last_line
from cockpit.journal.log import read_records


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state and the journal offset up to which it is folded."""

    reducer: str
    offset: int
    state: TaskState


def load_state(folder: TaskFolder) -> tuple[TaskState, int]:
    """Return a task's state and the journal offset it stands for: snapshot and tail, or the whole journal.

    A snapshot that is missing, damaged, of another version or of another journal is ignored. Raises
    ``JournalError`` when the journal itself cannot be read.
    """
    snapshot = _read(folder)
    start, offset = (snapshot.state, snapshot.offset) if snapshot else (None, 0)
    records, end = read_records(folder.journal, offset)
    return fold(records, start), end


def save_snapshot(folder: TaskFolder, state: TaskState, offset: int) -> None:
    """Keep ``state``, folded up to ``offset``."""
    write_atomic(folder.snapshot, to_json(Snapshot(_reducer(), offset, state)), durable=False)


def _read(folder: TaskFolder) -> Snapshot | None:
    try:
        snapshot = from_json(Snapshot, folder.snapshot.read_bytes())
    except (OSError, JournalError):
        return None
    if snapshot.reducer != _reducer() or not _fits(snapshot, folder.journal):
        return None
    return snapshot


def _fits(snapshot: Snapshot, journal: Path) -> bool:
    """Tell whether the line before the offset is the last record that was folded."""
    try:
        with journal.open("rb") as file:
            file.seek(max(0, snapshot.offset - 1))
            if snapshot.offset and file.read(1) != b"\n":
                return False
            line = last_line(file.fileno(), snapshot.offset)
        return snapshot.state.seq == (decode_record(line).seq if line else 0)
    except (OSError, JournalError):
        return False


@cache
def _reducer() -> str:
    """Name the reducer by its source: a state folded by other code is not to be trusted."""
    sources = b"".join(Path(module.__file__ or "").read_bytes() for module in (entries, state))
    return f"{zlib.crc32(sources):08x}"
