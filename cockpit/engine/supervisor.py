"""Holds all tasks of an engine: reads inboxes, starts runners, recovers after a crash, ends in good order."""

import asyncio
import contextlib
import os
import sys
import time
import traceback
from dataclasses import replace
from pathlib import Path

from cockpit.adapters.shell import Level, probe, sweep
from cockpit.adapters.watch import changes
from cockpit.domain.commands import AddTask, Command, Pause, PauseAll, Resume, ResumeAll, StopEngine
from cockpit.domain.entries import (
    CommandDone,
    CommandRefused,
    EngineStarted,
    EngineStopped,
    Entry,
    ServerChanged,
    TaskAdded,
)
from cockpit.domain.errors import CockpitError, HoldError, JournalError
from cockpit.domain.state import TaskState
from cockpit.domain.states import ACTIVE, AT_REST, State
from cockpit.domain.summary import TaskSummary, summarise
from cockpit.engine.context import TaskContext
from cockpit.engine.publish import TASKS_S, Publisher
from cockpit.engine.runner import TaskRunner
from cockpit.engine.runs import clear_leftovers
from cockpit.engine.servers import Servers
from cockpit.journal.askfile import write_ask
from cockpit.journal.inbox import clear, rung, waiting
from cockpit.journal.layout import Home, TaskFolder, valid_task_id
from cockpit.journal.lock import EngineRecord
from cockpit.journal.log import JournalWriter, read_records
from cockpit.journal.snapshot import load_state
from cockpit.journal.summary import read_tasks
from cockpit.settings import Settings

POLL_S = 1.0
"""Longest wait for an inbox when the system's file watching does not work."""
SCAN_S = 30.0
"""How often every task's inbox is looked into, for commands whose ring was lost."""
ENGINE_MARK = "cockpit-engine"
JOURNAL, INBOX = TaskFolder(Path()).journal.name, TaskFolder(Path()).inbox.name


