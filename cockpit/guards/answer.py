"""Blocks an answer that could not be read as edits at all."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count

NAME = "answer"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block with the label the reader gave: ``format_invalid``, ``gen_length``, ``thinking_only``."""
    if evidence.answer_label:
        reason = evidence.answer_reason or f"the answer could not be used: {evidence.answer_label}"
        return Outcome(NAME, Status.BLOCK, reason, label=evidence.answer_label)
    return Outcome(NAME, Status.PASS, "the answer was read", count(evidence.edits_asked, "edit"))
