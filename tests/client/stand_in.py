"""A small engine that keeps the same promises about lock, heartbeat and inboxes, and works on nothing."""

import os
import sys
import time
from pathlib import Path

from cockpit.domain.commands import AddTask, Approve, Command, Pause, StopEngine
from cockpit.domain.entries import CommandDone, CommandRefused, PauseChanged, TaskAdded
from cockpit.domain.errors import JournalError
from cockpit.journal.inbox import clear, rung, waiting
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock, EngineRecord, write_engine
from cockpit.journal.log import JournalWriter

COMMAND = (sys.executable, "-P", __file__)


def main() -> int:
    home = Home(Path(os.environ["COCKPIT_HOME"]))
    lock = EngineLock(home)
    if not lock.acquire():
        sys.stderr.write("another engine runs\n")
        return 1
    started_s = time.time()
    if "--mute" not in sys.argv:
        write_engine(home, EngineRecord(os.getpid(), "stand-in", started_s, started_s))
    while "--deaf" in sys.argv or not turn(home):
        time.sleep(0.02)
    return 0


def turn(home: Home) -> bool:
    """Take what is in the inboxes; True when asked to stop."""
    with JournalWriter(home.journal, durable=False) as root:
        for path, command in waiting(home.inbox):
            clear(path)
            if isinstance(command, StopEngine):
                return True
            if isinstance(command, AddTask):
                add(home, command)
                root.append(CommandDone(command.id, command.kind), time.time())
    for task in rung(home.inbox):
        for path, command in waiting(home.task(task).inbox):
            clear(path)
            answer(home, task, command)
    return False


def add(home: Home, command: AddTask) -> None:
    folder = home.task(command.task)
    folder.inbox.mkdir(parents=True)
    with JournalWriter(folder.journal, durable=False) as journal:
        journal.append(TaskAdded(command.task, command.ask), time.time())


def answer(home: Home, task: str, command: Command | JournalError) -> None:
    with JournalWriter(home.task(task).journal, durable=False) as journal:
        if isinstance(command, Pause):
            journal.append(PauseChanged(paused=True), time.time())
            journal.append(CommandDone(command.id, command.kind), time.time())
        if isinstance(command, Approve):
            refusal = CommandRefused(command.id, command.kind, "nothing to approve", "wait for review")
            journal.append(refusal, time.time())


if __name__ == "__main__":
    raise SystemExit(main())
