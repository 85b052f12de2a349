"""Decides what a task needs next, from its state alone: a crash anywhere means deciding again."""

from dataclasses import dataclass

from cockpit.domain.outcomes import Status
from cockpit.domain.state import AttemptState, PendingCommand, RoundState, TaskState
from cockpit.domain.states import AT_REST, State


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the budget of a task allows."""

    rounds: int = 6
    attempts: int = 2
    work_s: float = 2700.0
    tokens: int = 200_000


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do until somebody asks for something."""


@dataclass(frozen=True, slots=True)
class CarryOut:
    """An operator's command is on its way."""

    command: PendingCommand


@dataclass(frozen=True, slots=True)
class PrepareRepository:
    """Make the task repository."""


@dataclass(frozen=True, slots=True)
class PrepareEnvironment:
    """Install what the tests need."""


@dataclass(frozen=True, slots=True)
class MeasureBaseline:
    """Run the tests on the untouched tree."""


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Make a fresh worktree."""

    number: int
    lessons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Localise:
    """Find the files to show."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Make, or go on with, the model call of a round."""

    round: int
    step: int


@dataclass(frozen=True, slots=True)
class Harvest:
    """Apply the answer, read the filesystem, let the patch guards judge."""


@dataclass(frozen=True, slots=True)
class RunTests:
    """Test the harvested tree, let the tested guards judge."""


@dataclass(frozen=True, slots=True)
class Settle:
    """Come to a verdict on the round."""


@dataclass(frozen=True, slots=True)
class EndAttempt:
    """Give up on this attempt."""

    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Move the task to a state of rest."""

    state: State
    reason: str
    label: str = ""
    grade: str = ""


Move = (
    Rest
    | CarryOut
    | PrepareRepository
    | PrepareEnvironment
    | MeasureBaseline
    | StartAttempt
    | Localise
    | AskModel
    | Harvest
    | RunTests
    | Settle
    | EndAttempt
    | Finish
)

DECISIONS = frozenset({"approve", "discard", "undo", "kill"})
FRESH_START = frozenset({"stuck", "ctx_overflow"})
"""Ends of an attempt after which another one may do better."""


def next_move(state: TaskState, allowance: Allowance) -> Move:
    """Return the one thing to do now; every move can be repeated after a crash."""
    decision = next((item for item in state.pending if item.verb in DECISIONS), None)
    if decision is not None:
        return CarryOut(decision)
    if state.paused or state.state in AT_REST:
        return Rest()
    if state.repository is None:
        return PrepareRepository()
    if state.environment is None:
        return PrepareEnvironment()
    if state.baseline is None:
        return MeasureBaseline()
    if state.attempt is None:
        return StartAttempt(1)
    return _in_attempt(state, state.attempt, allowance)


def _in_attempt(state: TaskState, attempt: AttemptState, allowance: Allowance) -> Move:
    if attempt.ended is not None:
        return _after_attempt(state, attempt, allowance)
    if attempt.localised is None:
        return Localise()
    now = attempt.rounds[-1] if attempt.rounds else None
    if now is None:
        return AskModel(round=1, step=1)
    if now.verdict is not None:
        return _after_round(state, attempt, now, allowance)
    return _in_round(now)


def _in_round(now: RoundState) -> Move:
    if now.answer is None:
        return AskModel(now.number, now.step.step if now.step else now.number)
    if now.harvest is None or "patch" not in now.stages:
        return Harvest()
    if not now.is_blocked and not now.harvest.no_change and "tested" not in now.stages:
        return RunTests()
    return Settle()


def _after_round(state: TaskState, attempt: AttemptState, now: RoundState, allowance: Allowance) -> Move:
    verdict = now.verdict
    assert verdict is not None  # noqa: S101  # the caller looked
    if verdict.verdict == "review":
        return Finish(State.REVIEW, verdict.reason, grade=verdict.grade)
    if verdict.verdict == "no_change":
        return Finish(State.NO_CHANGE, verdict.reason)
    if state.worked_s >= allowance.work_s:
        return EndAttempt("budget_exhausted", f"{allowance.work_s / 60:.0f} minutes of work are used up")
    if state.generated_tokens >= allowance.tokens:
        return EndAttempt("budget_exhausted", f"{state.generated_tokens} tokens are generated, the budget is used up")
    repeated = repetition(attempt)
    if repeated:
        return EndAttempt("stuck", repeated)
    if now.number >= allowance.rounds:
        return EndAttempt(verdict.label, f"no round of {allowance.rounds} was accepted: {verdict.reason}")
    return AskModel(now.number + 1, attempt.steps + 1)


def _after_attempt(state: TaskState, attempt: AttemptState, allowance: Allowance) -> Move:
    ended = attempt.ended
    assert ended is not None  # noqa: S101  # the caller looked
    if ended.label in FRESH_START and attempt.number < allowance.attempts:
        return StartAttempt(attempt.number + 1, (*attempt.lessons, *lessons_of(attempt)))
    blocks = (first_block(item) for item in reversed(state.attempts))
    label, reason = next((found for found in blocks if found[0]), ("", ""))
    if ended.label == "budget_exhausted" or not label:
        return Finish(State.FAILED, ended.reason, label=ended.label)
    return Finish(State.FAILED, reason, label=label)


def first_block(attempt: AttemptState) -> tuple[str, str]:
    """Return label and reason of the first block of the last round that has one; empty when none has."""
    for item in reversed(attempt.rounds):
        for outcome in item.outcomes:
            if outcome.status is Status.BLOCK:
                return outcome.label or outcome.guard, outcome.reason
    return "", ""


def repetition(attempt: AttemptState) -> str:
    """Tell why an attempt is stuck: the same edit again, or the same failing output; empty when it is not."""
    judged = [item for item in attempt.rounds if item.verdict is not None]
    if len(judged) < 2:  # two rounds are the least that can be alike
        return ""
    last = judged[-1]
    for earlier in judged[:-1]:
        if last.harvest and earlier.harvest and last.harvest.signature == earlier.harvest.signature:
            return f"round {last.number} asked for the same edit as round {earlier.number}"
    before = judged[-2]
    if last.runs and before.runs and last.runs[-1].signature and last.runs[-1].signature == before.runs[-1].signature:
        return f"round {last.number} failed with the same output as round {before.number}"
    return ""


def lessons_of(attempt: AttemptState) -> tuple[str, ...]:
    """Return one line for each failed idea of an attempt, without repeating any."""
    lines: dict[str, None] = {}
    for item in attempt.rounds:
        if item.verdict is not None and item.verdict.reason:
            lines.setdefault(item.verdict.reason.split("\n", 1)[0][:160])
    return tuple(lines)
