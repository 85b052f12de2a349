"""An engine that starts trusts the task list only where no journal and no inbox says otherwise."""

import os
import time
from pathlib import Path

import pytest

from cockpit.domain.commands import Discard
from cockpit.domain.entries import StateChanged
from cockpit.domain.states import State
from cockpit.journal.inbox import drop
from cockpit.journal.log import JournalWriter
from tests.engine.house import House, record_answers
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project

pytestmark = pytest.mark.e2e


def listed(house: House, task: str) -> State:
    return next(row.state for row in house.client.tasks() if row.id == task)


def test_a_start_reads_again_what_the_list_may_not_hold(house: House, tmp_path: Path) -> None:
    house.start()
    task = house.add(make_project(tmp_path / "repo"), ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    house.stop()
    journal = house.home.task(task).journal
    with JournalWriter(journal) as writer:
        writer.append(StateChanged(State.FAILED, "written behind the list's back"), time.time())
    house.start()
    house.until(lambda: listed(house, task) is State.FAILED, "the journal newer than the list is read")


def test_a_command_for_a_task_at_rest_is_found_at_the_start(house: House, tmp_path: Path) -> None:
    house.start()
    task = house.add(make_project(tmp_path / "repo"), ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    house.stop()
    folder = house.home.task(task)
    os.utime(folder.journal, (1e9, 1e9))
    drop(folder.inbox, Discard("left-behind", task))
    house.start()
    house.wait(task, State.DISCARDED)
    house.until(lambda: listed(house, task) is State.DISCARDED, "the list follows")
