"""Blocks a patch that is larger than nearly every real fix."""

from cockpit.domain.evidence import ChangeKind, PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count, listed

NAME = "bloat"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, limits: Limits) -> Outcome:
    """Block above the limit of changed lines; warn when much more is removed than added, and on binary files."""
    if evidence.changes is None:
        return Outcome(NAME, Status.UNKNOWN, "no patch to measure")
    added = sum(change.added for change in evidence.changes)
    deleted = sum(change.deleted for change in evidence.changes)
    figure = f"+{added} -{deleted} in {count(len(evidence.changes), 'file')}"
    if added + deleted > limits.max_changed_lines:
        reason = f"{added + deleted} changed lines, more than {limits.max_changed_lines}"
        return Outcome(NAME, Status.BLOCK, reason, figure, "bloat")
    if deleted > limits.max_deleted_lines and deleted - added > limits.max_net_deletion:
        return Outcome(NAME, Status.WARN, f"removes {deleted} lines and adds {added}", figure)
    binary = [change.path for change in evidence.changes if change.kind is ChangeKind.BINARY]
    if binary:
        return Outcome(NAME, Status.WARN, f"{listed(binary, 3)} cannot be measured in lines", figure)
    return Outcome(NAME, Status.PASS, f"{added + deleted} changed lines", figure)
