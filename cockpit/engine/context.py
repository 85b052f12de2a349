"""What every move of a task works with: its folder, journal, state, server, and the wish to stop."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cockpit.adapters.shell import Level, RunControl
from cockpit.domain.entries import Entry, StateChanged
from cockpit.domain.errors import CockpitError
from cockpit.domain.outcomes import Limits
from cockpit.domain.plan import Allowance
from cockpit.domain.state import AttemptState, RoundState, TaskState, step
from cockpit.domain.states import AT_REST
from cockpit.engine.servers import Link, Servers
from cockpit.engine.signals import StopSignal
from cockpit.journal.layout import Home, TaskFolder
from cockpit.journal.log import JournalWriter
from cockpit.journal.snapshot import save_snapshot
from cockpit.settings import Settings


@dataclass
class TaskContext:
    """One task in the hands of the engine."""

    home: Home
    folder: TaskFolder
    settings: Settings
    journal: JournalWriter
    state: TaskState
    servers: Servers
    level: Level
    engine_id: str
    """Prefix of the token that marks this engine's child processes."""
    on_change: Callable[[], None] = lambda: None
    stop: StopSignal = field(default_factory=StopSignal)
    control: RunControl | None = None
    """The command that runs now, to be frozen or killed."""
    live: dict[str, Any] = field(default_factory=dict)
    """What ``live.json`` shows of this task."""
    slot: int | None = None
    """The slot whose cache holds this task's prompt."""

    def record(self, entry: Entry) -> None:
        """Append a fact to the journal and fold it into the state."""
        self.state = step(self.state, self.journal.append(entry, time.time()))
        if isinstance(entry, StateChanged) and entry.state in AT_REST:
            self.save_snapshot()
        self.on_change()

    def save_snapshot(self) -> None:
        """Fold what is known so far, so that a later start reads one file; without one it reads the journal."""
        with contextlib.suppress(CockpitError):
            save_snapshot(self.folder, self.state, self.journal.offset)

    @property
    def task(self) -> str:
        """The task's id."""
        return self.state.task

    @property
    def token(self) -> str:
        """The mark of this task's child processes."""
        return f"{self.engine_id}{self.task}"

    @property
    def attempt(self) -> AttemptState:
        """The current attempt; only for moves that have one."""
        attempt = self.state.attempt
        if attempt is None:
            raise LookupError("no attempt yet")
        return attempt

    @property
    def round(self) -> RoundState:
        """The current round; only for moves that have one."""
        now = self.state.round
        if now is None:
            raise LookupError("no round yet")
        return now

    @property
    def worktree(self) -> Path:
        """The current attempt's worktree."""
        return self.home.worktree(self.task, self.attempt.number)

    def scratch(self, name: str) -> Path:
        """Return a path in the task's folder for something thrown away after use."""
        return self.folder.root / "scratch" / name

    async def link(self) -> Link:
        """Return the server this task asks for."""
        return await self.servers.link(self.state.ask.model or self.settings.server.model)

    def new_control(self) -> RunControl:
        """Make the handle of the next command; a pause that came before freezes it at once."""
        self.control = RunControl()
        if self.state.paused:
            self.control.freeze()
        return self.control

    @property
    def limits(self) -> Limits:
        """The thresholds in force."""
        return self.settings.limits.in_force()

    @property
    def allowance(self) -> Allowance:
        """What the budget allows: the task's own wishes, else the settings."""
        wished, default = self.state.ask.budget, self.settings.budget
        return Allowance(
            rounds=min(wished.rounds or default.rounds, default.rounds),
            attempts=wished.attempts or default.attempts,
            work_s=(wished.minutes or default.minutes) * 60,
            tokens=wished.tokens or default.total_tokens,
        )
