"""Says whether there is a baseline to compare with, and which of its tests cannot be relied on."""

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.domain.testing import Baseline, Runner, RunReport
from cockpit.guards.wording import count, listed, short

NAME = "baseline"
STAGE = Stage.TESTED


def check(evidence: TestedEvidence, _limits: Limits) -> Outcome:
    """Unknown without two complete runs on the base; a warning when they differ."""
    baseline = evidence.baseline
    if baseline is None:
        return Outcome(NAME, Status.UNKNOWN, evidence.problem or "nothing could be run at the base")
    trouble = baseline_trouble(baseline, evidence.patch.base_tree)
    if trouble:
        return Outcome(NAME, Status.UNKNOWN, trouble)
    figure = f"{len(baseline.passing)} passing, {len(baseline.failing)} failing, {len(baseline.flaky)} flaky"
    if baseline.flaky:
        reason = f"{count(len(baseline.flaky), 'test')} differ between two runs of the base"
        return Outcome(NAME, Status.WARN, reason, listed(sorted(baseline.flaky)))
    if baseline.first.runner is Runner.EXIT_CODE:
        figure = f"exit code {baseline.first.exit_code}"
    return Outcome(NAME, Status.PASS, "two runs of the base agree", figure)


def baseline_trouble(baseline: Baseline, base_tree: str) -> str:
    """Return why a baseline says nothing, or an empty text."""
    for run in (baseline.first, baseline.second):
        trouble = run_trouble(run)
        if trouble:
            return f"at the base: {trouble}"
        if run.tree != base_tree:
            return f"the baseline was run on {short(run.tree)}, the base is {short(base_tree)}"
    if baseline.first.runner is not baseline.second.runner:
        return "the two runs of the base were not read the same way"
    if baseline.first.exit_code != baseline.second.exit_code and baseline.first.runner is Runner.EXIT_CODE:
        return f"at the base the exit code was {baseline.first.exit_code}, then {baseline.second.exit_code}"
    return ""


def run_trouble(run: RunReport) -> str:
    """Return why one run tells nothing, or an empty text."""
    if run.timed_out:
        return f"the tests did not end within {run.elapsed_s:.0f} s"
    if run.problem:
        return run.problem
    if run.exit_code is None:
        return "the test command did not end by itself"
    if run.runner is Runner.PYTEST and not run.results:
        return "no test ran"
    return ""
