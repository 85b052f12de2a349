"""Frozen facts that guards look at; gathered by the workspace, never by a guard."""

from dataclasses import dataclass
from enum import StrEnum

from cockpit.domain.testing import Baseline, RunReport


class ChangeKind(StrEnum):
    """What a changed path is; a change without text hunks is still a change."""

    TEXT = "text"
    BINARY = "binary"
    MODE = "mode"
    """Only the mode changed."""
    RENAME = "rename"
    """Renamed without any other change."""
    EMPTY_NEW = "empty_new"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"
    LFS_POINTER = "lfs_pointer"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path that differs between base and worktree."""

    path: str
    kind: ChangeKind
    is_new: bool = False
    is_deleted: bool = False
    old_path: str | None = None
    """The former path of a renamed file."""
    old_mode: str = ""
    """Git's mode, for example ``100644``; empty when the file did not exist."""
    new_mode: str = ""
    added: int = 0
    deleted: int = 0
    old: bytes | None = None
    """Bytes at the base; None when new, or larger than 4 MiB."""
    new: bytes | None = None
    """Bytes as harvested; None when deleted, or larger than 4 MiB."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What applying an answer wrote to one path, to be compared with what was harvested."""

    path: str
    before: bytes | None
    """Bytes on disk before the answer was applied; None for a new file."""
    after: bytes
    whole_file: bool
    """True for a complete-file answer, False for SEARCH/REPLACE."""


@dataclass(frozen=True, slots=True)
class SyntaxDelta:
    """Parse errors of one file before and after."""

    path: str
    language: str
    errors_before: int
    errors_after: int
    first_error: str = ""
    """Position and text of the first new error, for example ``line 12: unexpected indent``."""


@dataclass(frozen=True, slots=True)
class EditRefusal:
    """One edit of an answer that was not applied, and why."""

    label: str
    """``search_missing``, ``search_ambiguous``, ``edit_noop``, ``path_invalid``, ``edit_ignored_path``, …"""
    path: str
    reason: str
    """One or two sentences for a person; foreign text in it is raw."""
    hint: str = ""
    """What the model should be told: the nearest real lines, the matching places."""


@dataclass(frozen=True, slots=True)
class PatchEvidence:
    """Everything known after the harvest of one round."""

    base_tree: str
    tree: str
    changes: tuple[FileChange, ...] | None
    """All paths that differ between base and worktree; None when the harvest failed."""
    refusals: tuple[EditRefusal, ...] = ()
    """Edits of this round's answer that were not applied."""
    answer_label: str = ""
    """Why the answer could not be read at all: ``format_invalid``, ``gen_length``, ``gen_repetition``, …"""
    answer_reason: str = ""
    edits_asked: int = 0
    written: tuple[WrittenFile, ...] = ()
    ignored: tuple[str, ...] = ()
    """Paths written by this answer that the repository's ignore rules hide from the patch."""
    dirty_base: tuple[str, ...] | None = ()
    """Paths that differed from the base before the attempt began; None when that could not be read."""
    syntax: tuple[SyntaxDelta, ...] | None = None
    issue_text: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every touched path, the old names of renames included."""
        if self.changes is None:
            return ()
        named = [change.path for change in self.changes]
        named += [change.old_path for change in self.changes if change.old_path]
        return tuple(sorted(set(named)))


@dataclass(frozen=True, slots=True)
class TestedEvidence:
    """Everything known after the full test set ran on the harvested tree."""

    __test__ = False  # keeps pytest from collecting this class

    patch: PatchEvidence
    baseline: Baseline | None
    """None when nothing could be run at the base."""
    head: RunReport | None
    """The deciding run; None when it was not possible."""
    rerun: RunReport | None = None
    """A second run, made when the first one differs from the baseline for the worse."""
    target_ids: tuple[str, ...] = ()
    """Tests the issue names or the operator gave: they must pass in the end."""
    problem: str = ""
    """Why there is no head run: no tests found, environment broken."""
