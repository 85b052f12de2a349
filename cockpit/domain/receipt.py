"""Makes a task's receipt: what was claimed, what was measured, by which command, with exit codes and hashes."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from cockpit.domain.ask import title_of
from cockpit.domain.entries import BaselineMeasured, EnvironmentPrepared, Record, TestsRan
from cockpit.domain.outcomes import Outcome
from cockpit.domain.state import AttemptState, RoundState, TaskState
from cockpit.domain.states import State
from cockpit.domain.timing import Timing, timing_of, timing_of_state

GRADE_WORDS = {
    "verified": "a failing test flipped, and a second look agreed",
    "proven": "a test that failed on the untouched tree passes now, and no other changed for the worse",
    "no_regression": "every test that passed before still passes; none shows that the issue is solved",
    "checked": "only an exit code, a type check or a lint speaks for it",
    "unproven": "nothing could be run: take it as a suggestion",
}
"""How much each grade says, the most first."""


@dataclass(frozen=True, slots=True)
class TestRow:
    """One test run of a round, or the baseline."""

    __test__ = False  # keeps pytest from collecting this class

    which: str
    """``baseline``, ``selected``, ``full`` or ``rerun``."""
    command: str
    """As it would be typed."""
    exit_code: int | None
    passed: int
    failed: int
    elapsed_s: float
    level: str
    """Sandbox level."""
    runner: str
    tree: str = ""
    flaky: int = 0
    cached: bool = False
    flipped: tuple[str, ...] = ()
    problem: str = ""
    why: str = ""
    """How the command was found."""


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One round: what the model was asked, what it claimed, what was measured."""

    attempt: int
    number: int
    edit_format: str = ""
    finish: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    sent_tokens: int = 0
    """Prompt tokens the server had to evaluate."""
    generated_tokens: int = 0
    model_s: float = 0.0
    claim: str = ""
    """What the answer asks for, in words."""
    files: tuple[tuple[str, int, int], ...] = ()
    """Path, added and deleted lines against the base, as read from the filesystem."""
    tree: str = ""
    patch_sha256: str = ""
    guards: tuple[Outcome, ...] = ()
    tests: tuple[TestRow, ...] = ()
    verdict: str = ""
    label: str = ""
    reason: str = ""
    grade: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """All that can be said of a task, and what it rests on."""

    task: str
    title: str
    state: str
    paused: bool = False
    grade: str = ""
    label: str = ""
    reason: str = ""
    repo: str = ""
    source: str = ""
    branch: str = ""
    base_commit: str = ""
    base_tree: str = ""
    model: str = ""
    build: str = ""
    server: str = ""
    missing: tuple[str, ...] = ()
    """What this server cannot do, each with what it would take."""
    level: str = ""
    """Sandbox level of the last command that ran."""
    environment: str = ""
    setup: tuple[str, ...] = ()
    """Commands that made the environment."""
    targets: tuple[str, ...] = ()
    """Tests that must pass in the end."""
    baseline: TestRow | None = None
    rounds: tuple[RoundRow, ...] = ()
    timing: Timing = field(default_factory=Timing)
    decision: str = ""
    commit: str = ""
    ref: str = ""
    trouble: str = ""

    @property
    def is_grey(self) -> bool:
        """Tell whether the patch in review rests on nothing that was run."""
        return self.state == State.REVIEW and self.grade in {"", "unproven"}


