"""Models a patch as git prints it: file patches, hunks and lines, frozen and free of I/O.

``domain.patchtext`` reads and writes it; here are the parts and what can be counted on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cockpit.domain.evidence import ChangeKind
from cockpit.domain.text import hidden_positions

Tag = Literal[" ", "+", "-"]

_LFS_FIRST_LINE = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk; only a line feed ends it, so that any other separator is part of ``text``."""

    tag: Tag
    text: bytes
    no_newline: bool = False
    """True when the file ends here without a line feed."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring changes with the lines around them. Line numbers count from 1."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    header: bytes
    """The whole ``@@`` line as it was printed, the enclosing symbol included."""
    lines: tuple[Line, ...]

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(line.tag == "+" for line in self.lines)

    @property
    def deleted(self) -> int:
        """Number of deleted lines."""
        return sum(line.tag == "-" for line in self.lines)

    @property
    def changes_nothing(self) -> bool:
        """Tell whether both sides of the hunk are the same lines."""
        sides = [[(line.text, line.no_newline) for line in self.lines if line.tag != tag] for tag in "+-"]
        return sides[0] == sides[1]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What happened to one path."""

    old_path: str | None
    """Path at the base; None for a new file."""
    new_path: str | None
    """Path afterwards; None for a deleted file."""
    header: tuple[bytes, ...]
    """Every line before the first hunk as it was printed, binary data included, without line feeds."""
    hunks: tuple[Hunk, ...] = ()
    old_mode: str = ""
    """Git's mode, for example ``100644``; empty where the patch does not say."""
    new_mode: str = ""
    is_binary: bool = False
    is_new: bool = False
    is_deleted: bool = False
    is_rename: bool = False
    is_copy: bool = False
    similarity: int | None = None
    """Percent, for renames and copies."""

    @property
    def path(self) -> str:
        """The path to show: where the file is now, else where it was."""
        return self.new_path or self.old_path or ""

    @property
    def added(self) -> int:
        """Number of added lines; 0 for binary files."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def deleted(self) -> int:
        """Number of deleted lines; 0 for binary files."""
        return sum(hunk.deleted for hunk in self.hunks)

    @property
    def kind(self) -> ChangeKind:
        """What the change is; a change without hunks is still one."""
        by_mode = _KIND_BY_MODE.get(self.new_mode or self.old_mode)
        if by_mode is not None:
            return by_mode
        if self.is_binary:
            return ChangeKind.BINARY
        if self.hunks:
            return ChangeKind.LFS_POINTER if self._is_lfs_pointer else ChangeKind.TEXT
        return self._kind_without_hunks()

    def _kind_without_hunks(self) -> ChangeKind:
        if self.is_new:
            return ChangeKind.EMPTY_NEW
        if self.old_mode != self.new_mode and not self.is_deleted:
            return ChangeKind.MODE
        return ChangeKind.RENAME if self.is_rename or self.is_copy else ChangeKind.TEXT

    @property
    def _is_lfs_pointer(self) -> bool:
        first = self.hunks[0]
        return first.old_start <= 1 and any(line.text.startswith(_LFS_FIRST_LINE) for line in first.lines[:2])


_KIND_BY_MODE = {"120000": ChangeKind.SYMLINK, "160000": ChangeKind.SUBMODULE}


@dataclass(frozen=True, slots=True)
class Patch:
    """All that differs, file by file, in git's order."""

    files: tuple[FilePatch, ...] = ()

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(file.added for file in self.files)

    @property
    def deleted(self) -> int:
        """Number of deleted lines."""
        return sum(file.deleted for file in self.files)

    @property
    def entries(self) -> tuple[tuple[str, ChangeKind], ...]:
        """Every changed path with its kind, sorted by path."""
        return tuple(sorted((file.path, file.kind) for file in self.files))


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line of a hunk with its numbers, from 1; None on the side where it does not exist."""

    old_number: int | None
    new_number: int | None
    line: Line


@dataclass(frozen=True, slots=True)
class HiddenCharacter:
    """A character of an added line that cannot be seen or that reorders what is seen."""

    path: str
    line: int
    """Line in the new file, from 1."""
    column: int
    """Characters from the start of the line, from 1."""
    codepoint: int


def numbered(hunk: Hunk) -> Iterator[NumberedLine]:
    """Yield the lines of a hunk with their numbers in the old and the new file."""
    # A side without lines is printed as the line before it, for example ``-0,0``
    old = hunk.old_start + (hunk.old_count == 0)
    new = hunk.new_start + (hunk.new_count == 0)
    for line in hunk.lines:
        yield NumberedLine(None if line.tag == "+" else old, None if line.tag == "-" else new, line)
        old += line.tag != "+"
        new += line.tag != "-"


def hidden_characters(patch: Patch) -> tuple[HiddenCharacter, ...]:
    """Return every hidden character on an added line, in the order of the patch; a CR that ends a line is none."""
    return tuple(
        HiddenCharacter(file.path, row.new_number, column, codepoint)
        for file in patch.files
        for hunk in file.hunks
        for row in numbered(hunk)
        if row.line.tag == "+" and row.new_number is not None
        for column, codepoint in hidden_positions(_decoded(row.line.text))
    )


def _decoded(text: bytes) -> str:
    """Return the line as text; bytes that are no UTF-8 are shown as replacement characters, which hide nothing."""
    return text.removesuffix(b"\r").decode("utf-8", "replace")
