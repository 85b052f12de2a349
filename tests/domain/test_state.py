"""A journal folds into a state: late, repeated and foreign entries change nothing that is known."""

from cockpit.domain.ask import Ask
from cockpit.domain.entries import (
    AttemptStarted,
    CommandDone,
    CommandRefused,
    CommandTaken,
    Decided,
    DecisionUndone,
    Entry,
    GuardsJudged,
    PatchHarvested,
    Record,
    StateChanged,
    StepEnded,
    StepStarted,
    TaskAdded,
    VerdictReached,
)
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.state import TaskState, fold, step
from cockpit.domain.states import State

BLOCK = Outcome("bloat", Status.BLOCK, "900 lines", label="bloat")
WARN = Outcome("scope", Status.WARN, "a new file")
ADDED = TaskAdded("0000aaaa", Ask(repo="/r", issue="Wrong."))


def folded(*entries: Entry) -> TaskState:
    return fold(Record(place, 100.0 + place, entry) for place, entry in enumerate([ADDED, *entries], 1))


def started(attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(attempt, f"/w/{attempt}", "base")


def asked(number: int, attempt: int = 1) -> StepStarted:
    return StepStarted(attempt, number, number, "hunter", 10, "whole_file", 0.5, ("a.py",))


def answered(number: int, tokens: int = 7) -> StepEnded:
    return StepEnded(1, number, number, "stop", 10, 10, 0, tokens, 1.0, 1.0, 2.0)


def harvested(number: int, tree: str) -> PatchHarvested:
    return PatchHarvested(1, number, tree, "base", "", (("a.py", 1, 1),), 1, "s", 0.25)


def judged(number: int, *outcomes: Outcome) -> tuple[Entry, Entry]:
    return GuardsJudged(1, number, "patch", outcomes), VerdictReached(1, number, "retry", "bloat", "no")


def test_a_record_that_is_folded_already_is_ignored() -> None:
    state = folded(StateChanged(State.WORKING))
    assert step(state, Record(2, 999.0, StateChanged(State.FAILED))) is state


def test_the_tree_to_go_on_from_is_the_last_one_that_no_guard_blocked() -> None:
    first = (asked(1), answered(1), harvested(1, "t1"), *judged(1, WARN))
    second = (asked(2), answered(2), harvested(2, "t2"), *judged(2, WARN, BLOCK))
    state = folded(started(), *first, *second)
    assert state.attempt is not None
    assert (state.attempt.tree, state.attempt.base_tree) == ("t1", "base")
    assert [item.is_blocked for item in state.attempt.rounds] == [False, True]


def test_a_tree_counts_only_once_there_is_a_verdict() -> None:
    state = folded(started(), asked(1), answered(1), harvested(1, "t1"))
    assert state.attempt is not None
    assert state.attempt.tree == "base"


def test_a_fresh_attempt_starts_from_the_base_and_entries_of_the_old_one_come_too_late() -> None:
    state = folded(started(), asked(1), started(2), answered(1), asked(1, attempt=2))
    assert [item.number for item in state.attempts] == [1, 2]
    assert state.attempts[0].rounds[0].answer is None
    assert state.attempts[1].tree == "base"


def test_an_attempt_and_a_step_that_are_journaled_twice_are_one() -> None:
    state = folded(started(), asked(1), answered(1), started(), asked(1))
    assert len(state.attempts) == 1
    assert state.attempts[0].steps == 1
    assert state.attempts[0].rounds[0].answer is not None


def test_work_and_tokens_add_up_over_rounds() -> None:
    state = folded(started(), asked(1), answered(1, 7), harvested(1, "t"), *judged(1, WARN), asked(2), answered(2, 5))
    assert state.worked_s == 0.5 + 2.0 + 0.25 + 0.5 + 2.0
    assert state.generated_tokens == 12


def test_a_command_is_pending_from_taken_to_done_and_known_for_ever() -> None:
    taken = CommandTaken("c1", "steer", "Look at x")
    assert [item.text for item in folded(taken).pending] == ["Look at x"]
    done = folded(taken, CommandTaken("c2", "kill"), CommandDone("c1", "steer"), CommandRefused("c3", "undo", "no"))
    assert [item.id for item in done.pending] == ["c2"]
    assert done.commands == {"c1", "c2", "c3"}


def test_a_decision_stands_until_it_is_undone() -> None:
    decided = Decided("approve", "refs/heads/x", "abc", "x")
    assert folded(decided).decision == decided
    assert folded(decided, DecisionUndone("approve", "refs/cockpit/undone/x")).decision is None


def test_reason_label_and_grade_are_those_of_the_last_state() -> None:
    state = folded(StateChanged(State.WAITING, "the server is away", "server_unavailable"), StateChanged(State.WORKING))
    assert (state.reason, state.label, state.changed_at_s) == ("", "", 103.0)
