"""Says what changed in a task, a line for each change, while somebody waits for it."""

from collections.abc import Callable

from cockpit.cli.output import is_ascii_only, safe
from cockpit.domain.outcomes import Status
from cockpit.domain.receipt import test_row
from cockpit.domain.receipt_text import guard_line, tests_line
from cockpit.domain.state import RoundState, TaskState
from cockpit.domain.states import State
from cockpit.domain.summary import phase_of

BRIEF = frozenset({"judging", "deciding"})
"""Phases that last a moment; terse progress leaves them out."""


class Progress:
    """Remembers what was said of one task."""

    def __init__(self, say: Callable[[str], None], *, prefix: str = "", is_terse: bool = False) -> None:
        """``is_terse`` leaves out guards that pass, test runs and phases of a moment."""
        self._say = say
        self._prefix = prefix
        self._is_terse = is_terse
        self._phase = ""
        self._said: set[tuple[object, ...]] = set()

    def show(self, state: TaskState) -> None:
        """Say what is new since the last call."""
        for attempt in state.attempts:
            for item in attempt.rounds:
                self._show_round(attempt.number, item)
        self._show_phase(state)

    def _show_phase(self, state: TaskState) -> None:
        phase = _phase_line(state, is_terse=self._is_terse)
        if self._is_terse and phase_of(state) in BRIEF:
            return
        if phase != self._phase:
            self._phase = phase
            self._line(phase)

    def _show_round(self, attempt: int, item: RoundState) -> None:
        where = f"attempt {attempt}, round {item.number}"
        if item.answer and self._is_new(attempt, item.number, "answer"):
            answer = item.answer
            self._line(f"{where}: {answer.generated_tokens} tokens in {answer.elapsed_s:.1f} s ({answer.finish})")
        for index, outcome in enumerate(item.outcomes):
            is_shown = outcome.status is not Status.PASS or not self._is_terse
            if self._is_new(attempt, item.number, "guard", index) and is_shown:
                self._line("  " + guard_line(outcome, ascii_only=is_ascii_only()))
        for index, run in enumerate(item.runs):
            if self._is_new(attempt, item.number, "run", index) and not self._is_terse:
                self._line(f"  {run.which}: {safe(tests_line(test_row(run)))}")
        # a patch that goes to review ends the task: the next line says the same
        goes_on = item.verdict is not None and item.verdict.verdict != "review"
        if goes_on and self._is_new(attempt, item.number, "verdict"):
            self._line(f"{where}: {safe(_verdict(item))}")

    def _is_new(self, *key: object) -> bool:
        if key in self._said:
            return False
        self._said.add(key)
        return True

    def _line(self, text: str) -> None:
        self._say(self._prefix + text)


def _phase_line(state: TaskState, *, is_terse: bool) -> str:
    """Name state and phase; while preparing what is done instead, in a state of rest or waiting also the reason."""
    paused = " (paused)" if state.paused else ""
    if state.state is State.PREPARING and state.reason and not is_terse:
        return safe(f"preparing: {state.reason}") + paused  # the phase is a fact ahead of it
    if state.state in {State.QUEUED, State.PREPARING, State.WORKING, State.REWORK}:
        now = state.round
        where = f", round {now.number}" if now and state.state is State.WORKING else ""
        return phase_of(state) + where + paused
    named = ", ".join(part for part in (state.state.value.replace("_", " "), state.grade or state.label) if part)
    return safe(f"{named}: {state.reason}" if state.reason else named) + paused


def _verdict(item: RoundState) -> str:
    verdict = item.verdict
    if verdict is None:
        return ""
    named = ", ".join(part for part in (verdict.verdict, verdict.grade, verdict.label) if part)
    return f"{named}: {verdict.reason}" if verdict.reason else named
