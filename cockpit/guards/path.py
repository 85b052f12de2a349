"""Blocks an edit of a path that is no place for an edit: unknown, outside the tree, or hidden by ignore rules."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import about, count, listed

NAME = "path"
STAGE = Stage.PATCH
LABELS = ("path_invalid", "edit_ignored_path")


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block on the first refused path, then on paths that were written but cannot be in a patch."""
    for refusal in evidence.refusals:
        if refusal.label in LABELS:
            reason = about(refusal.path, refusal.reason)
            return Outcome(NAME, Status.BLOCK, reason, refusal.path, refusal.label)
    if evidence.ignored:
        reason = f"{count(len(evidence.ignored), 'written path')} hidden from the patch by ignore rules"
        return Outcome(
            NAME,
            Status.BLOCK,
            f"{reason}: {listed(evidence.ignored, 3)}",
            listed(evidence.ignored),
            "edit_ignored_path",
        )
    return Outcome(NAME, Status.PASS, "every edit names a file that can be changed")
