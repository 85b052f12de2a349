"""Commands: what an operator asks for, dropped into an inbox; each has an id, so a replay is ignored."""

from dataclasses import dataclass
from typing import Literal

from cockpit.domain.ask import Ask


@dataclass(frozen=True, slots=True)
class AddTask:
    """Make a task; the client chooses its id (8 hex digits)."""

    id: str
    task: str
    ask: Ask
    kind: Literal["add_task"] = "add_task"


@dataclass(frozen=True, slots=True)
class StopEngine:
    """End the engine cleanly; running steps are cut and go on at the next start."""

    id: str
    kind: Literal["stop_engine"] = "stop_engine"


@dataclass(frozen=True, slots=True)
class PauseAll:
    """Pause every task."""

    id: str
    kind: Literal["pause_all"] = "pause_all"


@dataclass(frozen=True, slots=True)
class ResumeAll:
    """Resume every task."""

    id: str
    kind: Literal["resume_all"] = "resume_all"


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop at this token, or freeze the tests."""

    id: str
    task: str
    kind: Literal["pause"] = "pause"


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on where it was paused; a waiting task looks again at once."""

    id: str
    task: str
    kind: Literal["resume"] = "resume"


@dataclass(frozen=True, slots=True)
class Kill:
    """End the task; the best patch so far is kept."""

    id: str
    task: str
    kind: Literal["kill"] = "kill"


@dataclass(frozen=True, slots=True)
class Steer:
    """Tell the model something at the start of its next round."""

    id: str
    task: str
    text: str
    kind: Literal["steer"] = "steer"


@dataclass(frozen=True, slots=True)
class Approve:
    """Commit the patch in review on ``cockpit/<task>`` in the source repository."""

    id: str
    task: str
    kind: Literal["approve"] = "approve"


@dataclass(frozen=True, slots=True)
class Discard:
    """Put the patch aside under ``refs/cockpit/discarded/<task>``."""

    id: str
    task: str
    kind: Literal["discard"] = "discard"


@dataclass(frozen=True, slots=True)
class Undo:
    """Take the last decision back; the task is in review again."""

    id: str
    task: str
    kind: Literal["undo"] = "undo"


RootCommand = AddTask | StopEngine | PauseAll | ResumeAll
TaskCommand = Pause | Resume | Kill | Steer | Approve | Discard | Undo
Command = RootCommand | TaskCommand