class Supervisor:
    """The engine's tasks and everything they share."""

    def __init__(self, home: Home, settings: Settings, record: EngineRecord) -> None:
        self._home = home
        self._settings = settings
        self._record_of_engine = record
        self._mark = f"{ENGINE_MARK}-{home.root}"
        self._journal = JournalWriter(home.journal)
        self._servers = Servers(home, settings, self._server_changed)
        self._publisher = Publisher(home, self._servers)
        self._turns = asyncio.Semaphore(settings.engine.tasks_at_once)
        self._runners: dict[str, TaskRunner] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._done_commands = self._known_commands()
        self._stopped = asyncio.Event()
        self._level = Level.PLAIN

    async def start(self, stopped: asyncio.Event) -> None:
        """Recover: end orphans, read every task, go on with those under way."""
        self._stopped = stopped
        self._level = await asyncio.to_thread(self._choose_level)
        swept = await asyncio.to_thread(sweep, self._mark)
        await asyncio.to_thread(clear_leftovers, self._home.worktrees)
        recovered = await asyncio.to_thread(self._recover)
        self._record(EngineStarted(self._record_of_engine.pid, self._record_of_engine.version, recovered, swept))
        for task in recovered:
            try:
                self._open(task)
            except JournalError as error:
                self._give_up(task, error)
        self._publisher.write_tasks()

    def _choose_level(self) -> Level:
        mode = self._settings.sandbox.mode
        found = probe()
        if mode == "plain":
            return Level.PLAIN
        if mode == "bubblewrap" and found.level is not Level.BUBBLEWRAP:
            raise CockpitError(
                f"sandbox.mode is bubblewrap, but it does not work here: {found.reason}", hint="run cockpit doctor"
            )
        return found.level

    def _recover(self) -> tuple[str, ...]:
        """Read summaries; a task that is under way, or is missing from them, is read from its journal."""
        known = self._known_rows()
        written_s = self._home.tasks_json.stat().st_mtime if self._home.tasks_json.exists() else 0.0
        active = []
        tasks = str(self._home.tasks)
        for name in sorted(filter(valid_task_id, os.listdir(tasks))):  # noqa: PTH208  # only names: faster
            row = known.get(name)
            if row is not None and row.state in AT_REST and _is_settled(f"{tasks}/{name}", written_s):
                self._publisher.put(row)
                continue
            try:
                state, _ = load_state(self._home.task(name))
            except JournalError as error:
                self._give_up(name, error)
                continue
            if not state.task:
                continue  # a folder whose first entry was never written: the command is still in the inbox
            self._publisher.put(summarise(state))
            if state.state in ACTIVE or state.pending:
                active.append((state.added_at_s, state.task))
        return tuple(task for _, task in sorted(active))

    def _known_rows(self) -> dict[str, TaskSummary]:
        """Read the task list of the last engine; a damaged one is made anew from the journals."""
        try:
            return {row.id: row for row in read_tasks(self._home)}
        except JournalError as error:
            _say(error)
            return {}

    async def serve(self) -> None:
        """Take commands until somebody asks to stop."""
        beating = asyncio.create_task(self._publisher.run())
        watching = asyncio.create_task(self._watch())
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            done, _ = await asyncio.wait({beating, watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for job in done - {stopping}:
                job.result()
        finally:
            for job in (beating, watching, stopping):
                job.cancel()
            await asyncio.gather(beating, watching, stopping, return_exceptions=True)

    async def _watch(self) -> None:
        self._read_inboxes()
        scanned_s = 0.0
        async for _ in changes([self._home.inbox], poll_s=POLL_S):
            self._read_inboxes()
            self._let_go()
            if time.monotonic() - scanned_s >= SCAN_S:
                scanned_s = time.monotonic()
                for task in await asyncio.to_thread(self._tasks_with_mail):
                    self._read_task_inbox(task)

    def _tasks_with_mail(self) -> list[str]:
        names = {path.parent.parent.name for path in self._home.tasks.glob("*/inbox/*.json")}
        return sorted(name for name in names if valid_task_id(name))

    def _read_inboxes(self) -> None:
        for path, command in waiting(self._home.inbox):
            if isinstance(command, JournalError):
                _put_aside(path, command)
                continue
            try:
                self._take_root(command)
            except HoldError as error:
                _say(error)
                return  # the disk is full: the command stays, and is read again
            clear(path)
        for task in rung(self._home.inbox):
            if valid_task_id(task):
                self._read_task_inbox(task)

    def _read_task_inbox(self, task: str) -> None:
        for path, command in waiting(self._home.task(task).inbox):
            if isinstance(command, JournalError):
                _put_aside(path, command)
                continue
            try:
                runner = self._runners.get(task) or self._open(task)
                if runner is not None and not isinstance(command, AddTask | StopEngine | PauseAll | ResumeAll):
                    runner.take(command)
            except HoldError as error:
                _say(error)
                return  # the disk is full: the command stays, and is read again
            except JournalError as error:
                self._give_up(task, error)
            clear(path)

    def _take_root(self, command: Command) -> None:
        if command.id in self._done_commands:
            return
        match command:
            case AddTask():
                self._try_add(command)
            case StopEngine():
                self._answer(CommandDone(command.id, command.kind))
                self._stopped.set()
            case PauseAll() | ResumeAll():
                self._all(command)
            case _:
                self._answer(CommandRefused(command.id, command.kind, "this command belongs into a task's inbox"))

    def _answer(self, entry: CommandDone | CommandRefused) -> None:
        self._done_commands.add(entry.command)
        self._record(entry)

    def _try_add(self, command: AddTask) -> None:
        try:
            self._add(command)
        except HoldError:
            raise
        except CockpitError as error:
            self._answer(CommandRefused(command.id, command.kind, error.message, error.hint))

    def _add(self, command: AddTask) -> None:
        """Make the task's folder; after a crash in between, the command is still there and is done again."""
        if not valid_task_id(command.task):
            self._answer(CommandRefused(command.id, command.kind, f"{command.task!r} is not 8 hex digits"))
            return
        folder = self._home.task(command.task)
        if folder.journal.exists() and read_records(folder.journal)[0]:
            self._answer(CommandDone(command.id, command.kind, f"task {command.task} exists"))
            return
        for made in (folder.root, folder.inbox):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        now_s = time.time()
        write_ask(folder.task_toml, command.task, command.ask, now_s)
        with JournalWriter(folder.journal) as journal:
            journal.append(TaskAdded(command.task, command.ask), now_s)
        self._open(command.task)
        self._answer(CommandDone(command.id, command.kind, command.task))

    def _all(self, command: PauseAll | ResumeAll) -> None:
        pausing = isinstance(command, PauseAll)
        count = 0
        for task, runner in self._runners.items():
            state = runner.ctx.state
            if state.state in ACTIVE and state.paused != pausing:
                one = f"{command.id}-{task}"
                runner.take(Pause(one, task) if pausing else Resume(one, task))
                count += 1
        self._answer(CommandDone(command.id, command.kind, f"{count} tasks"))

    def _give_up(self, task: str, error: JournalError) -> None:
        """Leave a task alone whose journal cannot be read, and say so: the others go on."""
        _say(error)
        known = self._publisher.summaries.get(task) or self._known_rows().get(task)
        row = known or summarise(TaskState(task=task))
        reason = f"{error.message}: {error.hint}" if error.hint else error.message
        self._publisher.put(replace(row, state=State.FAILED, label="engine_error", reason=reason, phase="failed"))

    def _open(self, task: str) -> TaskRunner | None:
        """Take a task into hands: read its state and start its runner."""
        if task in self._runners:
            return self._runners[task]
        folder = self._home.task(task)
        state, _ = load_state(folder)
        if not state.task:
            return None
        ctx = TaskContext(
            home=self._home,
            folder=folder,
            settings=self._settings,
            journal=JournalWriter(folder.journal),
            state=state,
            servers=self._servers,
            level=self._level,
            engine_id=self._mark,
        )
        ctx.on_change = lambda: self._publisher.changed(ctx)
        self._publisher.contexts[task] = ctx
        self._publisher.changed(ctx)
        runner = TaskRunner(ctx, self._turns)
        self._runners[task] = runner
        job = asyncio.create_task(runner.run(), name=f"task {task}")
        job.add_done_callback(_report)
        self._jobs[task] = job
        return runner

    def _let_go(self) -> None:
        """Close tasks that rest until somebody asks for them: each holds an open file, and an engine sees thousands."""
        for task in [task for task, runner in self._runners.items() if runner.is_resting]:
            self._jobs.pop(task).cancel()
            self._runners.pop(task).ctx.journal.close()
            del self._publisher.contexts[task]

    async def stop(self) -> None:
        """Cut what runs; every stream is kept to its last token and goes on at the next start."""
        for job in self._jobs.values():
            job.cancel()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)
        for runner in self._runners.values():
            runner.ctx.save_snapshot()
            runner.ctx.journal.close()
        await self._servers.aclose()
        await asyncio.to_thread(sweep, self._mark)
        self._publisher.write_tasks()
        with contextlib.suppress(HoldError):  # a full disk must not keep the engine from ending
            self._record(EngineStopped("stopped"))
        self._journal.close()

    def _known_commands(self) -> set[str]:
        records, _ = read_records(self._home.journal) if self._home.journal.exists() else ([], 0)
        return {item.entry.command for item in records if isinstance(item.entry, CommandDone | CommandRefused)}

    def _server_changed(self, url: str, state: str, reason: str) -> None:
        self._record(ServerChanged(url, state, reason))

    def _record(self, entry: Entry) -> None:
        self._journal.append(entry, time.time())


def _is_settled(folder: str, summaries_written_s: float) -> bool:
    """Tell whether a summary holds all of a task's journal, so that the journal need not be read.

    A change reaches ``tasks.json`` within a second; a journal touched near its last writing is read again. Asked for
    each of ten thousand tasks, so it reads two folders and builds no paths.
    """
    with os.scandir(folder) as entries:
        found = {entry.name: entry for entry in entries}
    journal, inbox = found.get(JOURNAL), found.get(INBOX)
    if journal is None or journal.stat().st_mtime >= summaries_written_s - 2 * TASKS_S:
        return False
    return inbox is None or not any(name.endswith(".json") for name in os.listdir(inbox))  # noqa: PTH208


def _put_aside(path: Path, error: JournalError) -> None:
    """Rename a command that cannot be read, so that it is not read for ever."""
    _say(error)
    with contextlib.suppress(OSError):
        path.rename(path.with_suffix(".unreadable"))


def _say(error: CockpitError) -> None:
    sys.stderr.write(f"{error}\n")


def _report(job: asyncio.Task[None]) -> None:
    """Say in the engine's log that a task's job ended by an error; nothing else would notice."""
    if not job.cancelled() and job.exception() is not None:
        traceback.print_exception(job.exception())
