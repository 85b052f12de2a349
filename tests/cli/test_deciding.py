"""Commands against a real engine: add, follow the progress, decide, undo; and what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.client.engine_process import stop_engine
from cockpit.journal.layout import Home
from tests.cli.conftest import Call
from tests.engine.house import record_answers
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project, whole
from tests.gitkit import fingerprint, git

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "shop")


@pytest.fixture
def model(tmp_path: Path) -> str:
    return record_answers(tmp_path / "recorded", [RIGHT_ANSWER])


@pytest.fixture
def home(home_root: Path) -> Iterator[Home]:
    """A home whose engine, started by the first verb that needs one, is gone afterwards."""
    made = Home(home_root)
    yield made
    stop_engine(made, 60.0)


def run_task(call: Call, project: Path, model: str, *flags: str) -> str:
    """Run a task to its end and return its id."""
    ended = call("run", str(project), "--text", ISSUE, "--model", model, "--json", "--quiet", *flags)
    assert ended.code == 0, ended.out + ended.err
    task: str = ended.json["task"]
    return task


def test_run_shows_what_happens_and_ends_with_a_receipt(call: Call, home: Home, project: Path, model: str) -> None:
    ended = call("run", str(project), "--text", ISSUE, "--model", model)
    assert ended.code == 0, ended.out + ended.err
    for words in ("preparing", "round 1", "✓ ", "review, proven"):
        assert words in ended.err
    assert ended.out.startswith("receipt ")
    assert "review, proven" in ended.out


def test_run_ends_with_1_when_nothing_awaits_review(call: Call, home: Home, project: Path, tmp_path: Path) -> None:
    same = whole("shop/cart.py", (project / "shop/cart.py").read_text("utf-8"))
    recorded = record_answers(tmp_path / "noop", [same] * 6)
    ended = call("run", str(project), "--text", ISSUE, "--model", recorded, "--json", "--budget-attempts", "1")
    assert ended.code == 1
    assert ended.json["state"] == "failed"
    assert ended.json["label"] == "edit_noop"


def test_add_returns_at_once_and_the_list_knows_the_task(call: Call, home: Home, project: Path, model: str) -> None:
    added = call("add", str(project), "--text", ISSUE, "--model", model)
    assert added.code == 0
    task = added.out.strip()
    assert call("show", task, "--json").json["title"] == ISSUE
    deadline_s = time.monotonic() + 30
    while task not in [row["id"] for row in call("tasks", "--json").json]:
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def test_approve_undo_discard_undo(call: Call, home: Home, project: Path, model: str) -> None:
    before = fingerprint(project, ".git/objects", ".git/refs/heads/cockpit", ".git/refs/cockpit")
    task = run_task(call, project, model)
    approved = call("approve", task)
    assert (approved.code, f"cockpit/{task}" in approved.out) == (0, True)
    assert "prices[:-1]" not in git(project, "show", f"cockpit/{task}:shop/cart.py")
    assert "approve refused" in call("approve", task).err
    undone = call("undo", task, "--json")
    assert (undone.code, undone.json["verb"]) == (0, "undo")
    assert git(project, "branch", "--list", "cockpit/*") == ""
    assert call("discard", task).code == 0
    assert call("undo", task).code == 0
    assert call("show", task, "--json").json["state"] == "review"
    assert fingerprint(project, ".git/objects", ".git/refs/heads/cockpit", ".git/refs/cockpit") == before


def test_what_makes_no_sense_is_refused_with_a_reason_and_a_hint(
    call: Call, home: Home, project: Path, model: str
) -> None:
    task = run_task(call, project, model)
    for words in (["pause", task], ["resume", task], ["kill", task], ["steer", task, "look"], ["undo", task]):
        refused = call(*words)
        assert refused.code == 1, words
        assert f"{words[0]} refused: " in refused.err
        assert len(refused.err.splitlines()) == 2
        assert call(*words, "--json").json["error"]


def test_pausing_and_resuming_all(call: Call, home: Home) -> None:
    assert call("pause", "--all").code == 0
    assert call("resume", "--all", "--json").json["verb"] == "resume"


def test_the_engine_starts_once_and_stops(call: Call, home: Home) -> None:
    assert call("engine", "status").code == 1
    assert call("engine", "start").code == 0
    first = call("engine", "status", "--json").json
    assert (first["running"], first["fresh"]) == (True, True)
    assert call("engine", "start", "--json").json["pid"] == first["pid"]
    second = call("engine", "run")
    assert (second.code, "already" in second.err) == (1, True)
    assert call("add", "/", "--text", "x", "--server-url", "http://127.0.0.1:9").code != 0
    assert call("engine", "stop").out.startswith("the engine has stopped")
    assert call("engine", "stop", "--json").json == {"running": False, "was_running": False}


def test_an_interrupted_run_leaves_the_task_going(home: Home, project: Path, model: str, home_root: Path) -> None:
    slow = ["--test", f"{sys.executable} -c 'import time; time.sleep(30)'"]
    command = [sys.executable, "-m", "cockpit", "run", str(project), "--text", ISSUE, "--model", model, *slow]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        task = first.split()[1].rstrip(":")
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert f"cockpit follow {task}" in rest
    said = subprocess.run([sys.executable, "-m", "cockpit", "kill", task, "--json"], capture_output=True, text=True)
    assert json.loads(said.stdout)["verb"] == "kill", said.stderr
