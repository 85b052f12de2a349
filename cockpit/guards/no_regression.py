"""Blocks a patch that breaks what worked, and an exit code that no failing test explains."""

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.domain.testing import Baseline, CaseStatus, Comparison, Runner, RunReport, compare
from cockpit.guards.baseline import baseline_trouble
from cockpit.guards.wording import count, listed

NAME = "no-regression"
STAGE = Stage.TESTED
HARD = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})
"""An expected failure that passes (``xpassed``) is no regression: the patch may well have fixed it."""


def check(evidence: TestedEvidence, _limits: Limits) -> Outcome:
    """Block when a test that passed fails now, confirmed by the rerun where there is one."""
    baseline, head = evidence.baseline, evidence.head
    if baseline is None or head is None:
        return Outcome(NAME, Status.UNKNOWN, evidence.problem or "no two runs to compare")
    trouble = baseline_trouble(baseline, evidence.patch.base_tree)
    if trouble:
        return Outcome(NAME, Status.UNKNOWN, trouble)
    if baseline.first.runner is not head.runner:
        return Outcome(NAME, Status.UNKNOWN, "base and patch were not run the same way")
    if head.runner is Runner.EXIT_CODE:
        return _by_exit_code(baseline, head, evidence.rerun)
    return _by_id(baseline, head, evidence.rerun)


def _by_exit_code(baseline: Baseline, head: RunReport, rerun: RunReport | None) -> Outcome:
    before, now = baseline.first.exit_code, head.exit_code
    figure = f"exit code {before} at the base, {now} now"
    if before == 0 and now == 0:
        return Outcome(NAME, Status.PASS, "the test command succeeds as it did", figure)
    if before == 0 and rerun is not None and rerun.exit_code == 0:
        return Outcome(NAME, Status.UNKNOWN, "the test command failed once and succeeded once", figure)
    if before == 0:
        return Outcome(NAME, Status.BLOCK, "the test command succeeded at the base and fails now", figure, "regression")
    if now == 0:
        return Outcome(NAME, Status.WARN, "the test command failed at the base and succeeds now", figure)
    return Outcome(NAME, Status.UNKNOWN, "the test command was failing before", figure)


def _by_id(baseline: Baseline, head: RunReport, rerun: RunReport | None) -> Outcome:
    compared = compare(baseline, head, rerun)
    fails = [key for key in (*compared.regressed, *compared.new_failing) if head.results[key] in HARD]
    if fails:
        reason = f"{count(len(fails), 'test')} that did not fail at the base fail now, first {fails[0]}"
        return Outcome(NAME, Status.BLOCK, reason, listed(fails), "regression")
    strange = _strange_exit(baseline, head, compared)
    if strange:
        return Outcome(NAME, Status.BLOCK, strange, f"exit code {head.exit_code}", "false_green")
    figure = f"{len(baseline.passing)} passed before, {len(head.passing)} pass now"
    surprising = [key for key, status in head.results.items() if status is CaseStatus.XPASSED]
    if surprising:
        return Outcome(NAME, Status.WARN, f"passes though expected to fail: {listed(sorted(surprising), 3)}", figure)
    return Outcome(NAME, Status.PASS, "every test that passed still passes", figure)


def _strange_exit(baseline: Baseline, head: RunReport, compared: Comparison) -> str:
    """Return what is wrong with an exit code that the test results do not explain."""
    if head.exit_code in (baseline.first.exit_code, baseline.second.exit_code) and bool(_failing(head)) in (
        bool(_failing(baseline.first)),
        bool(_failing(baseline.second)),
    ):
        return ""
    if head.exit_code == 0:
        return f"exit code 0 though {count(len(_failing(head)), 'test')} failed" if _failing(head) else ""
    explained = _failing(head) & (baseline.failing | set(compared.flaky))
    if head.exit_code == 1 and explained:
        return ""
    return f"exit code {head.exit_code}, which no failing test explains"


def _failing(run: RunReport) -> set[str]:
    return {key for key, status in run.results.items() if status in HARD}
