"""Takes an answer at its word on disk: applies its edits to a worktree and gathers what the patch guards judge."""

from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.syntax import syntax_deltas
from cockpit.domain.evidence import EditRefusal, PatchEvidence
from cockpit.edits.apply import apply_edits
from cockpit.edits.model import Applied, ParsedAnswer
from cockpit.workspace.disk import DiskTree, write_files
from cockpit.workspace.harvest import Harvest, dirty_paths, harvest
from cockpit.workspace.worktree import restore


@dataclass(frozen=True, slots=True)
class Taken:
    """What an answer came to on disk."""

    evidence: PatchEvidence
    harvested: Harvest

    @property
    def refusals(self) -> tuple[EditRefusal, ...]:
        """Edits that were not applied; then nothing was written."""
        return self.evidence.refusals


def take_answer(
    repo_git: Path,
    worktree: Path,
    parsed: ParsedAnswer,
    *,
    in_play: tuple[str, ...],
    tree: str,
    base_tree: str,
    scratch: Path,
    issue: str = "",
) -> Taken:
    """Bring the worktree to ``tree``, apply the answer there, and read off the filesystem what came of it.

    ``scratch`` is a folder outside the worktree. Repeated it comes to the same.
    """
    restore(repo_git, worktree, tree)
    dirty = dirty_paths(repo_git, worktree, tree)
    applied = Applied()
    if parsed.edits and not parsed.problem_label:
        applied = apply_edits(parsed.edits, DiskTree(repo_git, worktree, in_play, tree=tree))
        write_files(worktree, applied.written)
    harvested = harvest(repo_git, worktree, base_tree, scratch)
    return Taken(_evidence(parsed, applied, harvested, base_tree, dirty, issue), harvested)


def _evidence(
    parsed: ParsedAnswer, applied: Applied, harvested: Harvest, base_tree: str, dirty: tuple[str, ...], issue: str
) -> PatchEvidence:
    seen = {change.path for change in harvested.changes}
    return PatchEvidence(
        base_tree=base_tree,
        tree=harvested.tree,
        changes=harvested.changes,
        refusals=applied.refusals,
        answer_label=parsed.problem_label,
        answer_reason=parsed.problem_reason,
        edits_asked=len(parsed.edits),
        written=applied.written,
        ignored=tuple(item.path for item in applied.written if item.path not in seen and item.before is None),
        dirty_base=dirty,
        syntax=syntax_deltas(harvested.changes),
        issue_text=issue,
    )
