"""The next move follows from the state alone."""

from dataclasses import replace

from cockpit.domain.entries import (
    AttemptEnded,
    BaselineMeasured,
    EnvironmentPrepared,
    Localised,
    PatchHarvested,
    RepositoryPrepared,
    StepEnded,
    StepStarted,
    TestsRan,
    VerdictReached,
)
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.plan import (
    Allowance,
    AskModel,
    CarryOut,
    EndAttempt,
    Finish,
    Harvest,
    Localise,
    MeasureBaseline,
    Move,
    PrepareEnvironment,
    PrepareRepository,
    Rest,
    RunTests,
    Settle,
    StartAttempt,
    next_move,
)
from cockpit.domain.state import AttemptState, PendingCommand, RoundState, TaskState
from cockpit.domain.states import State

ALLOWANCE = Allowance(rounds=3, attempts=2)
REPOSITORY = RepositoryPrepared("/src", "c0", "t0", "main", "src", 0.1)
ENVIRONMENT = EnvironmentPrepared("none", "", "", {}, (), cached=False, level="plain", elapsed_s=0.0)
BASELINE = BaselineMeasured(
    ("pytest",), "pytest", "found", 3, 1, 0, 1, cached=False, level="plain", elapsed_s=1.0
)  # fmt: skip
STEP = StepStarted(1, 1, 1, "hunter", 100, "whole_file", 0.0, ("a.py",))
ANSWER = StepEnded(1, 1, 1, "stop", 100, 100, 0, 50, 1.0, 1.0, 2.0)
HARVEST = PatchHarvested(1, 1, "t1", "t0", "00", (("a.py", 1, 1),), 1, "sig1", 0.1)
PASSED = Outcome("applied", Status.PASS, "fine")
BLOCKED = Outcome("no-op", Status.BLOCK, "the answer changes nothing", label="edit_noop")


def verdict(verdict: str, label: str = "", number: int = 1) -> VerdictReached:
    return VerdictReached(1, number, verdict, label, "because", "proven" if verdict == "review" else "")


def judged(number: int, signature: str, outcome: Outcome = BLOCKED, said: str = "retry") -> RoundState:
    return RoundState(
        number,
        replace(STEP, round=number, step=number),
        replace(ANSWER, round=number, step=number),
        replace(HARVEST, round=number, signature=signature),
        (outcome,),
        stages=("patch",),
        verdict=verdict(said, outcome.label, number),
    )


def working(*rounds: RoundState, localised: bool = True, **changes: object) -> TaskState:
    found = Localised(1, (("a.py", "named"),), ("a.py",), 0.0) if localised else None
    attempt = AttemptState(1, "/w", "t0", "t0", localised=found, rounds=rounds)
    state = TaskState(
        task="0123abcd",
        state=State.WORKING,
        repository=REPOSITORY,
        environment=ENVIRONMENT,
        baseline=BASELINE,
        attempts=(attempt,),
    )
    return replace(state, **changes)  # type: ignore[arg-type]  # each test names real fields


def move(state: TaskState) -> Move:
    return next_move(state, ALLOWANCE)


def test_a_task_is_prepared_step_by_step() -> None:
    bare = TaskState(task="0123abcd")
    assert move(bare) == PrepareRepository()
    assert move(replace(bare, repository=REPOSITORY)) == PrepareEnvironment()
    assert move(replace(bare, repository=REPOSITORY, environment=ENVIRONMENT)) == MeasureBaseline()
    ready = replace(bare, repository=REPOSITORY, environment=ENVIRONMENT, baseline=BASELINE)
    assert move(ready) == StartAttempt(1)


def test_a_round_goes_from_asking_to_its_verdict() -> None:
    assert move(working(localised=False)) == Localise()
    assert move(working()) == AskModel(1, 1)
    asked = RoundState(1, STEP)
    assert move(working(asked)) == AskModel(1, 1)
    answered = replace(asked, answer=ANSWER)
    assert move(working(answered)) == Harvest()
    harvested = replace(answered, harvest=HARVEST, outcomes=(PASSED,))
    assert move(working(harvested)) == Harvest(), "guards that a crash left unasked are asked again"
    looked_at = replace(harvested, stages=("patch",))
    assert move(working(looked_at)) == RunTests()
    assert move(working(replace(looked_at, outcomes=(BLOCKED,)))) == Settle(), "a blocked patch is never tested"
    assert move(working(replace(looked_at, stages=("patch", "tested")))) == Settle()


