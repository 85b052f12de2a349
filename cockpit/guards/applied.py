"""Blocks a round that changed nothing, whatever was claimed: only the harvested tree counts."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count, listed, short

NAME = "applied"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block when an edit was refused or the tree equals the base; the figure shows both trees."""
    figure = f"base {short(evidence.base_tree)}, now {short(evidence.tree)}"
    if evidence.refusals:
        paths = sorted({refusal.path for refusal in evidence.refusals if refusal.path})
        reason = f"{count(len(evidence.refusals), 'edit')} not applied" + (f": {listed(paths, 3)}" if paths else "")
        return Outcome(NAME, Status.BLOCK, reason, figure, "patch_inapplicable")
    if evidence.changes is None:
        return Outcome(NAME, Status.UNKNOWN, "the changes could not be read off the worktree", figure)
    if not evidence.changes or evidence.base_tree == evidence.tree:
        return Outcome(NAME, Status.BLOCK, "nothing differs from the base", figure, "empty_patch")
    return Outcome(NAME, Status.PASS, f"{count(len(evidence.changes), 'file')} changed", figure)
