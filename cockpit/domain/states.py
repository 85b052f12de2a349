"""The states a task can be in."""

from enum import StrEnum


class State(StrEnum):
    """Where a task stands; ``paused`` is a flag beside it."""

    QUEUED = "queued"
    PREPARING = "preparing"
    WORKING = "working"
    WAITING = "waiting"
    """Infrastructure or a consent is missing; goes on by itself or by ``resume``."""
    REVIEW = "review"
    REWORK = "rework"
    APPROVED = "approved"
    DISCARDED = "discarded"
    NO_CHANGE = "no_change"
    FAILED = "failed"
    KILLED = "killed"


ACTIVE = frozenset({State.QUEUED, State.PREPARING, State.WORKING, State.WAITING, State.REWORK})
"""States in which the engine has something to do."""
AT_REST = frozenset(set(State) - ACTIVE)
"""States in which a person decides, or has decided."""
