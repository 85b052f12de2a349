"""Hands commands from clients to the engine: one file each, renamed in when it is whole."""

import re
import time
from pathlib import Path

from cockpit.domain.commands import Command
from cockpit.domain.errors import JournalError, NotFoundError, UsageError
from cockpit.journal.codec import decode_command, encode_command
from cockpit.journal.files import write_atomic

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
RING = ".ring"
LOST = "the command was not carried out; ask again"
_last_ns = 0


def drop(inbox: Path, command: Command) -> Path:
    """Put a command into an inbox and return its file; the order of one client's commands is kept.

    Raises ``UsageError`` for an id that cannot be a file's name, ``NotFoundError`` when nobody owns the inbox.
    """
    if not _ID.fullmatch(command.id):
        raise UsageError(f"{command.id!r} cannot name a command", hint="use letters, digits, - and _")
    if not inbox.parent.is_dir():
        raise NotFoundError(
            f"there is no {inbox.parent}", hint="the engine makes a task's folder when it adds the task"
        )
    inbox.mkdir(mode=0o700, exist_ok=True)
    path = inbox / f"{_next_ns():020d}-{command.id}.json"
    write_atomic(path, encode_command(command))
    return path


def waiting(inbox: Path) -> list[tuple[Path, Command | JournalError]]:
    """Return the commands in an inbox, oldest first; one that cannot be read comes as its error."""
    try:
        paths = sorted(path for path in inbox.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    except FileNotFoundError:
        return []
    return [(path, _read(path)) for path in paths if path.is_file()]


def clear(path: Path) -> None:
    """Remove a command that was taken; one that is gone is no error."""
    path.unlink(missing_ok=True)


def ring(root_inbox: Path, task: str) -> None:
    """Tell the engine that a task's inbox holds something, so that it need not look into all of them."""
    (root_inbox / f"{task}{RING}").touch()


def rung(root_inbox: Path) -> list[str]:
    """Return the tasks whose ring was heard since the last call."""
    rings = sorted(root_inbox.glob(f"*{RING}"))
    for path in rings:
        clear(path)  # before the inbox is read: a ring that comes later is heard again
    return [path.name.removesuffix(RING) for path in rings]


def _read(path: Path) -> Command | JournalError:
    try:
        return decode_command(path.read_bytes())
    except OSError as error:
        return JournalError(f"cannot read {path}: {error.strerror}", hint=LOST)
    except JournalError as error:
        return JournalError(f"{path}: {error.message}", hint=LOST)


def _next_ns() -> int:
    """Return the time in nanoseconds, later than at the last call even when the clock was set back."""
    global _last_ns  # noqa: PLW0603  # one clock per process
    _last_ns = max(time.time_ns(), _last_ns + 1)
    return _last_ns
