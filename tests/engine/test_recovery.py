"""After a start every task is known: by its row, by its journal, or as one that cannot be read."""

import os
from pathlib import Path

import pytest

from cockpit.domain.ask import Ask
from cockpit.domain.entries import Entry, StateChanged, TaskAdded
from cockpit.domain.states import State
from cockpit.domain.summary import summarise
from cockpit.engine.publish import Publisher
from cockpit.engine.recovery import recover
from cockpit.engine.servers import Servers
from cockpit.journal.layout import Home
from cockpit.journal.log import JournalWriter
from cockpit.journal.snapshot import load_state
from cockpit.journal.summary import write_tasks
from cockpit.settings import Settings

OLD, YOUNG, DONE, BROKEN = "0000000a", "0000000b", "0000000c", "0000000d"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.create()
    return made


@pytest.fixture
def publisher(home: Home) -> Publisher:
    return Publisher(home, Servers(home, Settings(), lambda _url, _state, _reason: None))


def add(home: Home, task: str, at_s: float, *entries: Entry) -> None:
    folder = home.task(task)
    folder.inbox.mkdir(parents=True)
    with JournalWriter(folder.journal) as journal:
        for entry in (TaskAdded(task, Ask(repo="/r", issue=task)), *entries):
            journal.append(entry, at_s)


def test_tasks_under_way_come_back_the_oldest_first(home: Home, publisher: Publisher) -> None:
    add(home, YOUNG, 2.0)
    add(home, OLD, 3.0, StateChanged(State.WAITING))
    add(home, DONE, 1.0, StateChanged(State.REVIEW))
    assert recover(home, publisher) == (YOUNG, OLD)
    assert {task: row.state for task, row in publisher.summaries.items()} == {
        OLD: State.WAITING, YOUNG: State.QUEUED, DONE: State.REVIEW,
    }  # fmt: skip


def test_a_journal_that_cannot_be_read_stops_nobody_else(home: Home, publisher: Publisher) -> None:
    add(home, OLD, 1.0)
    add(home, BROKEN, 2.0)
    home.task(BROKEN).journal.write_bytes(b"no journal\n")
    assert recover(home, publisher) == (OLD,)
    row = publisher.summaries[BROKEN]
    assert (row.state, row.label) == (State.FAILED, "engine_error")
    assert str(home.task(BROKEN).journal) in row.reason


def test_a_task_at_rest_is_taken_from_the_list_unless_its_journal_is_newer(home: Home, publisher: Publisher) -> None:
    for task in (OLD, DONE):
        add(home, task, 1.0, StateChanged(State.REVIEW))
    write_tasks(home, [summarise(load_state(home.task(task))[0]) for task in (OLD, DONE)])
    for task in (OLD, DONE):
        home.task(task).journal.write_bytes(b"looked into\n")
    listed_s = home.tasks_json.stat().st_mtime
    os.utime(home.task(DONE).journal, (listed_s - 60, listed_s - 60))
    assert recover(home, publisher) == ()
    assert publisher.summaries[DONE].state is State.REVIEW
    assert publisher.summaries[OLD].state is State.FAILED


def test_a_damaged_list_and_a_folder_without_a_first_entry_cost_nothing(home: Home, publisher: Publisher) -> None:
    add(home, OLD, 1.0)
    home.task(YOUNG).inbox.mkdir(parents=True)
    (home.tasks / "not-a-task").mkdir()
    home.tasks_json.write_bytes(b'{"tasks": [')
    assert recover(home, publisher) == (OLD,)
    assert set(publisher.summaries) == {OLD}
