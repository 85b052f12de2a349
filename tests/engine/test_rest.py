"""A task at rest costs the engine nothing, and is taken up again when somebody asks."""

from pathlib import Path

import pytest

from cockpit.domain.commands import Approve
from cockpit.domain.errors import JournalError
from cockpit.domain.states import State
from tests.engine.house import House, record_answers
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project

pytestmark = pytest.mark.e2e


def open_files(pid: int) -> set[Path]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(link.readlink())
        except OSError:  # closed meanwhile
            continue
    return found


def listed(house: House) -> set[str]:
    try:
        return {row.id for row in house.client.tasks()}
    except JournalError:
        return set()


def test_a_task_at_rest_is_let_go_and_can_still_be_approved(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    pid = house.start()
    task = house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    journal = house.home.task(task).journal
    house.until(lambda: journal not in open_files(pid), "the engine closes the journal of a task at rest")
    house.command(Approve(house.client.new_id(), task))
    assert house.state(task).state is State.APPROVED


def test_a_damaged_task_list_is_made_anew_from_the_journals(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    house.start()
    task = house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    house.stop()
    house.home.tasks_json.write_bytes(b'{"tasks": [')
    house.start()
    house.until(lambda: task in listed(house), "the list is there again")
