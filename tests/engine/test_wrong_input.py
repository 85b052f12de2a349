"""Every wrong call or broken surrounding ends in a sentence that says what to do, and leaves nothing half-made."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cockpit.client.engine_process import engine_status, stop_engine
from cockpit.domain.ask import Ask
from cockpit.domain.commands import AddTask, Approve, Kill
from cockpit.domain.entries import CommandDone
from cockpit.domain.states import State
from cockpit.journal.layout import Home
from tests.engine.called import Said, cockpit
from tests.engine.faulty import faulty
from tests.engine.house import House, Recorded, record_answers
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project, whole
from tests.gitkit import fingerprint, git, make_repo

pytestmark = pytest.mark.e2e


def check(said: Said, code: int, *words: str) -> None:
    """One sentence of what happened and one of what to do, no traceback, nothing on standard output."""
    assert said.code == code, said
    assert said.err.startswith("cockpit: "), said.err
    assert "Traceback" not in said.err
    assert len(said.err.strip().splitlines()) >= 2, f"nothing to do next: {said.err}"
    for word in words:
        assert word in said.err


def tasks_of(root: Path) -> list[str]:
    folder = root / "tasks"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def answers(tmp_path: Path) -> str:
    return record_answers(tmp_path / "recorded", [RIGHT_ANSWER])


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A home that does not exist yet; an engine that a call started there is ended."""
    root = tmp_path / "fresh-home"
    yield root
    if root.is_dir() and engine_status(Home(root)).is_running:
        stop_engine(Home(root))


Make = Callable[[Path], object]


def unborn(path: Path) -> None:
    path.mkdir()
    git(path, "init", "-q", "-b", "main")


def bare(path: Path) -> None:
    path.mkdir()
    git(path, "init", "-q", "--bare")


def shallow(path: Path) -> None:
    git(path.parent, "clone", "-q", "--depth", "1", make_project(path.parent / "full").as_uri(), str(path))


REPOSITORIES: dict[str, tuple[Make, int, str]] = {
    "not a repository": (Path.mkdir, 1, "not a git repository"),
    "an unborn branch": (unborn, 1, "no commits yet"),
    "a bare repository": (bare, 1, "bare"),
    "a shallow clone": (shallow, 1, "unshallow"),
    "a path that is not there": (lambda path: None, 2, "not a folder"),
}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_repository_that_cannot_be_used_starts_nothing(name: str, fresh: Path, tmp_path: Path, answers: str) -> None:
    make, code, words = REPOSITORIES[name]
    make(tmp_path / "repo")
    check(cockpit(fresh, "run", tmp_path / "repo", "--text", ISSUE, "--model", answers), code, words)
    assert not fresh.exists()


def test_a_call_that_is_wrong_starts_nothing(fresh: Path, tmp_path: Path, answers: str) -> None:
    repo = make_project(tmp_path / "repo")
    (tmp_path / "latin.md").write_bytes("Größe".encode("latin-1"))
    (tmp_path / "empty.md").write_bytes(b" \n\t\n")
    (tmp_path / "no-recordings").mkdir()
    before = fingerprint(repo)
    run = ("run", repo, "--model", answers)
    check(cockpit(fresh, *run, "--text", "  "), 2, "empty")
    check(cockpit(fresh, *run, "--issue-file", tmp_path / "empty.md"), 2, "empty")
    check(cockpit(fresh, *run, "--issue-file", tmp_path / "latin.md"), 2, "UTF-8", "latin.md")
    check(cockpit(fresh, *run, "--issue-file", tmp_path / "absent.md"), 2, "absent.md")
    check(cockpit(fresh, *run, "-", stdin=b"\xff\xfe"), 2, "UTF-8", "standard input")
    check(cockpit(fresh, *run, "--issue-file", "-", stdin=b" "), 2, "empty")
    check(cockpit(fresh, *run, "--text", ISSUE, "--base", "no-such-branch"), 1, "no-such-branch")
    check(cockpit(fresh, *run, "--text", ISSUE, "--base", "--upload-pack=x"), 2)
    check(
        cockpit(fresh, "run", repo, "--text", ISSUE, "--model", f"replay:{tmp_path / 'no-recordings'}"), 2, "recorded"
    )
    check(cockpit(fresh, *run), 2, "--help")
    check(cockpit(fresh, "show", "deadbeef"), 2, "deadbeef", "cockpit tasks")
    check(cockpit(fresh, "approve", "deadbeef"), 2, "deadbeef")
    check(cockpit(fresh, "follow", "../../etc"), 2)
    assert not fresh.exists()
    assert fingerprint(repo) == before


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path, answers: str) -> None:
    repo = make_project(tmp_path / "repo")
    (tmp_path / "file").write_text("I am no folder", "utf-8")
    run = ("run", repo, "--text", ISSUE, "--model", answers)
    check(cockpit(tmp_path / "file", *run), 1, str(tmp_path / "file"), "COCKPIT_HOME")
    check(cockpit(tmp_path / "file" / "below", *run), 1, "COCKPIT_HOME")
    check(cockpit(tmp_path / "file", "tasks"), 2 if os.getuid() else 1, str(tmp_path / "file"))


