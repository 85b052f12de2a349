"""Names what an answer asks for and what the code that applies it may look at."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cockpit.domain.errors import CockpitError
from cockpit.domain.evidence import EditRefusal, WrittenFile

Kind = Literal["file", "symlink", "directory", "submodule", "missing"]
EditFormat = Literal["search_replace", "whole_file", "auto"]


@dataclass(frozen=True, slots=True)
class SearchReplace:
    """Replace whole lines that occur exactly once."""

    path: str | None
    """As the model wrote it; None when it named no file."""
    search: str
    """Whole lines, each ended by a line feed; empty asks for a new file."""
    replace: str
    line: int = field(default=0, compare=False)
    """Line of the answer where the edit begins, from 1."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """Write the complete file."""

    path: str | None
    """As the model wrote it; None when it named no file."""
    text: str
    """All lines, each ended by a line feed."""
    line: int = field(default=0, compare=False)
    """Line of the answer where the edit begins, from 1."""
    title: str = field(default="", compare=False)
    """First line of ``text`` when it is a comment that holds nothing but the path; dropped unless the file has it."""


Edit = SearchReplace | WholeFile


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What an answer asks for; with a problem, no edit is taken from it."""

    edits: tuple[Edit, ...] = ()
    problem_label: str = ""
    """``format_invalid``, ``gen_length`` or ``thinking_only``; empty when the answer could be read."""
    problem_reason: str = ""
    no_change: str | None = None
    """Why nothing needs to change, in the model's words; None unless it said so."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an answer would write: everything or nothing."""

    written: tuple[WrittenFile, ...] = ()
    refusals: tuple[EditRefusal, ...] = ()


class AnswerError(CockpitError):
    """An answer cannot be read: nothing of it is taken."""

    def __init__(self, message: str, *, label: str = "format_invalid") -> None:
        super().__init__(message, hint="say what was expected and ask again", label=label)


class RefusedError(CockpitError):
    """One edit is not applied."""

    def __init__(self, label: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, label=label)


class TreeView(Protocol):
    """The worktree as an answer may see it; paths are relative and posix."""

    @property
    def in_play(self) -> tuple[str, ...]:
        """Files the model was shown."""

    def tracked(self) -> Collection[str]:
        """Return the paths git tracks."""

    def kind(self, path: str) -> Kind:
        """Tell what is at a path; below a symbolic link everything counts as ``symlink``."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""

    def is_ignored(self, path: str) -> bool:
        """Tell whether the repository's ignore rules hide a path from the patch."""


@dataclass(frozen=True, slots=True)
class MemoryTree:
    """A tree held in memory; every file is tracked unless it is named as untracked."""

    files: Mapping[str, bytes]
    in_play: tuple[str, ...] = ()
    symlinks: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    """Paths and folders the ignore rules hide."""
    untracked: frozenset[str] = frozenset()

    def tracked(self) -> Collection[str]:
        """Return all files and links but the untracked ones."""
        return (self.files.keys() | self.symlinks) - self.untracked

    def kind(self, path: str) -> Kind:
        """Tell what is at a path."""
        parts = path.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if above & self.symlinks:
            return "symlink"
        if above & self.submodules:
            return "submodule"
        if path in self.files:
            return "file"
        is_folder = any(name.startswith(f"{path}/") for name in self.tracked())
        return "directory" if is_folder else "missing"

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self.files[path]

    def is_ignored(self, path: str) -> bool:
        """Tell whether a path or a folder above it is ignored."""
        return any(path == name or path.startswith(f"{name}/") for name in self.ignored)
