"""Blocks a patch that leaves a file with more syntax errors than it had."""

from cockpit.domain.evidence import PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.wording import count, listed

NAME = "syntax"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Block on the first file with new errors; errors that were there before do not count."""
    deltas = evidence.syntax
    if deltas is None:
        return Outcome(NAME, Status.UNKNOWN, "the changed files were not parsed")
    worse = [delta for delta in deltas if delta.errors_after > delta.errors_before]
    if worse:
        first = worse[0]
        figure = listed(f"{delta.path} {delta.errors_before} to {delta.errors_after}" for delta in worse)
        reason = f"{first.path} no longer parses: {first.first_error or 'new syntax error'}"
        return Outcome(NAME, Status.BLOCK, reason, figure, "syntax_new")
    changed = [change.path for change in evidence.changes or () if not change.is_deleted]
    unread = sorted(set(changed) - {delta.path for delta in deltas})
    note = f"; {listed(unread, 3)} not parsed (no known language, or too large)" if unread else ""
    return Outcome(NAME, Status.PASS, f"{count(len(deltas), 'file')} without new syntax errors{note}")