def test_a_home_of_a_newer_version_is_left_alone(tmp_path: Path, answers: str) -> None:
    repo, root = make_project(tmp_path / "repo"), tmp_path / "newer"
    root.mkdir(mode=0o700)
    (root / "format").write_text("99\n", "utf-8")
    before = fingerprint(root)
    check(cockpit(root, "run", repo, "--text", ISSUE, "--model", answers), 2, "newer", "format 99")
    check(cockpit(root, "engine", "start"), 2, "newer")
    check(cockpit(root, "tasks"), 2, "newer")
    check(cockpit(root, "show", "deadbeef"), 2, "newer")
    assert fingerprint(root) == before


@pytest.fixture
def running(house: House) -> House:
    house.start()
    return house


def run_here(house: House, repo: Path, *more: str | Path) -> tuple[Said, str]:
    before = set(tasks_of(house.root))
    said = cockpit(house.root, "run", repo, "--text", ISSUE, "--quiet", *more, env=house.env)
    new = sorted(set(tasks_of(house.root)) - before)
    return said, new[0] if new else ""


def test_what_only_the_engine_finds_out_ends_the_task_with_a_sentence(
    running: House, tmp_path: Path, answers: str
) -> None:
    silent = make_repo(tmp_path / "silent", {"shop/__init__.py": "", "shop/cart.py": "x = 1\n"})
    repo = make_project(tmp_path / "repo")
    before = fingerprint(repo)
    for where, more, words in (
        (silent, (), ("no tests found", "--test")),
        (repo, ("--test", "no-such-program --x"), ("no-such-program", "--test")),
        (repo, ("--expect", "tests/test_cart.py::test_absent"), ("test_absent", "tests/test_x.py::test_y")),
    ):
        said, task = run_here(running, where, "--model", answers, *more)
        assert said.code == 1, said
        state = running.state(task)
        assert (state.state, state.label) == (State.FAILED, "env_broken"), state.reason
        for word in words:
            assert word in state.reason
            assert word in said.text
        assert not list(running.home.worktrees.glob(f"{task}-*"))
    assert fingerprint(repo) == before


def test_without_tests_a_patch_is_unproven_and_that_is_said(running: House, tmp_path: Path, answers: str) -> None:
    said, task = run_here(running, make_project(tmp_path / "repo"), "--model", answers, "--test", "none")
    assert said.code == 0, said
    assert (running.state(task).state, running.state(task).grade) == (State.REVIEW, "unproven")
    assert "unproven" in said.text


