"""Kill -9 of the engine at any place costs nothing that was journaled, and leaves nobody behind."""

import re
import time
from pathlib import Path

import pytest

from cockpit.domain.commands import Approve
from cockpit.domain.states import State
from cockpit.domain.stream import Cut, Delta, Resume, answer_of
from cockpit.journal.log import read_records
from cockpit.journal.streamlog import read_stream
from tests.engine.house import House, Recorded, record_answers
from tests.engine.project import ISSUE, RIGHT_ANSWER, TESTS, make_project
from tests.gitkit import git

pytestmark = pytest.mark.e2e

SLOW = "?speed=1"
SLOW_TESTS = TESTS + "\n\ndef test_slow():\n    import time\n\n    time.sleep(3)\n"


def own_processes(house: House, task: str = "") -> list[str]:
    """Command lines of the processes that an engine on this home started for a task, inside sandboxes too."""
    mark = f"COCKPIT_RUN=cockpit-engine-{house.root}//{task}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            environ = (folder / "environ").read_bytes() if folder.name.isdigit() else b""
            if mark in environ:
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_a_stream_goes_on_from_its_last_token(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    model = record_answers(tmp_path / "recorded", [Recorded(RIGHT_ANSWER, pause_s=0.15)]) + SLOW
    house.start()
    task = house.add(repo, ISSUE, model)
    stream = house.home.task(task).step(1, 1).stream
    house.until(lambda: stream.exists() and len(read_stream(stream)[0]) > 5, "some tokens have come")
    house.kill9()
    before = answer_of(read_stream(stream)[0])
    journaled, _ = read_records(house.home.task(task).journal)
    house.start()
    state = house.wait(task)
    lines, _ = read_stream(stream)
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    assert answer_of(lines).text == RIGHT_ANSWER
    assert answer_of(lines).text.startswith(before.text)
    crash = next(index for index, line in enumerate(lines) if isinstance(line, Cut))
    assert lines[crash].why == "crash"  # type: ignore[union-attr]  # it is a Cut
    assert isinstance(lines[crash + 1], Resume)
    assert lines[crash + 1].kept == len(before.ids)  # type: ignore[union-attr]  # it is a Resume
    assert sum(len(line.ids) for line in lines if isinstance(line, Delta)) == len(answer_of(lines).ids), "nothing twice"
    assert read_records(house.home.task(task).journal)[0][: len(journaled)] == journaled


def test_tests_are_run_again_and_no_process_is_left(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo", {"tests/test_cart.py": SLOW_TESTS})
    model = record_answers(tmp_path / "recorded", [RIGHT_ANSWER])
    house.start()
    task = house.add(repo, ISSUE, model)
    tests = house.home.task(task).round(1, 1).tests_log
    house.until(lambda: tests.exists() and bool(own_processes(house)), "the deciding tests run")
    house.kill9()
    house.until(lambda: not own_processes(house), "all processes of the tests are gone")
    house.start()
    state = house.wait(task)
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    names = [folder.name for folder in house.home.worktrees.iterdir()]
    assert [name for name in names if not re.fullmatch(r"[0-9a-f]{8}-\d+", name)] == [], "throw-away checkouts are gone"


@pytest.mark.parametrize("delay_s", [0.0, 0.03, 0.06, 0.1, 0.15, 0.25, 0.5])
def test_an_approve_is_done_once_wherever_it_was_cut(delay_s: float, house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    house.start()
    task = house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    client = house.client
    command = Approve(client.new_id(), task)
    client.send(command)
    time.sleep(delay_s)
    house.kill9()
    house.start()
    state = house.wait(task, State.APPROVED)
    house.until(lambda: not house.state(task).pending, "the command is answered")
    assert state.decision is not None
    assert git(repo, "rev-parse", f"cockpit/{task}") == state.decision.commit
    assert git(repo, "rev-list", "--count", f"main..cockpit/{task}") == "1"
    assert not house.home.worktree(task, 1).exists()
    kinds = [record.entry.kind for record in read_records(house.home.task(task).journal)[0]]
    assert kinds.count("decided") == 1
    assert list(house.home.task(task).inbox.iterdir()) == []


def test_a_stopped_engine_leaves_the_task_to_the_next_one(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    model = record_answers(tmp_path / "recorded", [Recorded(RIGHT_ANSWER, pause_s=0.1)]) + SLOW
    house.start()
    task = house.add(repo, ISSUE, model)
    stream = house.home.task(task).step(1, 1).stream
    house.until(lambda: stream.exists() and len(read_stream(stream)[0]) > 3, "some tokens have come")
    house.stop()
    lines, _ = read_stream(stream)
    assert isinstance(lines[-1], Cut)
    house.start()
    assert house.wait(task).state is State.REVIEW


def test_a_snapshot_may_be_deleted_at_any_time(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    house.start()
    task = house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    before = house.wait(task)
    house.stop()
    assert house.home.task(task).snapshot.exists()
    assert house.state(task) == before
    house.home.task(task).snapshot.unlink()
    assert house.state(task) == before
