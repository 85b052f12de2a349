"""Tests the harvested tree: what the patch concerns first, then everything, then again where it got worse."""

import hashlib
from dataclasses import replace
from pathlib import Path

from cockpit.domain.entries import TestsRan
from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Stage, Status
from cockpit.domain.testing import Baseline, Runner, RunReport, compare
from cockpit.engine.context import TaskContext
from cockpit.engine.moves.judging import judge, load_evidence
from cockpit.engine.runs import TestBench, load_baseline, load_environment, wall_limit_s
from cockpit.guards.registry import run_tested_guards
from cockpit.journal.codec import to_json
from cockpit.journal.files import write_atomic
from cockpit.roles.digest import failure_digest

QUICK_S = 5.0
"""A suite that runs in less is always run whole at once."""


async def run_round_tests(ctx: TaskContext) -> None:
    """Run and judge; a restart in the middle runs again from the start."""
    baseline = load_baseline(ctx)
    measured = ctx.state.baseline
    assert measured is not None  # noqa: S101  # next_move comes here after the baseline only
    evidence = load_evidence(ctx)
    if baseline is None:
        tested = TestedEvidence(evidence, None, None, target_ids=measured.targets, problem=measured.problem)
        _judge(ctx, tested)
        return
    bench = TestBench(ctx, load_environment(ctx))
    tested = TestedEvidence(evidence, baseline, None, target_ids=measured.targets)
    selected = await _selected(ctx, bench, tested)
    if selected is not None:
        _judge(ctx, selected)
        return
    _judge(ctx, await _full(ctx, bench, tested))


def _judge(ctx: TaskContext, tested: TestedEvidence) -> None:
    folder = ctx.folder.round(ctx.attempt.number, ctx.round.number)
    write_atomic(folder.tested, to_json(tested))
    judge(ctx, Stage.TESTED, run_tested_guards(tested, ctx.limits))


async def _selected(ctx: TaskContext, bench: TestBench, tested: TestedEvidence) -> TestedEvidence | None:
    """Run the tests that concern the touched paths; returns evidence only when it is enough to block."""
    baseline = tested.baseline
    if baseline is None or baseline.first.runner is not Runner.PYTEST or baseline.first.elapsed_s < QUICK_S:
        return None
    log = _log(ctx, "selected")
    report = await bench.run(tested.patch.tree, log, wall_limit_s(ctx, baseline), touched=tested.patch.paths)
    if report is None or not report.results:
        return None
    _record(ctx, bench, "selected", report, baseline)
    narrowed = _narrowed(baseline, report)
    targets = tuple(test for test in tested.target_ids if test in report.results)
    partial = replace(tested, baseline=narrowed, head=report, target_ids=targets)
    blocked = any(outcome.status is Status.BLOCK for outcome in run_tested_guards(partial, ctx.limits))
    return partial if blocked else None


def _narrowed(baseline: Baseline, report: RunReport) -> Baseline:
    """Keep the test files that were selected; a test missing from them is still missed."""
    files = {test.split("::", 1)[0] for test in report.results}
    return Baseline(_only(baseline.first, files), _only(baseline.second, files))


def _only(report: RunReport, files: set[str]) -> RunReport:
    kept = {test: status for test, status in report.results.items() if test.split("::", 1)[0] in files}
    return replace(report, results=kept)


async def _full(ctx: TaskContext, bench: TestBench, tested: TestedEvidence) -> TestedEvidence:
    baseline = tested.baseline
    assert baseline is not None  # noqa: S101  # the caller looked
    wall_s = wall_limit_s(ctx, baseline)
    head = await bench.run(tested.patch.tree, ctx.folder.round(ctx.attempt.number, ctx.round.number).tests_log, wall_s)
    assert head is not None  # noqa: S101  # only a selected run can be None
    _record(ctx, bench, "full", head, baseline)
    if not _is_worse(baseline, head):
        return replace(tested, head=head)
    rerun = await bench.run(tested.patch.tree, _log(ctx, "rerun"), wall_s)
    assert rerun is not None  # noqa: S101  # only a selected run can be None
    _record(ctx, bench, "rerun", rerun, baseline)
    return replace(tested, head=head, rerun=rerun)


def _is_worse(baseline: Baseline, head: RunReport) -> bool:
    if head.timed_out or head.problem:
        return False
    if head.runner is Runner.EXIT_CODE:
        return head.exit_code != 0 and baseline.first.exit_code == 0
    found = compare(baseline, head)
    return bool(found.regressed or found.new_failing)


def _log(ctx: TaskContext, which: str) -> Path:
    return ctx.folder.round(ctx.attempt.number, ctx.round.number).root / f"tests-{which}.log"


def _record(ctx: TaskContext, bench: TestBench, which: str, report: RunReport, baseline: Baseline) -> None:
    folder = ctx.folder.round(ctx.attempt.number, ctx.round.number).root
    path = folder / f"run-{which}.json"
    write_atomic(path, to_json(report))
    failing = sorted(report.failing)
    ctx.record(
        TestsRan(
            attempt=ctx.attempt.number,
            round=ctx.round.number,
            which=which,
            tree=report.tree,
            command=report.command,
            runner=str(report.runner),
            exit_code=report.exit_code,
            passed=len(report.passing),
            failed=len(failing),
            elapsed_s=report.elapsed_s,
            level=str(report.level),
            digest=digest_of(report, baseline, ctx.state.baseline.targets if ctx.state.baseline else ()),
            signature=_signature(report, failing),
            flipped=compare(baseline, report).flipped if report.results else (),
            written=report.written[:100],
            problem=report.problem,
            file=str(path.relative_to(ctx.folder.root)),
            overhead_s=bench.overhead_s,
        )
    )


def digest_of(report: RunReport, baseline: Baseline, targets: tuple[str, ...]) -> str:
    """Return what the output says of the failures that matter; other tests failed before and are not this task's."""
    if report.exit_code == 0 and not report.problem:
        return ""
    compared = compare(baseline, report)
    wanted = {*compared.regressed, *compared.new_failing, *(test for test in targets if test in report.failing)}
    return failure_digest(report.tail, wanted or report.failing)


def _signature(report: RunReport, failing: list[str]) -> str:
    """Hash what fails and how; durations in the output differ from run to run and are left out."""
    if not failing and report.exit_code == 0:
        return ""
    errors = [line for line in report.tail.split("\n") if line.startswith("E ")]
    text = "\n".join([*failing, *errors]) if failing else f"{report.exit_code} {report.problem}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
