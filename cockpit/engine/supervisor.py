"""Holds all tasks of an engine: reads inboxes, starts and lets go of runners, ends in good order."""

import asyncio
import contextlib
import time
import traceback
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
from cockpit.domain.states import ACTIVE
from cockpit.engine.context import TaskContext
from cockpit.engine.publish import Publisher
from cockpit.engine.recovery import give_up, recover, say
from cockpit.engine.runner import TaskRunner
from cockpit.engine.runs import clear_leftovers
from cockpit.engine.servers import Servers
from cockpit.journal.askfile import write_ask
from cockpit.journal.inbox import clear, rung, waiting
from cockpit.journal.layout import Home, valid_task_id
from cockpit.journal.lock import EngineRecord
from cockpit.journal.log import JournalWriter, read_records
from cockpit.journal.snapshot import load_state
from cockpit.settings import Settings

POLL_S = 1.0
"""Longest wait for an inbox when the system's file watching does not work."""
SCAN_S = 30.0
"""How often every task's inbox is looked into, for commands whose ring was lost."""
ENGINE_MARK = "cockpit-engine"


class Supervisor:
    """The engine's tasks and everything they share."""

    def __init__(self, home: Home, settings: Settings, record: EngineRecord) -> None:
        self._home = home
        self._settings = settings
        self._record_of_engine = record
        self._mark = f"{ENGINE_MARK}-{home.root}//"  # no path holds two slashes: /a never stands for /ab
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
        recovered = await asyncio.to_thread(recover, self._home, self._publisher)
        self._record(EngineStarted(self._record_of_engine.pid, self._record_of_engine.version, recovered, swept))
        for task in recovered:
            try:
                self._open(task)
            except JournalError as error:
                give_up(self._home, self._publisher, task, error)
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
                say(error)
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
                say(error)
                return  # the disk is full: the command stays, and is read again
            except JournalError as error:
                give_up(self._home, self._publisher, task, error)
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


def _put_aside(path: Path, error: JournalError) -> None:
    """Rename a command that cannot be read, so that it is not read for ever."""
    say(error)
    with contextlib.suppress(OSError):
        path.rename(path.with_suffix(".unreadable"))


def _report(job: asyncio.Task[None]) -> None:
    """Say in the engine's log that a task's job ended by an error; nothing else would notice."""
    if not job.cancelled() and job.exception() is not None:
        traceback.print_exception(job.exception())