def test_a_server_that_cannot_work_is_told_before_anything_is_made(fresh: Path, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    run = ("run", repo, "--text", ISSUE)
    check(cockpit(fresh, *run, "--server-url", f"http://127.0.0.1:{port}"), 1, str(port), "server.url")
    with faulty(status=503, error="Loading model") as server:
        check(cockpit(fresh, *run, "--server-url", server.url), 1, "loading", server.url)
    with faulty(status=401, error="Invalid API Key") as server:
        check(cockpit(fresh, *run, "--server-url", server.url), 1, "API key", "COCKPIT_API_KEY")
    check(cockpit(fresh, *run, "--server-url", "http://"), 2, "server.url")
    assert tasks_of(fresh) == []
    assert not engine_status(Home(fresh)).is_running


def test_a_context_that_is_too_small_ends_the_wait_and_the_task_goes_on_with_resume(
    house: House, tmp_path: Path
) -> None:
    repo = make_project(tmp_path / "repo")
    with faulty(context=300, answer=RIGHT_ANSWER) as server:
        house.env["COCKPIT_SERVER_URL"] = server.url
        house.start()
        said, task = run_here(house, repo)
        assert said.code == 1, said
        assert "context" in said.err
        assert "cockpit resume" in said.err
        assert (house.state(task).state, house.state(task).label) == (State.WAITING, "ctx_overflow")
        assert "does not go on by itself" in cockpit(house.root, "show", task).text
        server.set(context=16384)
        assert cockpit(house.root, "resume", task).code == 0
        assert house.wait(task).state is State.REVIEW


def test_a_key_that_is_refused_later_ends_the_wait_too(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    with faulty(refuse_completion=401) as server:
        house.env["COCKPIT_SERVER_URL"] = server.url
        house.start()
        said, task = run_here(house, repo)
        assert said.code == 1, said
        assert "COCKPIT_API_KEY" in said.err
        assert house.state(task).label == "auth_error"
        house.command(Kill("k1", task))


def test_a_replay_without_recordings_ends_the_wait(running: House, tmp_path: Path) -> None:
    (tmp_path / "hollow" / "attempts").mkdir(parents=True)
    said, task = run_here(running, make_project(tmp_path / "repo"), "--model", f"replay:{tmp_path / 'hollow'}")
    assert said.code == 1, said
    assert str(tmp_path / "hollow") in said.err + said.text
    assert running.state(task).state in {State.WAITING, State.FAILED}


def test_a_second_engine_and_a_decision_taken_twice_are_refused(running: House, tmp_path: Path, answers: str) -> None:
    check(cockpit(running.root, "engine", "run"), 1, "already running", "engine stop")
    assert cockpit(running.root, "engine", "start").code == 0, "starting what runs is fine"
    repo = make_project(tmp_path / "repo")
    said, task = run_here(running, repo, "--model", answers)
    assert said.code == 0, said
    assert cockpit(running.root, "approve", task).code == 0
    branch = git(repo, "rev-parse", f"cockpit/{task}")
    check(cockpit(running.root, "approve", task), 1, "approved", "undo")
    check(cockpit(running.root, "discard", task), 1, "approved", "undo")
    check(cockpit(running.root, "kill", task), 1)
    check(cockpit(running.root, "pause", task), 1)
    assert git(repo, "rev-parse", f"cockpit/{task}") == branch
    assert cockpit(running.root, "undo", task).code == 0
    check(cockpit(running.root, "undo", task), 1, "no decision")


def test_an_ambiguous_prefix_names_the_choices(running: House, tmp_path: Path, answers: str) -> None:
    repo = make_project(tmp_path / "repo")
    for task in ("abcd0001", "abcd0002"):
        assert isinstance(
            running.command(AddTask(f"add-{task}", task, Ask(str(repo), ISSUE, model=answers))), CommandDone
        )
    check(cockpit(running.root, "show", "abcd"), 2, "abcd0001", "abcd0002")
    check(cockpit(running.root, "kill", ""), 2)


def test_a_journal_damaged_in_the_middle_costs_one_task_and_nobody_else(
    house: House, tmp_path: Path, answers: str
) -> None:
    repo = make_project(tmp_path / "repo")
    house.start()
    slow = record_answers(tmp_path / "slow", [Recorded(RIGHT_ANSWER, pause_s=0.3)]) + "?speed=1"
    hurt, fine = house.add(repo, ISSUE, slow), house.add(repo, ISSUE, answers)
    house.wait(fine, State.REVIEW)
    house.until(lambda: bool(house.state(hurt).attempts), "the other one works")
    house.kill9()
    journal = house.home.task(hurt).journal
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[1] = b'{"seq": 2, "damaged\n'
    journal.write_bytes(b"".join(lines))
    house.home.task(hurt).snapshot.unlink(missing_ok=True)
    damaged = journal.read_bytes()
    house.start()
    check(cockpit(house.root, "show", hurt), 1, str(journal), "line 2")
    check(cockpit(house.root, "resume", hurt), 1)
    listed = json.loads(cockpit(house.root, "tasks", "--json").text)
    row = next(row for row in listed if row["id"] == hurt)
    assert (row["state"], "line 2" in row["reason"]) == ("failed", True), row
    assert house.command(Approve("a1", fine)).kind == "command_done"
    assert journal.read_bytes() == damaged


def test_garbage_in_an_inbox_is_put_aside(running: House, tmp_path: Path, answers: str) -> None:
    inbox = running.home.inbox
    task = running.add(make_project(tmp_path / "repo"), ISSUE, answers)
    running.wait(task, State.REVIEW)
    (inbox / "0.json").write_bytes(b"\x00garbage")
    (inbox / "1.json").write_text(
        '{"kind": "add_task", "id": "x", "task": "../../x", "ask": {"repo": "/", "issue": "i"}}'
    )
    (inbox / "2.json").write_text('{"kind": "approve", "id": "y", "task": "nothing"}')
    (inbox / "3.json").mkdir()
    (inbox / "not-a-task.ring").touch()
    (inbox / "..ring").touch()
    (inbox / "deadbeef.ring").touch()
    stray = running.home.tasks / "not-a-task" / "inbox"
    stray.mkdir(parents=True, exist_ok=True)
    (stray / "1.json").write_text("{}")
    (running.home.task(task).inbox / "0.json").write_bytes(b"[" * 100_000)
    assert running.command(Approve("ap", task)).kind == "command_done"
    running.until(lambda: not (inbox / "1.json").exists(), "the inbox is read")
    assert (inbox / "0.unreadable").exists()
    assert (running.home.task(task).inbox / "0.unreadable").exists()
    running.stop()
    running.start()
    assert running.state(task).state is State.APPROVED
    (inbox / "3.json").rmdir()
    shutil.rmtree(stray.parent)


def test_a_task_folder_deleted_under_a_running_engine_costs_that_task_only(
    running: House, tmp_path: Path, answers: str
) -> None:
    repo = make_project(tmp_path / "repo")
    slow = record_answers(tmp_path / "slow", [Recorded(RIGHT_ANSWER, pause_s=0.2)]) + "?speed=1"
    gone = running.add(repo, ISSUE, slow)
    running.until(running.home.task(gone).step(1, 1).stream.exists, "it streams")
    while running.home.task(gone).root.exists():  # the engine may write while we delete
        shutil.rmtree(running.home.task(gone).root, ignore_errors=True)
    check(cockpit(running.root, "show", gone), 2, gone)
    check(cockpit(running.root, "kill", gone), 2, gone)
    fine = running.add(repo, ISSUE, answers)
    assert running.wait(fine).state is State.REVIEW
    running.stop()
    running.start()
    assert gone not in {row["id"] for row in json.loads(cockpit(running.root, "tasks", "--json").text)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "cockpit-test", disk]).returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_holds_the_task_and_room_lets_it_go_on(small_disk: Path, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"poem.txt": "roses are red\nviolets are red\n"})
    answer = whole("poem.txt", "roses are red\nviolets are blue\n" + "and so on\n" * 40)
    house = House(small_disk / "home", {"COCKPIT_ENGINE_RETRY_S": "0.2"})
    model = record_answers(tmp_path / "recorded", [Recorded(answer, pause_s=0.1)]) + "?speed=1"
    house.start()
    try:
        task = house.add(repo, "poem.txt says violets are red", model, test="none")
        stream = house.home.task(task).step(1, 1).stream
        house.until(
            lambda: stream.exists() and b"delta" in stream.read_bytes(), "it streams", lambda: house._tell(task)
        )
        fill(small_disk / "filler")
        time.sleep(2)  # what an engine that dies of it would do in that time shows below
        assert house.process is not None
        assert house.process.poll() is None, (house.root / "engine.log").read_text()
        assert house.state(task).state in {State.WORKING, State.WAITING}
        (small_disk / "filler").unlink()
        assert house.wait(task).state is State.REVIEW
        assert "violets are blue" in (house.home.worktree(task, 1) / "poem.txt").read_text("utf-8")
        assert house.command(Approve("a9", task)).kind == "command_done"
    finally:
        house.stop()


def fill(path: Path) -> None:
    with path.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * 65536)
                file.flush()
        except OSError:
            pass


def test_a_call_on_a_full_disk_says_which(small_disk: Path, tmp_path: Path, answers: str) -> None:
    repo = make_project(tmp_path / "repo")
    fill(small_disk / "filler")
    said = cockpit(small_disk / "home", "run", repo, "--text", ISSUE, "--model", answers)
    check(said, 1, str(small_disk))
    assert tasks_of(small_disk / "home") == []
