"""Looking at tasks: the list, one task, its patch, its journal, its stream; foreign text stays harmless."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.cli.table import age, in_order, task_table
from cockpit.domain.ask import Ask
from cockpit.domain.entries import StateChanged, TaskAdded
from cockpit.domain.states import State
from cockpit.domain.summary import TaskSummary
from cockpit.domain.text import cell_width
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock
from tests.cli.conftest import Call
from tests.cli.house_of_tasks import PATCH, home_with_review, reviewed_task, write_task

TASK = "0a1b2c3d"
EVIL = "a\x1b]0;owned\x07 \u202etxt\r\n漢字 title"
MOVES = {"\x1b", "\x07", "\u202e", "\r"}


def row(task: str, state: State, changed_at_s: float = 0.0, **fields: object) -> TaskSummary:
    filled: dict[str, object] = {
        "id": task, "repo": "/r", "issue": "", "title": "A title", "state": state, "paused": False, "reason": "",
        "label": "", "grade": "", "phase": state.value, "attempt": 0, "round": 0, "guards": (), "added_at_s": 0.0,
        "changed_at_s": changed_at_s, "generated_tokens": 0,
    }  # fmt: skip
    return TaskSummary(**(filled | fields))  # type: ignore[arg-type]


def test_tasks_that_wait_for_the_operator_come_first() -> None:
    rows = [
        row("1", State.APPROVED, 9), row("2", State.WORKING, 1), row("3", State.WAITING, 2), row("4", State.FAILED, 10),
        row("5", State.REVIEW, 8), row("6", State.REVIEW, 3), row("7", State.QUEUED, 5),
    ]  # fmt: skip
    assert [task.id for task in in_order(rows)] == ["6", "5", "3", "7", "2", "4", "1"]


@pytest.mark.parametrize("width", [40, 60, 80, 132])
def test_the_table_fits_the_terminal(width: int) -> None:
    rows = [
        row(TASK, State.REVIEW, title=EVIL * 5, grade="no_regression", attempt=2, round=3),
        row("1a1b2c3d", State.WORKING, title="漢" * 90, phase="preparing environment", paused=True),
    ]
    lines = task_table(rows, 90_000.0, width)
    assert max(cell_width(line) for line in lines) <= width
    assert not set("".join(lines)) & MOVES
    assert "review/no_regression" in lines[1]
    assert "(paused)" in lines[2]
    assert ("2.3" in lines[1]) == ("1d" in lines[1]) == (width >= 60)


def test_a_review_without_proof_is_called_unproven() -> None:
    assert "review/unproven" in task_table([row(TASK, State.REVIEW)], 0.0, 80)[1]


@pytest.mark.parametrize(("seconds", "text"), [(-5, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (200_000, "2d")])
def test_ages_are_short(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_the_list_filters_by_state_and_speaks_json(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    write_task(Home(home_root), "ffff0000", [TaskAdded("", Ask(repo="/r", issue="second")), StateChanged(State.FAILED)])
    assert [item["id"] for item in call("tasks", "--json").json] == [TASK, "ffff0000"]
    assert [item["id"] for item in call("tasks", "--state", "failed", "--json").json] == ["ffff0000"]
    assert "second" in call("tasks", "--state", "failed").out
    assert call("tasks", "--state", "killed").out == "no tasks in state killed\n"


@pytest.mark.parametrize("verb", [("tasks",), ("show", "ffff0000")])
def test_a_task_that_cannot_move_because_no_engine_runs_says_so(
    call: Call, home_root: Path, verb: tuple[str, ...]
) -> None:
    home = Home(home_root)
    write_task(home, "ffff0000", [TaskAdded("", Ask(repo="/r", issue="x")), StateChanged(State.WORKING)])
    assert "cockpit engine start" in call(*verb).err
    lock = EngineLock(home)
    assert lock.acquire()
    assert not call(*verb).err
    lock.release()
    write_task(Home(home_root / "rest"), "ffff0000", reviewed_task())
    assert not call("--home", str(home_root / "rest"), *verb).err


def test_show_says_where_it_stands_what_to_do_and_gives_the_receipt(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    shown = call("show", TASK[:3])
    assert shown.code == 0
    for words in ("review", f"cockpit approve {TASK}", "review, proven", "exit 0, 5 passed", "setup 0.0 s"):
        assert words in shown.out


def test_only_the_receipt(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    assert call("show", TASK, "--receipt").out.startswith("receipt ")
    receipt = call("show", TASK, "--receipt", "--json").json
    assert (receipt["state"], receipt["grade"], receipt["rounds"][0]["files"]) == (
        "review", "proven", [["shop/pages.py", 1, 1]],
    )  # fmt: skip
    assert call("show", TASK, "--json").json == receipt


def test_a_diff_is_text_in_json_and_exact_bytes_in_a_pipe(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    assert call("show", TASK, "--diff", "--json").json["diff"] == PATCH.decode()
    piped = subprocess.run([sys.executable, "-m", "cockpit", "show", TASK, "--diff"], capture_output=True)
    assert piped.stdout == PATCH


def test_a_diff_on_a_terminal_is_harmless(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    shown = on_a_terminal([sys.executable, "-m", "cockpit", "show", TASK, "--diff"])
    assert "␛[31m" in shown
    assert "\x1b" not in shown


def on_a_terminal(command: list[str]) -> str:
    """Run a command with a pseudo-terminal as its standard output, and return what it wrote."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, env={**os.environ, "PYTHONUTF8": "1"}) as process:
        os.close(theirs)
        written = b""
        with contextlib.suppress(OSError):  # the kernel's way to say that nobody writes any more
            while chunk := os.read(ours, 4096):
                written += chunk
        os.close(ours)
    assert process.returncode == 0
    return written.decode("utf-8")