def test_a_verdict_leads_to_review_to_no_change_or_to_the_next_round() -> None:
    accepted = judged(1, "a", PASSED, "review")
    assert move(working(accepted)) == Finish(State.REVIEW, "because", grade="proven")
    assert move(working(judged(1, "a", PASSED, "no_change"))) == Finish(State.NO_CHANGE, "because")
    assert move(working(judged(1, "a"))) == AskModel(2, 2)


def test_the_last_round_ends_the_attempt_and_the_first_block_names_it() -> None:
    rounds = judged(1, "a"), judged(2, "b"), judged(3, "c")
    assert isinstance(move(working(*rounds)), EndAttempt)
    state = working(*rounds)
    ended = replace(state.attempts[0], ended=AttemptEnded(1, "edit_noop", "no round was accepted"))
    assert move(replace(state, attempts=(ended,))) == Finish(
        State.FAILED, "the answer changes nothing", label="edit_noop"
    )


def test_the_same_edit_twice_is_stuck_and_a_fresh_attempt_learns_from_it() -> None:
    rounds = judged(1, "a"), judged(2, "a")
    assert move(working(*rounds)) == EndAttempt("stuck", "round 2 asked for the same edit as round 1")
    state = working(*rounds)
    stuck = replace(state.attempts[0], ended=AttemptEnded(1, "stuck", "same"))
    assert move(replace(state, attempts=(stuck,))) == StartAttempt(2, ("because",))
    last = replace(stuck, number=2)
    assert move(replace(state, attempts=(stuck, last))) == Finish(
        State.FAILED, "the answer changes nothing", label="edit_noop"
    )


def test_the_same_failing_output_twice_is_stuck() -> None:
    run = TestsRan(1, 1, "full", "t1", ("pytest",), "pytest", 1, 3, 1, 1.0, "plain", "E", signature="same")
    first = replace(judged(1, "a"), runs=(run,))
    second = replace(judged(2, "b"), runs=(replace(run, round=2),))
    assert move(working(first, second)) == EndAttempt("stuck", "round 2 failed with the same output as round 1")
    other = replace(second, runs=(replace(run, round=2, signature="other"),))
    assert move(working(first, other)) == AskModel(3, 3)


def test_a_used_up_budget_ends_the_attempt_and_no_other_begins() -> None:
    state = working(judged(1, "a"), worked_s=ALLOWANCE.work_s)
    ended = move(state)
    assert isinstance(ended, EndAttempt)
    assert ended.label == "budget_exhausted"
    over = replace(state.attempts[0], ended=AttemptEnded(1, ended.label, ended.reason))
    finished = move(replace(state, attempts=(over,)))
    assert isinstance(finished, Finish)
    assert finished.label == "budget_exhausted"


def test_a_paused_task_rests_but_a_decision_is_carried_out() -> None:
    assert move(working(paused=True)) == Rest()
    kill = PendingCommand("c1", "kill", 0.0)
    assert move(working(paused=True, pending=(kill,))) == CarryOut(kill)
    steer = PendingCommand("c2", "steer", 0.0, "look at b.py")
    assert move(working(pending=(steer,))) == AskModel(1, 1), "a steering line waits for its round"


def test_a_task_at_rest_rests() -> None:
    for state in (State.REVIEW, State.APPROVED, State.DISCARDED, State.FAILED, State.KILLED, State.NO_CHANGE):
        assert move(working(state=state)) == Rest()


def test_an_attempt_that_came_to_nothing_is_named_by_the_one_before() -> None:
    state = working(judged(1, "a"), judged(2, "a"))
    stuck = replace(state.attempts[0], ended=AttemptEnded(1, "stuck", "same"))
    empty = AttemptState(2, "/w", "t0", "t0", ended=AttemptEnded(2, "replay_exhausted", "nothing is recorded"))
    assert move(replace(state, attempts=(stuck, empty))) == Finish(
        State.FAILED, "the answer changes nothing", label="edit_noop"
    )
