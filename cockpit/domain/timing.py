"""Splits a task's time into columns: setup, baseline, model, tests, everything else; waiting is kept apart."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from cockpit.domain.entries import (
    BaselineMeasured,
    EnvironmentPrepared,
    Localised,
    PatchHarvested,
    PauseChanged,
    Record,
    RepositoryPrepared,
    StateChanged,
    StepEnded,
    StepStarted,
    TestsRan,
)
from cockpit.domain.state import RoundState, TaskState
from cockpit.domain.states import State

AT_WORK = frozenset({State.PREPARING, State.WORKING, State.REWORK})
ON_HOLD = frozenset({State.QUEUED, State.WAITING})


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the seconds of a task went."""

    setup_s: float = 0.0
    baseline_s: float = 0.0
    model_s: float = 0.0
    tests_s: float = 0.0
    other_s: float = 0.0
    """Everything else: task repository, prompts, harvest, checkouts, guards, journal."""
    waited_s: float = 0.0
    """Queued, paused, waiting for a server or for another task that makes the same environment or baseline."""

    @property
    def work_s(self) -> float:
        """Seconds of work, waiting left out."""
        return self.setup_s + self.baseline_s + self.model_s + self.tests_s + self.other_s

    @property
    def other_share(self) -> float:
        """Everything else as a share of model plus tests; 0 when there was neither."""
        spent = self.model_s + self.tests_s
        return self.other_s / spent if spent else 0.0

    def __add__(self, more: "Timing") -> "Timing":
        """Add column by column."""
        return Timing(**{field.name: getattr(self, field.name) + getattr(more, field.name) for field in fields(self)})


def timing_of(records: Iterable[Record]) -> Timing:
    """Measure with the journal's own clock: what no entry claims between first and last work is everything else."""
    state, paused = State.QUEUED, False
    last_s: float | None = None
    at_work_s = waited_s = 0.0
    named = Timing()
    for record in records:
        passed_s = max(0.0, record.at_s - last_s) if last_s is not None else 0.0
        if paused or state in ON_HOLD or _came_from_cache(record.entry):
            waited_s += passed_s
        elif state in AT_WORK:
            at_work_s += passed_s
        last_s = record.at_s
        named += _claimed(record.entry)
        if isinstance(record.entry, StateChanged):
            state = record.entry.state
        elif isinstance(record.entry, PauseChanged):
            paused = record.entry.paused
    claimed_s = named.work_s - named.other_s
    other_s = max(named.other_s, at_work_s - claimed_s)
    return Timing(named.setup_s, named.baseline_s, named.model_s, named.tests_s, other_s, waited_s)


def timing_of_state(state: TaskState) -> Timing:
    """Add up what entries claim; without the journal's clock, waiting is not known and stays 0."""
    total = Timing()
    for entry in (state.repository, state.environment, state.baseline):
        total += _claimed(entry)
    for attempt in state.attempts:
        total += _claimed(attempt.localised)
        for item in attempt.rounds:
            total += _of_round(item)
    return total


def _of_round(item: RoundState) -> Timing:
    total = Timing()
    for entry in (item.step, item.answer, item.harvest, *item.runs):
        total += _claimed(entry)
    return total


def _came_from_cache(entry: object) -> bool:
    """Tell whether the time before an entry was spent on looking into a cache, or on another task's work for it."""
    return isinstance(entry, EnvironmentPrepared | BaselineMeasured) and entry.cached


def _claimed(entry: object) -> Timing:
    """Return the seconds an entry says that it took, in its column."""
    match entry:
        case EnvironmentPrepared():
            return Timing(setup_s=entry.elapsed_s)
        case BaselineMeasured():
            return Timing(baseline_s=entry.elapsed_s)
        case StepEnded():
            return Timing(model_s=entry.elapsed_s)
        case TestsRan():
            return Timing(tests_s=entry.elapsed_s, other_s=entry.overhead_s)
        case RepositoryPrepared() | Localised() | StepStarted() | PatchHarvested():
            return Timing(other_s=entry.elapsed_s)
        case _:
            return Timing()
