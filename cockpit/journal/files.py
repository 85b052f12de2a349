"""Writes files whole or not at all, and says which disk is full."""

import contextlib
import errno
import itertools
import os
import time
from pathlib import Path

from cockpit.domain.errors import CockpitError, HoldError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""A full disk, a full quota, or the largest file this process may write."""
LITTER_S = 60.0
"""A temporary file older than this was left by a process that was killed."""

_numbers = itertools.count()


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Write ``data`` beside ``path`` and rename it there; readers see the old bytes or the new ones.

    ``durable`` also outlasts a power cut. Raises ``HoldError`` (``disk_full``) or ``CockpitError``; then the old
    file is untouched and nothing is left beside it.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}-{next(_numbers)}.tmp")
    try:
        _write_new(beside, data, mode, durable=durable)
        beside.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise write_error(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep_litter(folder: Path) -> None:
    """Remove temporary files that a killed process left behind."""
    too_old_s = time.time() - LITTER_S
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < too_old_s:
                path.unlink()


def write_error(path: Path, error: OSError) -> CockpitError:
    """Turn a failed write into what a person can act on: ``HoldError`` when space is what is missing."""
    if error.errno not in FULL:
        return CockpitError(f"cannot write {path}: {error.strerror}", hint=f"check the permissions of {path.parent}")
    disk = disk_of(path)
    return HoldError(
        f"cannot write {path}: {error.strerror} (disk {disk}, {_free_mib(disk)} MiB free)",
        hint=f"make room on {disk}; the task goes on by itself",
        label="disk_full",
    )


def disk_of(path: Path) -> Path:
    """Return the mount point a path lies on."""
    here = path.absolute()
    while not os.path.ismount(here) and here != here.parent:
        here = here.parent
    return here


def write_all(handle: int, data: bytes) -> None:
    """Write every byte: one call as a rule, more when the system takes fewer at a time."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _write_new(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(handle, data)
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def _free_mib(disk: Path) -> int:
    try:
        room = os.statvfs(disk)
    except OSError:
        return 0
    return room.f_bavail * room.f_frsize // 2**20
