from dataclasses import replace

import pytest

from cockpit.domain.ask import Ask
from cockpit.domain.entries import (
    AttemptEnded,
    AttemptStarted,
    BaselineMeasured,
    Entry,
    EnvironmentPrepared,
    GuardsJudged,
    Localised,
    PatchHarvested,
    Record,
    RepositoryPrepared,
    StateChanged,
    StepEnded,
    StepStarted,
    TaskAdded,
    VerdictReached,
)
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.state import TaskState, fold
from cockpit.domain.states import State
from cockpit.domain.summary import ISSUE_CHARS, phase_of, summarise

ADDED = TaskAdded("0123abcd", Ask("/r", "# Crash on load\n\n" + "x" * 1000))
REPOSITORY = RepositoryPrepared("/r", "c", "t", "main", "r", 1.0)
ENVIRONMENT = EnvironmentPrepared("k", "", "python", {}, (), cached=False, level="", elapsed_s=1.0)
BASELINE = BaselineMeasured(("pytest",), "pytest", "", 1, 0, 0, 0, cached=False, level="", elapsed_s=1.0)
STARTED = AttemptStarted(1, "/w", "t")
LOCALISED = Localised(1, (), (), 0.1)
ASKED = StepStarted(1, 1, 1, "hunter", 10, "search_replace", 0.1)
ANSWERED = StepEnded(1, 1, 1, "stop", 10, 10, 0, 5, 1.0, 1.0, 1.0)
HARVESTED = PatchHarvested(1, 1, "t2", "t", "sha", (("a.py", 1, 1),), 1, "sig", 0.1)
PASSED = GuardsJudged(1, 1, "patch", (Outcome("bloat", Status.PASS, "2 lines"),))
BLOCKED = GuardsJudged(1, 1, "patch", (Outcome("bloat", Status.BLOCK, "99 lines", label="bloat"),))
TESTED = GuardsJudged(1, 1, "tested", (Outcome("green", Status.PASS, "all"),))
RETRY = VerdictReached(1, 1, "retry", "bloat", "99 lines")
AGAIN = replace(ASKED, round=2, step=2)
ENDED = AttemptEnded(1, "stuck", "same failure twice")
PREPARE = (ADDED, StateChanged(State.PREPARING))
WORK = (*PREPARE, REPOSITORY, ENVIRONMENT, BASELINE, StateChanged(State.WORKING), STARTED)
ASK = (*WORK, LOCALISED, ASKED)


def state_of(*entries: Entry) -> TaskState:
    return fold(Record(place, float(place), entry) for place, entry in enumerate(entries, 1))


@pytest.mark.parametrize(
    ("entries", "phase"),
    [
        ((ADDED,), "queued"),
        (PREPARE, "preparing repository"),
        ((*PREPARE, REPOSITORY), "preparing environment"),
        ((*PREPARE, REPOSITORY, ENVIRONMENT), "preparing baseline"),
        ((*PREPARE, REPOSITORY, ENVIRONMENT, BASELINE), "preparing worktree"),
        (WORK[:-1], "preparing worktree"),
        (WORK, "localising"),
        ((*WORK, LOCALISED), "generating"),
        (ASK, "generating"),
        ((*ASK, ANSWERED), "judging"),
        ((*ASK, ANSWERED, HARVESTED), "judging"),
        ((*ASK, ANSWERED, HARVESTED, PASSED), "testing"),
        ((*ASK, ANSWERED, HARVESTED, BLOCKED), "deciding"),
        ((*ASK, ANSWERED, HARVESTED, PASSED, TESTED), "deciding"),
        ((*ASK, ANSWERED, HARVESTED, BLOCKED, RETRY), "deciding"),
        ((*ASK, ANSWERED, HARVESTED, BLOCKED, RETRY, AGAIN), "generating"),
        ((*ASK, ANSWERED, HARVESTED, BLOCKED, RETRY, ENDED), "preparing worktree"),
        ((*ASK, ANSWERED, replace(ASKED, step=2)), "generating"),
        ((*ASK, StateChanged(State.WAITING, "server away")), "waiting"),
        ((*ASK, StateChanged(State.REVIEW)), "review"),
        ((*ASK, StateChanged(State.NO_CHANGE)), "no change"),
    ],
)
def test_the_phase_is_what_is_being_done_now(entries: tuple[Entry, ...], phase: str) -> None:
    assert phase_of(state_of(*entries)) == phase


def test_a_row_names_what_a_list_shows() -> None:
    review = StateChanged(State.REVIEW, "tests pass", grade="proven")
    row = summarise(state_of(*ASK, ANSWERED, HARVESTED, PASSED, TESTED, review))
    assert (row.id, row.repo, row.title) == ("0123abcd", "/r", "Crash on load")
    assert (row.state, row.reason, row.grade, row.phase) == (State.REVIEW, "tests pass", "proven", "review")
    assert (row.attempt, row.round, row.generated_tokens) == (1, 1, 5)
    assert row.guards == (("bloat", "pass"), ("green", "pass"))
    assert (row.added_at_s, row.changed_at_s) == (1.0, 14.0)
    assert len(row.issue) == ISSUE_CHARS


def test_a_row_shows_the_guards_of_the_current_round_only() -> None:
    assert summarise(state_of(*ASK, ANSWERED, HARVESTED, BLOCKED, RETRY, AGAIN)).guards == ()


def test_a_task_nothing_is_known_of_has_a_row() -> None:
    row = summarise(TaskState())
    assert (row.attempt, row.round, row.guards, row.title) == (0, 0, (), "untitled")
