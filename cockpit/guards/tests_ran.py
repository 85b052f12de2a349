"""Blocks a green without its tests: another tree, none at all, fewer than before, or skipped ones."""

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.domain.testing import Baseline, CaseStatus, Comparison, Runner, RunReport, compare
from cockpit.domain.verdict import steady_missing
from cockpit.guards.baseline import baseline_trouble, run_trouble
from cockpit.guards.wording import count, listed, short

NAME = "tests-ran"
STAGE = Stage.TESTED
MARKED = frozenset({CaseStatus.XFAILED, CaseStatus.XPASSED})


def check(evidence: TestedEvidence, _limits: Limits) -> Outcome:
    """Block unless every steady test of the baseline ran on exactly the harvested tree."""
    head = evidence.head
    if head is None:
        return Outcome(NAME, Status.UNKNOWN, evidence.problem or "no tests were run on the patch")
    for run in (head, evidence.rerun):
        if run and run.tree != evidence.patch.tree:
            figure = f"ran on {short(run.tree)}, patch is {short(evidence.patch.tree)}"
            return Outcome(NAME, Status.BLOCK, "the tests ran on another tree than the patch", figure, "false_green")
    is_base_testable = evidence.baseline is not None and not baseline_trouble(
        evidence.baseline, evidence.patch.base_tree
    )
    trouble = run_trouble(head)
    if trouble and not is_base_testable:
        return Outcome(NAME, Status.UNKNOWN, f"{trouble}; the base could not be tested either")
    if trouble:
        label = "test_timeout" if head.timed_out else "no_tests_ran"
        return Outcome(NAME, Status.BLOCK, trouble, f"exit code {head.exit_code}", label)
    return _against(evidence.baseline, head, evidence.rerun)


def _against(baseline: Baseline | None, head: RunReport, rerun: RunReport | None) -> Outcome:
    figure = _figure(head)
    if baseline is None or baseline.first.runner is Runner.EXIT_CODE:
        return Outcome(NAME, Status.PASS, "the test command ran on the patch", figure)
    if head.runner is Runner.EXIT_CODE:
        return Outcome(NAME, Status.BLOCK, "the run reports no test by id, the base did", figure, "no_tests_ran")
    compared = compare(baseline, head, rerun)
    missing = [key for key in steady_missing(compared) if not _is_back(key, rerun)]
    broken = broken_files(baseline, head)
    if missing and broken:
        reason = f"{broken[0]} no longer loads, so {count(len(missing), 'test')} did not run"
        return Outcome(NAME, Status.BLOCK, reason, listed(broken), "regression")
    excused = [*compared.newly_skipped, *newly_excused(baseline, head, compared)]
    if missing or excused:
        hidden = [f"missing {key}" for key in missing] + [f"skipped {key}" for key in excused]
        reason = f"{len(missing)} missing and {len(excused)} newly skipped of {len(baseline.ids)} tests"
        return Outcome(NAME, Status.BLOCK, reason, listed(hidden), "tampered")
    return Outcome(NAME, Status.PASS, f"all {count(len(baseline.ids), 'test')} of the base ran on the patch", figure)


def broken_files(baseline: Baseline, head: RunReport) -> list[str]:
    """Return test files that could be collected at the base and cannot now; their tests are missing, not hidden."""
    bad = (CaseStatus.FAILED, CaseStatus.ERROR)
    broken = (key for key, status in head.results.items() if status in bad and "::" not in key)
    return sorted(key for key in broken if key not in baseline.failing)


def newly_excused(baseline: Baseline, head: RunReport, compared: Comparison) -> list[str]:
    """Return tests that are marked as expected failures now and were not at the base."""
    marked = {key for key, status in head.results.items() if status is CaseStatus.XFAILED}
    known = {key for run in (baseline.first, baseline.second) for key, s in run.results.items() if s in MARKED}
    return sorted((marked & baseline.ids) - known - set(compared.flaky))


def _is_back(key: str, rerun: RunReport | None) -> bool:
    return rerun is not None and key in rerun.results


def _figure(run: RunReport) -> str:
    if run.runner is Runner.EXIT_CODE:
        return f"exit code {run.exit_code}"
    return f"{len(run.passing)} passed, {len(run.failing)} failed, {len(run.skipped)} skipped"
