"""Reads what the engine wrote and sends it commands; a client never changes a task itself.

What reads entries is imported late: a task list opens without them.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from cockpit.domain.errors import CockpitError, NotFoundError, UsageError
from cockpit.journal.layout import Home, valid_task_id
from cockpit.journal.summary import read_live, read_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from cockpit.domain.commands import Command
    from cockpit.domain.entries import CommandDone, CommandRefused, Record
    from cockpit.domain.state import TaskState
    from cockpit.domain.summary import TaskSummary
    from cockpit.journal.layout import TaskFolder

POLL_S = 0.05
CANDIDATES = 8
"""How many ids an ambiguous prefix is answered with."""


class Client:
    """One attached client; several may be attached at once."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._sent_at: dict[str, int] = {}
        """Journal offset at which each command was sent: its answer stands behind."""

    def tasks(self) -> tuple[TaskSummary, ...]:
        """Return one row per task, as of at most a second ago."""
        return read_tasks(self.home)

    def live(self) -> dict[str, Any]:
        """Return what changes all the time; empty when no engine has written it."""
        return read_live(self.home)

    def find(self, prefix: str) -> str:
        """Return the id a prefix stands for; raises ``NotFoundError`` unless exactly one task has it."""
        wanted = prefix.strip().lower()
        matches = sorted(task for task in self._ids() if task.startswith(wanted))
        if len(matches) == 1 and wanted:
            return matches[0]
        if wanted in matches:
            return wanted
        if not matches:
            raise NotFoundError(f"no task starts with {prefix!r}", hint="`cockpit tasks` shows the tasks")
        shown = ", ".join(matches[:CANDIDATES]) + (", ..." if len(matches) > CANDIDATES else "")
        raise NotFoundError(f"{prefix!r} could be {shown}", hint="give more of the id")

    def folder(self, task: str) -> TaskFolder:
        """Return a task's folder; raises ``NotFoundError`` when there is no such task."""
        folder = self.home.task(task)
        if not folder.root.is_dir():
            raise NotFoundError(f"there is no task {task}", hint="`cockpit tasks` shows the tasks")
        return folder

    def state(self, task: str) -> TaskState:
        """Return all that is known of a task."""
        from cockpit.journal.snapshot import load_state

        return load_state(self.folder(task))[0]

    def records(self, task: str, offset: int = 0) -> tuple[list[Record], int]:
        """Return a task's journal from ``offset`` on, and the offset to go on from."""
        from cockpit.journal.log import read_records

        return read_records(self.folder(task).journal, offset)

    def send(self, command: Command) -> None:
        """Put a command into the right inbox; ``wait_for`` tells what came of it.

        Raises ``NotFoundError`` for a command to a task there is not.
        """
        from cockpit.domain.commands import RootCommand
        from cockpit.journal.inbox import drop, ring
        from cockpit.journal.lines import end_of

        if isinstance(command, RootCommand):
            self.home.create()
            journal, inbox = self.home.journal, self.home.inbox
        else:
            folder = self.folder(command.task)
            journal, inbox = folder.journal, folder.inbox
        self._sent_at[command.id] = end_of(journal)
        drop(inbox, command)
        if not isinstance(command, RootCommand):
            ring(self.home.inbox, command.task)

    def wait_for(self, command: str, task: str | None, timeout_s: float) -> CommandDone | CommandRefused:
        """Wait until a command, by its id, was carried out or refused.

        ``task`` is None for commands to the whole, adding a task among them. Raises ``CockpitError`` when the
        engine does not answer in time.
        """
        journal = self.home.journal if task is None else self.folder(task).journal
        offset = self._sent_at.get(command, 0)
        deadline_s = time.monotonic() + timeout_s
        while True:
            answer, offset = _answer(journal, offset, command)
            if answer is not None:
                self._sent_at.pop(command, None)
                return answer
            if time.monotonic() > deadline_s:
                raise self._silence(timeout_s)
            time.sleep(POLL_S)

    def wait_state(
        self,
        task: str,
        until: Callable[[TaskState], bool],
        on_change: Callable[[TaskState], None] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> TaskState:
        """Wait until a task's state is as wanted, even for a moment, and return that state.

        ``on_change`` sees the state now and every state on the way. Raises ``CockpitError`` when no engine runs any
        more, or after ``timeout_s``.
        """
        from cockpit.client.tail import TaskTail
        from cockpit.client.vigil import Vigil

        tail, vigil = TaskTail(self.folder(task)), Vigil(self.home)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        states: Iterable[TaskState] = (tail.state,)
        while True:
            for state in states:
                if on_change is not None:
                    on_change(state)
                if until(state):
                    return state
            vigil.check()
            if deadline_s is not None and time.monotonic() > deadline_s:
                raise CockpitError(
                    f"task {task} is still {tail.state.state} after {timeout_s:g} s",
                    hint=f"it goes on; cockpit show {task} tells where it stands",
                )
            time.sleep(POLL_S)
            states = tail.states()

    def new_id(self) -> str:
        """Return a fresh id, 8 hex digits, for a task or a command."""
        while True:
            fresh = os.urandom(4).hex()
            if not (self.home.tasks / fresh).exists():
                return fresh

    def _ids(self) -> list[str]:
        try:
            return [path.name for path in self.home.tasks.iterdir() if valid_task_id(path.name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(
                f"cannot read {self.home.tasks}: {error.strerror}", hint="make it yours, or set COCKPIT_HOME elsewhere"
            ) from error

    def _silence(self, timeout_s: float) -> CockpitError:
        return CockpitError(
            f"the engine did not answer within {timeout_s:g} s",
            hint=f"the command is still in its inbox and will be read; see {self.home.engine_log}",
        )


def _answer(journal: Path, offset: int, command: str) -> tuple[CommandDone | CommandRefused | None, int]:
    from cockpit.domain.entries import CommandDone, CommandRefused
    from cockpit.journal.log import read_records

    records, end = read_records(journal, offset)
    for record in records:
        if isinstance(record.entry, CommandDone | CommandRefused) and record.entry.command == command:
            return record.entry, end
    return None, end
