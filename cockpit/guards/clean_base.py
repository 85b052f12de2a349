"""Blocks a patch whose attempt did not begin on the untouched base."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count, listed, short

NAME = "clean-base"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block when paths differed from the base before the first edit."""
    dirty = evidence.dirty_base
    if dirty is None:
        return Outcome(NAME, Status.UNKNOWN, "the state before the attempt could not be read")
    if dirty:
        reason = f"{count(len(dirty), 'path')} differed from the base before the attempt: {listed(dirty, 3)}"
        return Outcome(NAME, Status.BLOCK, reason, listed(dirty), "dirty_base")
    return Outcome(NAME, Status.PASS, "the attempt began on the base", short(evidence.base_tree))
