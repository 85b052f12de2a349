"""Blocks an answer whose SEARCH text does not stand in the file exactly once."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import about

NAME = "unique-search"
STAGE = Stage.PATCH
LABELS = ("search_missing", "search_ambiguous")


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block on the first edit whose place is not certain; nothing is ever matched by similarity."""
    refused = [refusal for refusal in evidence.refusals if refusal.label in LABELS]
    if not refused:
        return Outcome(NAME, Status.PASS, "every SEARCH text stood exactly once")
    first = refused[0]
    figure = f"{len(refused)} of {max(evidence.edits_asked, len(refused))} edits"
    return Outcome(NAME, Status.BLOCK, about(first.path, first.reason), figure, first.label)
