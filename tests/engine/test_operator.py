"""What the operator asks for happens at once, makes sense, and can be taken back."""

import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.client.engine_process import engine_environment
from cockpit.domain.commands import Approve, Discard, Kill, Pause, Resume, Steer, Undo
from cockpit.domain.entries import CommandDone, CommandRefused
from cockpit.domain.states import State
from cockpit.domain.stream import Cut, answer_of
from cockpit.domain.stream import Resume as Resumed
from cockpit.journal.streamlog import read_stream
from tests.engine.house import House, Recorded, record_answers
from tests.engine.project import CART, FIXED_CART, ISSUE, RIGHT_ANSWER, TESTS, make_project, whole
from tests.gitkit import fingerprint, git

pytestmark = pytest.mark.e2e

SLOW = "?speed=1"


@pytest.fixture
def running(house: House) -> House:
    house.start()
    return house


def in_review(house: House, tmp_path: Path) -> tuple[str, Path]:
    repo = make_project(tmp_path / "repo")
    task = house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    house.wait(task, State.REVIEW)
    return task, repo


def streaming(house: House, tmp_path: Path) -> tuple[str, Path]:
    repo = make_project(tmp_path / "repo")
    model = record_answers(tmp_path / "recorded", [Recorded(RIGHT_ANSWER, pause_s=0.15)]) + SLOW
    task = house.add(repo, ISSUE, model)
    stream = house.home.task(task).step(1, 1).stream
    house.until(lambda: stream.exists() and len(read_stream(stream)[0]) > 4, "some tokens have come")
    return task, stream


def test_a_paused_stream_stands_still_and_goes_on_at_the_same_token(running: House, tmp_path: Path) -> None:
    task, stream = streaming(running, tmp_path)
    assert isinstance(running.command(Pause("p1", task)), CommandDone)
    running.until(lambda: isinstance(read_stream(stream)[0][-1], Cut), "the stream is cut")
    at_pause = read_stream(stream)[0]
    assert running.state(task).paused
    assert isinstance(running.command(Pause("p2", task)), CommandRefused)
    assert isinstance(running.command(Resume("r1", task)), CommandDone)
    assert running.wait(task).state is State.REVIEW
    lines = read_stream(stream)[0]
    assert lines[: len(at_pause)] == at_pause
    resumed = lines[len(at_pause)]
    assert isinstance(resumed, Resumed)
    assert resumed.kept == len(answer_of(at_pause).ids)
    assert answer_of(lines).text == RIGHT_ANSWER


def test_paused_tests_are_frozen_and_thawed(running: House, tmp_path: Path) -> None:
    tests = TESTS + "\n\ndef test_slow():\n    import time\n\n    time.sleep(1.5)\n"
    repo = make_project(tmp_path / "repo", {"tests/test_cart.py": tests})
    task = running.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    running.until(running.home.task(task).round(1, 1).tests_log.exists, "the deciding tests run")
    assert isinstance(running.command(Pause("p1", task)), CommandDone)
    assert running.state(task).state is State.WORKING
    assert isinstance(running.command(Resume("r1", task)), CommandDone)
    assert running.wait(task).grade == "proven"


def test_kill_ends_a_stream_and_keeps_what_there_was(running: House, tmp_path: Path) -> None:
    task, stream = streaming(running, tmp_path)
    done = running.command(Kill("k1", task))
    assert isinstance(done, CommandDone)
    state = running.state(task)
    assert (state.state, state.label) == (State.KILLED, "human_stop")
    assert isinstance(read_stream(stream)[0][-1], Cut)
    assert not running.home.worktree(task, 1).exists()
    assert isinstance(running.command(Resume("r1", task)), CommandRefused)


