"""Blocks an edit that changes nothing, however often it is called a fix."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count, listed

NAME = "no-op"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block when REPLACE equals SEARCH, or when a file was written with the bytes it had."""
    idle = [refusal.path for refusal in evidence.refusals if refusal.label == "edit_noop"]
    idle += [written.path for written in evidence.written if written.before == written.after]
    if not idle:
        return Outcome(NAME, Status.PASS, "every edit changes bytes", count(len(evidence.written), "file"))
    reason = f"{count(len(idle), 'edit')} would leave {listed(sorted(set(idle)), 3)} as it is"
    return Outcome(NAME, Status.BLOCK, reason, listed(sorted(set(idle))), "edit_noop")
