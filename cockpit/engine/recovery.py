"""Finds out after a start which tasks are under way, and leaves those alone that cannot be read."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from cockpit.domain.errors import CockpitError, JournalError
from cockpit.domain.state import TaskState
from cockpit.domain.states import ACTIVE, AT_REST, State
from cockpit.domain.summary import TaskSummary, summarise
from cockpit.engine.publish import TASKS_S, Publisher
from cockpit.journal.layout import Home, TaskFolder, valid_task_id
from cockpit.journal.snapshot import load_state
from cockpit.journal.summary import read_tasks

JOURNAL, INBOX = TaskFolder(Path()).journal.name, TaskFolder(Path()).inbox.name


def recover(home: Home, publisher: Publisher) -> tuple[str, ...]:
    """Publish a row for every task and return those under way, the oldest first.

    A task at rest is taken from the last engine's list; all others are read from their journals.
    """
    known = _known_rows(home)
    written_s = home.tasks_json.stat().st_mtime if home.tasks_json.exists() else 0.0
    active = []
    tasks = str(home.tasks)
    for name in sorted(filter(valid_task_id, os.listdir(tasks))):  # noqa: PTH208  # only names: faster
        row = known.get(name)
        if row is not None and row.state in AT_REST and _is_settled(f"{tasks}/{name}", written_s):
            publisher.put(row)
            continue
        try:
            state, _ = load_state(home.task(name))
        except JournalError as error:
            give_up(home, publisher, name, error)
            continue
        if not state.task:
            continue  # a folder whose first entry was never written: the command is still in the inbox
        publisher.put(summarise(state))
        if state.state in ACTIVE or state.pending:
            active.append((state.added_at_s, state.task))
    return tuple(task for _, task in sorted(active))


def give_up(home: Home, publisher: Publisher, task: str, error: JournalError) -> None:
    """Leave a task alone whose journal cannot be read, and say so: the others go on."""
    say(error)
    known = publisher.summaries.get(task) or _known_rows(home).get(task)
    row = known or summarise(TaskState(task=task))
    reason = f"{error.message}: {error.hint}" if error.hint else error.message
    publisher.put(replace(row, state=State.FAILED, label="engine_error", reason=reason, phase="failed"))


def say(error: CockpitError) -> None:
    """Write an error into the engine's log."""
    sys.stderr.write(f"{error}\n")


def _known_rows(home: Home) -> dict[str, TaskSummary]:
    """Read the task list of the last engine; a damaged one is made anew from the journals."""
    try:
        return {row.id: row for row in read_tasks(home)}
    except JournalError as error:
        say(error)
        return {}


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
