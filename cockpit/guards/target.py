"""Blocks a patch after which the tests named in the issue still fail."""

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.domain.testing import Baseline, CaseStatus, Runner, RunReport, compare
from cockpit.domain.verdict import really_flipped
from cockpit.guards.wording import count, listed

NAME = "target"
STAGE = Stage.TESTED


def check(evidence: TestedEvidence, _limits: Limits) -> Outcome:
    """Block on named tests that do not pass; without any, say which tests flipped."""
    head = evidence.head
    if head is None:
        return Outcome(NAME, Status.UNKNOWN, evidence.problem or "no tests were run on the patch")
    if head.runner is Runner.EXIT_CODE:
        if evidence.target_ids:
            return Outcome(NAME, Status.UNKNOWN, "an exit code does not tell whether the named tests pass")
        return Outcome(NAME, Status.PASS, "no test is named", f"exit code {head.exit_code}")
    failing = [key for key in evidence.target_ids if head.results.get(key) is not CaseStatus.PASSED]
    if failing:
        reason = f"{count(len(failing), 'named test')} still not passing, first {failing[0]}"
        return Outcome(NAME, Status.BLOCK, reason, listed(failing), "target_still_fails")
    shaky = [key for key in evidence.target_ids if evidence.rerun and key not in evidence.rerun.passing]
    if shaky:
        return Outcome(NAME, Status.WARN, f"passes only sometimes: {listed(shaky, 3)}", listed(shaky))
    if evidence.target_ids:
        return Outcome(NAME, Status.PASS, "every named test passes", listed(evidence.target_ids))
    return _unnamed(evidence.baseline, head, evidence.rerun)


def _unnamed(baseline: Baseline | None, head: RunReport, rerun: RunReport | None) -> Outcome:
    if baseline is None:
        return Outcome(NAME, Status.UNKNOWN, "without a baseline no test can be seen to flip")
    flipped = really_flipped(compare(baseline, head, rerun), head)
    if flipped:
        reason = f"{count(len(flipped), 'test')} failed at the base and pass now"
        return Outcome(NAME, Status.PASS, reason, listed(flipped))
    if baseline.failing:
        reason = f"{count(len(baseline.failing), 'test')} fail at the base and none of them passes now"
        return Outcome(NAME, Status.WARN, reason, listed(sorted(baseline.failing)))
    return Outcome(NAME, Status.PASS, "no test is named and none failed at the base")
