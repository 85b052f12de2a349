"""Sums a task up in one row: what a list of ten thousand tasks shows of each.

Imports no entries at run time, so that a list opens fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cockpit.domain.states import State

if TYPE_CHECKING:
    from cockpit.domain.state import AttemptState, RoundState, TaskState

ISSUE_CHARS = 200
"""How much of the issue a row carries; the whole is in ``task.toml``."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One row of the task list; holds nothing that changes with every token."""

    id: str
    repo: str
    issue: str
    """The first 200 characters."""
    title: str
    state: State
    paused: bool
    reason: str
    label: str
    grade: str
    phase: str
    """What is being done now, in a word or two."""
    attempt: int
    """The current one; 0 before the first."""
    round: int
    guards: tuple[tuple[str, str], ...]
    """Name and status of each guard of the current round."""
    added_at_s: float
    changed_at_s: float
    generated_tokens: int
    pr_url: str | None = None
    verify_status: str | None = None
    verify_feedback: str | None = None
    rework_attempts: int = 0


def summarise(state: TaskState) -> TaskSummary:
    """Return the row of a task."""
    from cockpit.domain.ask import title_of  # imported late: reading rows needs none of it

    now = state.round
    return TaskSummary(
        id=state.task,
        repo=state.ask.repo,
        issue=state.ask.issue[:ISSUE_CHARS],
        title=title_of(state.ask),
        state=state.state,
        paused=state.paused,
        reason=state.reason,
        label=state.label,
        grade=state.grade,
        phase=phase_of(state),
        attempt=state.attempt.number if state.attempt else 0,
        round=now.number if now else 0,
        guards=tuple((outcome.guard, str(outcome.status)) for outcome in now.outcomes) if now else (),
        added_at_s=state.added_at_s,
        changed_at_s=state.changed_at_s,
        generated_tokens=state.generated_tokens,
    )


def phase_of(state: TaskState) -> str:
    """Say what is being done: ``preparing environment``, ``localising``, ``generating``, ``testing``, ..."""
    match state.state:
        case State.PREPARING:
            return _preparing(state)
        case State.WORKING | State.REWORK:
            return _working(state.attempt)
        case _:
            return state.state.value.replace("_", " ")


def _preparing(state: TaskState) -> str:
    if state.repository is None:
        return "preparing repository"
    if state.environment is None:
        return "preparing environment"
    if state.baseline is None:
        return "preparing baseline"
    return "preparing worktree"


def _working(attempt: AttemptState | None) -> str:
    if attempt is None or attempt.ended is not None:
        return "preparing worktree"
    if attempt.localised is None:
        return "localising"
    return _round(attempt.rounds[-1]) if attempt.rounds else "generating"


def _round(now: RoundState) -> str:
    is_answered = now.step is not None and now.answer is not None and now.answer.step == now.step.step
    if now.verdict is not None:
        return "deciding"
    if not is_answered:
        return "generating"
    if "patch" not in now.stages:
        return "judging"
    return "deciding" if now.is_blocked or "tested" in now.stages else "testing"