def receipt_of(state: TaskState, records: Iterable[Record] = ()) -> Receipt:
    """Gather the receipt; with the journal's records the timing is measured by its clock and knows the waiting."""
    timing = timing_of(records)
    rounds = tuple(_round(attempt, item) for attempt in state.attempts for item in attempt.rounds)
    return Receipt(
        task=state.task,
        title=title_of(state.ask),
        state=state.state.value,
        paused=state.paused,
        grade=state.grade,
        label=state.label,
        reason=state.reason,
        repo=state.ask.repo,
        level=_level(state),
        environment=_environment(state.environment),
        setup=tuple(shlex.join(command) for command in state.environment.commands) if state.environment else (),
        targets=state.baseline.targets if state.baseline else state.ask.expect,
        baseline=_baseline(state.baseline) if state.baseline else None,
        rounds=rounds,
        timing=timing if timing != Timing() else timing_of_state(state),
        trouble=state.trouble,
        **_repository(state),
        **_served(state),
        **_decision(state),
    )


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the receipt as plain data; hashes whole, seconds as numbers."""
    data = asdict(receipt)
    data["grey"] = receipt.is_grey
    data["timing"]["other_share"] = round(receipt.timing.other_share, 4)
    return data


def _repository(state: TaskState) -> dict[str, Any]:
    prepared = state.repository
    if prepared is None:
        return {}
    return {
        "source": prepared.source,
        "branch": prepared.branch,
        "base_commit": prepared.commit,
        "base_tree": prepared.tree,
    }


def _served(state: TaskState) -> dict[str, Any]:
    """Name the model as the server gave it; what was asked for stands in until an answer has come."""
    answers = [item.answer for attempt in state.attempts for item in attempt.rounds if item.answer]
    last = next((answer for answer in reversed(answers) if answer.model), None)
    if last is None:
        return {"model": state.ask.model}
    return {"model": last.model, "build": last.build, "server": last.server, "missing": last.missing}


def _decision(state: TaskState) -> dict[str, Any]:
    made = state.decision
    return {"decision": made.decision, "commit": made.commit, "ref": made.branch or made.ref} if made else {}


def _environment(prepared: EnvironmentPrepared | None) -> str:
    if prepared is None:
        return ""
    if not prepared.path:
        return "none needed"
    return f"{prepared.key[:12]}, {'from the cache' if prepared.cached else 'made for this task'}"


def _level(state: TaskState) -> str:
    runs = [run.level for attempt in state.attempts for item in attempt.rounds for run in item.runs]
    known = [entry.level for entry in (state.environment, state.baseline) if entry]
    return next((level for level in reversed([*known, *runs]) if level), "")


def _baseline(measured: BaselineMeasured) -> TestRow:
    return TestRow(
        which="baseline",
        command=shlex.join(measured.command),
        exit_code=measured.exit_code,
        passed=measured.passing,
        failed=measured.failing,
        elapsed_s=measured.elapsed_s,
        level=measured.level,
        runner=measured.runner,
        flaky=measured.flaky,
        cached=measured.cached,
        problem=measured.problem,
        why=measured.why,
    )


def _round(attempt: AttemptState, item: RoundState) -> RoundRow:
    answer, harvest, verdict = item.answer, item.harvest, item.verdict
    return RoundRow(
        attempt=attempt.number,
        number=item.number,
        edit_format=item.step.edit_format if item.step else "",
        finish=answer.finish if answer else "",
        prompt_tokens=answer.prompt_tokens if answer else item.step.prompt_tokens if item.step else 0,
        cached_tokens=answer.cached_tokens if answer else 0,
        sent_tokens=answer.evaluated_tokens if answer else 0,
        generated_tokens=answer.generated_tokens if answer else 0,
        model_s=answer.elapsed_s if answer else 0.0,
        claim=_claim(item),
        files=harvest.files if harvest else (),
        tree=harvest.tree if harvest else "",
        patch_sha256=harvest.patch_sha256 if harvest else "",
        guards=item.outcomes,
        tests=tuple(test_row(run) for run in item.runs),
        verdict=verdict.verdict if verdict else "",
        label=verdict.label if verdict else "",
        reason=verdict.reason if verdict else "",
        grade=verdict.grade if verdict else "",
    )


def _claim(item: RoundState) -> str:
    if item.harvest is None:
        return ""
    if item.harvest.no_change:
        return f"nothing needs to change: {item.harvest.no_change}"
    return f"{item.harvest.edits} edit{'' if item.harvest.edits == 1 else 's'}"


def test_row(run: TestsRan) -> TestRow:
    """Return one test run as a row."""
    return TestRow(
        which=run.which,
        command=shlex.join(run.command),
        exit_code=run.exit_code,
        passed=run.passed,
        failed=run.failed,
        elapsed_s=run.elapsed_s,
        level=run.level,
        runner=run.runner,
        tree=run.tree,
        flipped=run.flipped,
        problem=run.problem,
    )
