from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from cockpit.client.client import Client
from cockpit.client.engine_process import ensure_engine
from cockpit.client.vigil import Vigil
from cockpit.domain.ask import Ask
from cockpit.domain.commands import AddTask, Approve, Kill, Pause, PauseAll
from cockpit.domain.entries import CommandDone, CommandRefused, CommandTaken, PauseChanged, StateChanged, TaskAdded
from cockpit.domain.errors import CockpitError, NotFoundError
from cockpit.domain.states import State
from cockpit.journal.inbox import rung, waiting
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock
from cockpit.journal.log import JournalWriter
from cockpit.journal.summary import write_live
from tests.client.stand_in import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from cockpit.domain.state import TaskState

ASK = Ask(repo="/r", issue="Crash on load")
PATIENCE_S = 120.0


@pytest.fixture
def task(home: Home) -> str:
    add(home, "0123abcd")
    return "0123abcd"


def add(home: Home, task: str) -> None:
    home.task(task).inbox.mkdir(parents=True)
    with JournalWriter(home.task(task).journal) as journal:
        journal.append(TaskAdded(task, ASK), 1.0)


@pytest.mark.parametrize(
    ("prefix", "full"), [("0123abcd", "0123abcd"), ("0123a", "0123abcd"), (" 0124\n", "01240000"), ("FF", "ff000000")]
)
def test_a_unique_prefix_names_a_task(home: Home, client: Client, prefix: str, full: str) -> None:
    for task in ("0123abcd", "01240000", "ff000000"):
        add(home, task)
    (home.tasks / "ff-not-a-task").mkdir()
    assert client.find(prefix) == full


def test_a_prefix_of_several_lists_them(home: Home, client: Client) -> None:
    for task in ("0123abcd", "01240000", "ff000000"):
        add(home, task)
    with pytest.raises(NotFoundError, match="'01' could be 0123abcd, 01240000"):
        client.find("01")
    with pytest.raises(NotFoundError, match="could be 0123abcd, 01240000, ff000000"):
        client.find("")


def test_one_task_is_not_meant_by_no_prefix(client: Client, task: str) -> None:
    with pytest.raises(NotFoundError, match="'' could be 0123abcd"):
        client.find("")


def test_a_prefix_of_none_says_where_to_look(tmp_path: Path) -> None:
    for client in (Client(Home(tmp_path)), Client(Home(tmp_path / "nowhere"))):
        with pytest.raises(NotFoundError, match="no task starts with 'ab'") as caught:
            client.find("ab")
        assert "cockpit tasks" in caught.value.hint


def test_state_and_records_come_from_the_journal(client: Client, task: str) -> None:
    records, offset = client.records(task)
    assert client.state(task).ask == ASK
    assert [type(record.entry) for record in records] == [TaskAdded]
    assert client.records(task, offset) == ([], offset)


def test_a_task_there_is_not_is_not_found(client: Client) -> None:
    for look in (client.state, client.records, client.folder):
        with pytest.raises(NotFoundError, match="there is no task 00000000"):
            look("00000000")
    with pytest.raises(NotFoundError, match="there is no task 00000000"):
        client.send(Kill("1", "00000000"))


def test_without_an_engine_there_is_nothing_to_list(client: Client, home: Home) -> None:
    assert (client.tasks(), client.live()) == ((), {})
    write_live(home, {"gpu": None})
    assert client.live() == {"gpu": None}


def test_a_command_goes_into_the_inbox_it_belongs_to(client: Client, home: Home, task: str) -> None:
    client.send(PauseAll("1"))
    client.send(Pause("2", task))
    assert [command for _, command in waiting(home.inbox)] == [PauseAll("1")]
    assert [command for _, command in waiting(home.task(task).inbox)] == [Pause("2", task)]
    assert rung(home.inbox) == [task]


def test_ids_are_eight_hex_digits_and_fresh(client: Client) -> None:
    ids = {client.new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(len(one) == 8 and int(one, 16) >= 0 for one in ids)


def test_an_engine_answers_yes_and_no(client: Client, home: Home) -> None:
    ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    client.send(AddTask("1", "0123abcd", ASK))
    assert client.wait_for("1", None, PATIENCE_S) == CommandDone("1", "add_task")
    client.send(Pause("2", "0123abcd"))
    assert isinstance(client.wait_for("2", "0123abcd", PATIENCE_S), CommandDone)
    assert client.state("0123abcd").paused
    client.send(Approve("3", "0123abcd"))
    refusal = client.wait_for("3", "0123abcd", PATIENCE_S)
    assert isinstance(refusal, CommandRefused)
    assert refusal.reason == "nothing to approve"
    assert Client(home).wait_for("2", "0123abcd", 0.0) == CommandDone("2", "pause")


def test_a_command_that_was_taken_is_not_yet_done(client: Client, home: Home, task: str) -> None:
    with JournalWriter(home.task(task).journal) as journal:
        journal.append(CommandTaken("1", "kill"), 2.0)
        journal.append(CommandDone("other", "kill"), 2.0)
    with pytest.raises(CockpitError, match="did not answer within") as caught:
        client.wait_for("1", task, 0.1)
    assert "engine.log" in caught.value.hint


def test_waiting_shows_every_state_on_the_way(client: Client, home: Home, task: str) -> None:
    lock = EngineLock(home)
    assert lock.acquire()
    way = [State.PREPARING, State.WORKING, State.WAITING, State.WORKING, State.REVIEW, State.APPROVED]
    seen: list[TaskState] = []

    def look(state: TaskState) -> None:
        if not seen:
            worker.start()
        seen.append(state)

    def work() -> None:
        with JournalWriter(home.task(task).journal) as journal:
            for state in way:
                journal.append(StateChanged(state), 2.0)

    worker = threading.Thread(target=work)
    final = client.wait_state(task, lambda state: state.state is State.REVIEW, look)
    worker.join()
    lock.release()
    assert [state.state for state in seen] == [State.QUEUED, *way[:-1]]
    assert final == seen[-1]


def test_waiting_for_what_is_already_so_needs_no_engine(client: Client, task: str) -> None:
    assert client.wait_state(task, lambda state: state.state is State.QUEUED).task == task


def test_waiting_ends_when_its_time_is_over(client: Client, task: str) -> None:
    with pytest.raises(CockpitError, match="is still queued after"):
        client.wait_state(task, lambda _: False, timeout_s=0.1)


def test_nobody_waits_for_an_engine_that_is_gone(home: Home) -> None:
    lock, vigil = EngineLock(home), Vigil(home, grace_s=0.05)
    assert lock.acquire()
    time.sleep(0.1)
    vigil.check()
    lock.release()
    vigil.check()
    time.sleep(0.1)
    with pytest.raises(CockpitError, match="engine is not running") as caught:
        vigil.check()
    assert "cockpit engine start" in caught.value.hint


def test_several_clients_read_the_same_task(home: Home, task: str) -> None:
    with JournalWriter(home.task(task).journal) as journal:
        journal.append(PauseChanged(paused=True), 2.0)
        assert [Client(home).state(task).paused for _ in range(3)] == [True] * 3