def test_a_task_without_a_patch_says_so(call: Call, home_root: Path) -> None:
    write_task(Home(home_root), TASK, [TaskAdded("", Ask(repo="/r", issue="x"))])
    for what in ("--diff", "--stream"):
        ended = call("show", TASK, what)
        assert ended.code == 1
        assert "yet" in ended.err
    assert call("show", TASK).code == 0


def test_the_journal_is_one_fact_a_line(call: Call, home_root: Path) -> None:
    home_with_review(home_root, title=EVIL)
    lines = call("show", TASK, "--journal").out.splitlines()
    assert len(lines) == 13
    assert "task_added" in lines[0]
    assert "guards_judged" in lines[9]
    assert not set("".join(lines)) & MOVES
    records = [json.loads(line) for line in call("show", TASK, "--journal", "--json").out.splitlines()]
    assert [record["seq"] for record in records] == list(range(1, 14))


def test_the_stream_shows_what_the_model_wrote(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    assert call("show", TASK, "--stream").out == "Fixed␇ it.\n\n"
    said = call("show", TASK, "--stream", "--json").json
    assert (said["text"], said["finish"], said["tokens"]) == ("Fixed\x07 it.\n", "stop", 1)


def test_follow_prints_the_text_and_ends_with_the_task(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    followed = call("follow", TASK)
    assert followed.code == 0
    assert "Fixed␇ it." in followed.out
    assert followed.out.rstrip().endswith("review: a failing test flipped")
    pieces = [json.loads(line) for line in call("follow", TASK, "--json").out.splitlines()]
    assert pieces[-1] == {"state": "review", "reason": "a failing test flipped", "label": ""}


def test_no_title_reaches_the_terminal_raw(call: Call, home_root: Path) -> None:
    home_with_review(home_root, title=EVIL)
    for words in (["tasks"], ["show", TASK], ["show", TASK, "--receipt"], ["show", TASK, "--journal"]):
        assert not set(call(*words).out) & MOVES, words


def test_an_ambiguous_prefix_names_the_candidates(call: Call, home_root: Path) -> None:
    for task in ("aa000001", "aa000002"):
        write_task(Home(home_root), task, [TaskAdded("", Ask(repo="/r", issue="x"))])
    ended = call("show", "aa")
    assert ended.code == 2
    assert "aa000001" in ended.err
    assert "aa000002" in ended.err


def test_a_newer_home_is_refused_by_verbs_that_write(call: Call, home_root: Path) -> None:
    home_with_review(home_root)
    (home_root / "format").write_text("99\n", "ascii")
    ended = call("approve", TASK)
    assert ended.code == 2
    assert "newer" in ended.err
