"""Files of whole lines: appended with one write each, read up to the last whole one."""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from cockpit.journal.files import sync_folder, write_all, write_error

REPAIR = "a newer version may have written it; otherwise move the file away and keep it"
"""What to do about a line that cannot be read."""
BLOCK = 64 * 1024
"""Bytes read at a time when looking for the last line from the end."""


class LineFile:
    """A file open for appending whole lines; a torn last line, left by a crash, is cut off first."""

    def __init__(self, path: Path, *, torn: Path | None = None) -> None:
        """Open or make ``path``; torn bytes are kept in ``torn`` when that is given."""
        self.path = path
        self._is_torn = False
        try:
            self._handle = _open(path)
            self.size = whole_end(self._handle)
            self._cut_torn(torn)
        except OSError as error:
            raise write_error(path, error) from error

    def append(self, line: bytes, *, durable: bool) -> None:
        """Write one line that ends in a newline.

        Raises ``HoldError`` (``disk_full``) or ``CockpitError``; then the file ends where it ended before.
        """
        try:
            self._mend()
            self._is_torn = True
            write_all(self._handle, line)
            if durable:
                os.fdatasync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):  # what cannot be mended now is mended before the next line
                self._mend()
            raise write_error(self.path, error) from error
        self.size += len(line)
        self._is_torn = False

    def last_line(self) -> bytes:
        """Return the last whole line without its newline; empty when there is none."""
        return last_line(self._handle, self.size)

    def close(self) -> None:
        """Close the file; closing twice does no harm."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _mend(self) -> None:
        """Cut off what a failed write left."""
        if self._is_torn:
            os.ftruncate(self._handle, self.size)
            self._is_torn = False

    def _cut_torn(self, keep: Path | None) -> None:
        torn = os.pread(self._handle, os.fstat(self._handle).st_size - self.size, self.size)
        if not torn:
            return
        if keep is not None:
            _keep(keep, torn)
        os.ftruncate(self._handle, self.size)


def read_lines(path: Path, offset: int = 0) -> tuple[list[bytes], int]:
    """Return the whole lines from ``offset`` on, without newlines, and the offset after the last of them.

    A torn last line is left for the next call; a missing file has no lines.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], offset
    end = data.rfind(b"\n") + 1
    return data[:end].split(b"\n")[:-1], offset + end


def end_of(path: Path) -> int:
    """Return the offset after the last whole line of a file; 0 when there is none."""
    try:
        with path.open("rb") as file:
            return whole_end(file.fileno())
    except FileNotFoundError:
        return 0


def line_number(path: Path, offset: int) -> int:
    """Return the number, from 1, of the line that starts at ``offset``."""
    with path.open("rb") as file:
        return file.read(offset).count(b"\n") + 1


def whole_end(handle: int) -> int:
    """Return the offset after the last newline of an open file."""
    return _after_newline(handle, os.fstat(handle).st_size)


def last_line(handle: int, end: int) -> bytes:
    """Return the whole line that ends at ``end``, without its newline; empty when there is none."""
    if end == 0:
        return b""
    start = _after_newline(handle, end - 1)
    return os.pread(handle, end - 1 - start, start)


def _after_newline(handle: int, end: int) -> int:
    """Return the offset after the last newline before ``end``, reading backwards."""
    while end > 0:
        start = max(0, end - BLOCK)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _open(path: Path) -> int:
    is_new = not path.exists()
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if is_new:
        sync_folder(path.parent)
    return handle


def _keep(path: Path, torn: bytes) -> None:
    """Keep torn bytes for a curious person; they are no facts, so a full disk may swallow them."""
    with contextlib.suppress(OSError), path.open("ab") as file:
        file.write(torn + b"\n")