def test_steering_is_said_at_the_start_of_the_next_round(running: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    slow_noop = Recorded(whole("shop/cart.py", CART), pause_s=0.1)
    model = record_answers(tmp_path / "recorded", [slow_noop, RIGHT_ANSWER]) + SLOW
    task = running.add(repo, ISSUE, model)
    stream = running.home.task(task).step(1, 1).stream
    running.until(lambda: stream.exists() and len(read_stream(stream)[0]) > 2, "some tokens have come")
    done = running.command(Steer("s1", task, "look at the slice in the loop"))
    assert isinstance(done, CommandDone)
    assert running.wait(task).state is State.REVIEW
    prompt = running.home.task(task).step(1, 2).prompt.read_text("utf-8")
    assert "look at the slice in the loop" in prompt


def test_approve_commits_on_a_branch_and_touches_nothing_else(running: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    (repo / "notes.txt").write_text("not committed\n")
    ours = (".git/refs/heads/cockpit", ".git/refs/cockpit", ".git/objects")
    before, status = fingerprint(repo, *ours), git(repo, "status", "--porcelain")
    task = running.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER]))
    running.wait(task, State.REVIEW)
    assert fingerprint(repo, *ours) == before
    done = running.command(Approve("a1", task))
    assert isinstance(done, CommandDone), done
    assert git(repo, "show", f"cockpit/{task}:shop/cart.py") + "\n" == FIXED_CART
    message = git(repo, "log", "-1", "--format=%B", f"cockpit/{task}")
    for trailer in (f"Cockpit-Task: {task}", "Cockpit-Grade: proven", "Cockpit-Model: "):
        assert trailer in message
    assert fingerprint(repo, *ours) == before
    assert git(repo, "status", "--porcelain") == status


def test_a_decision_taken_twice_is_refused_with_a_sentence(running: House, tmp_path: Path) -> None:
    task, _ = in_review(running, tmp_path)
    assert isinstance(running.command(Approve("a1", task)), CommandDone)
    refused = running.command(Approve("a2", task))
    assert isinstance(refused, CommandRefused)
    assert "approved" in refused.reason
    assert refused.hint
    assert isinstance(running.command(Discard("d1", task)), CommandRefused)


@pytest.mark.parametrize("decision", ["approve", "discard"])
def test_a_decision_can_be_undone_after_a_restart(decision: str, running: House, tmp_path: Path) -> None:
    task, repo = in_review(running, tmp_path)
    tree = running.state(task).round.harvest.tree  # type: ignore[union-attr]  # it was harvested
    command = Approve("c1", task) if decision == "approve" else Discard("c1", task)
    assert isinstance(running.command(command), CommandDone)
    assert not running.home.worktree(task, 1).exists()
    running.kill9()
    running.start()
    done = running.command(Undo("u1", task))
    assert isinstance(done, CommandDone), done
    assert running.state(task).state is State.REVIEW
    assert (running.home.worktree(task, 1) / "shop/cart.py").read_text("utf-8") == FIXED_CART
    assert git(repo, "branch", "--list", "cockpit/*") == ""
    assert git(repo, "for-each-ref", "refs/cockpit/discarded") == ""
    again = running.command(Approve("c2", task))
    assert isinstance(again, CommandDone), again
    assert git(repo, "rev-parse", f"cockpit/{task}^{{tree}}") == tree


def test_a_command_delivered_twice_is_carried_out_once(running: House, tmp_path: Path) -> None:
    task, _ = in_review(running, tmp_path)
    assert isinstance(running.command(Discard("d1", task)), CommandDone)
    assert isinstance(running.command(Undo("u1", task)), CommandDone)
    running.client.send(Discard("d1", task))
    running.until(lambda: list(running.home.task(task).inbox.iterdir()) == [], "the inbox is read")
    assert running.state(task).state is State.REVIEW


def test_two_tasks_on_one_repository_never_see_each_other(running: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    other_answer = whole("shop/cart.py", CART.replace("prices[:-1]", "prices[0:]"))
    models = [
        record_answers(tmp_path / name, [Recorded(answer, pause_s=0.1)]) + SLOW
        for name, answer in (("one", RIGHT_ANSWER), ("two", other_answer))
    ]
    tasks = [running.add(repo, ISSUE, model) for model in models]
    worktrees = [running.home.worktree(task, 1) for task in tasks]
    streams = [running.home.task(task).step(1, 1).stream for task in tasks]
    running.until(lambda: all(path.exists() for path in streams), "both models speak at once")
    for worktree in worktrees:
        assert git(worktree, "log", "--all", "--oneline").count("\n") == 0, "one commit"
        assert git(worktree, "worktree", "list").count(str(running.home.worktrees)) == 1
    states = [running.wait(task) for task in tasks]
    assert [state.state for state in states] == [State.REVIEW] * 2
    texts = [(path / "shop/cart.py").read_text("utf-8") for path in worktrees]
    assert "prices:" in texts[0]
    assert "prices[0:]:" in texts[1]
    for worktree in worktrees:
        assert git(worktree, "log", "--all", "--oneline").count("\n") == 0, "still one commit after rounds"


def test_a_second_engine_ends_at_once_with_a_sentence(running: House) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cockpit", "engine", "run"],
        env=engine_environment(running.home), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "already running" in done.stderr
