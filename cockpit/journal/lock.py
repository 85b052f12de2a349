"""Lets one engine own a home, and tells clients whether one does."""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from cockpit.domain.errors import CockpitError
from cockpit.journal.files import write_atomic
from cockpit.journal.layout import Home
from cockpit.journal.summary import read_object

GLANCE_S = 0.5
"""A client that looks holds the lock for microseconds; an engine that starts just then tries again for this long."""


class EngineLock:
    """The right to write a home; the kernel takes it back when the process dies, however it dies."""

    def __init__(self, home: Home) -> None:
        self._path = home.engine_lock
        self._handle = -1

    def acquire(self) -> bool:
        """Take the lock; False when another engine holds it."""
        if self._handle >= 0:
            return True
        handle = _open(self._path)
        deadline = time.monotonic() + GLANCE_S
        while not _try_lock(handle, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                os.close(handle)
                return False
            time.sleep(0.01)
        self._handle = handle
        return True

    def release(self) -> None:
        """Give the lock back; giving back what is not held does no harm."""
        if self._handle >= 0:
            # Unlocked before it is closed: a child being started holds a copy for a moment, until its exec is over.
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            os.close(self._handle)
            self._handle = -1


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """What an engine tells of itself."""

    pid: int
    version: str
    started_s: float
    """Seconds since 1970."""
    heartbeat_s: float
    """Seconds since 1970; written anew while the engine's loop turns."""
    server_url: str = ""
    """``server.url`` as the engine was started with it; empty for the embedded server."""


def write_engine(home: Home, record: EngineRecord) -> None:
    """Write the record."""
    write_atomic(home.engine_json, json.dumps(asdict(record)).encode(), durable=False)


def read_engine(home: Home) -> EngineRecord | None:
    """Return the record of the running or last engine; None when there is none, or none that can be read."""
    row = read_object(home.engine_json)
    try:
        return EngineRecord(
            int(row["pid"]), str(row["version"]), float(row["started_s"]), float(row["heartbeat_s"]),
            str(row.get("server_url", "")),
        )  # fmt: skip
    except (LookupError, TypeError, ValueError):
        return None


def is_engine_alive(home: Home) -> bool:
    """Tell whether an engine holds the lock, by trying it for an instant; a file left by a dead one means nothing."""
    try:
        handle = os.open(home.engine_lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(home.engine_lock, error) from error
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error


def _try_lock(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unusable(path: Path, error: OSError) -> CockpitError:
    return CockpitError(f"cannot open {path}: {error.strerror}", hint="check its owner and its permissions")
