"""Calls: every verb has help, wrong calls end with 2 and a sentence, --json always gives JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.cli import main as main_module
from cockpit.cli.parser import build_parser, parse
from cockpit.domain.errors import CockpitError, UsageError
from tests.cli.conftest import Call

VERBS = (
    "add", "run", "tasks", "show", "follow", "pause", "resume", "kill", "steer", "approve", "discard", "undo",
    "engine run", "engine start", "engine stop", "engine status", "server start", "server stop", "server status",
    "server run", "try-answer", "doctor", "demo",
)  # fmt: skip
LEAST = {
    "add": ["repo", "--text", "x"], "run": ["repo", "--text", "x"], "show": ["ab"], "follow": ["ab"],
    "pause": ["ab"], "resume": ["ab"], "kill": ["ab"], "steer": ["ab", "look there"], "approve": ["ab"],
    "discard": ["ab"], "undo": ["ab"], "try-answer": ["repo", "--answer", "f"],
}  # fmt: skip
WRONG: tuple[list[str], ...] = (
    [], ["fly"], ["add"], ["add", "repo"], ["add", "repo", "--text"], ["add", "repo", "--text", "a", "-"],
    ["add", "repo", "--text", "a", "--budget-rounds", "0"], ["add", "repo", "--text", "a", "--budget-minutes", "inf"],
    ["add", "repo", "--text", "a", "--budget-tokens", "many"], ["tasks", "--state", "sleepy"], ["show"],
    ["show", "ab", "--diff", "--stream"], ["engine"], ["server", "fly"], ["pause"], ["resume", "ab", "--all"],
    ["steer", "ab"], ["steer", "ab", " "], ["try-answer", "repo"],
    ["try-answer", "r", "--answer", "f", "--format", "diff"],
    ["tasks", "--jso"], ["show", "nope"], ["kill", "nope"], ["approve", ""], ["follow", "0a1b2c3d"],
)  # fmt: skip
"""Calls that are wrong in a home without tasks."""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_names_json(verb: str, call: Call) -> None:
    shown = call(*verb.split(), "--help")
    assert shown.code == 0
    assert "--json" in shown.out
    assert verb in shown.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_json_before_and_after_its_name(verb: str) -> None:
    words = [*verb.split(), *LEAST.get(verb, [])]
    assert parse([*words, "--json"]).json is True
    assert parse(["--json", *words]).json is True
    assert parse(words).json is False


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_function(verb: str) -> None:
    module, _, name = parse([*verb.split(), *LEAST.get(verb, [])]).target.partition(":")
    found = __import__(f"cockpit.cli.{module}", fromlist=[name])
    assert callable(getattr(found, name))


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_call_ends_with_2_says_what_is_wrong_and_makes_nothing(
    words: list[str], call: Call, home_root: Path
) -> None:
    ended = call(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("cockpit: ")
    assert len(ended.err.splitlines()) >= 2  # a message, and what to do
    assert not home_root.exists()


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_errors_are_json_too(words: list[str], call: Call) -> None:
    ended = call(*words, "--json")
    assert ended.code == 2
    assert ended.err == ""
    assert ended.json["error"]
    assert ended.json["hint"]


def test_the_version_is_printed(call: Call) -> None:
    assert call("--version").out.startswith("cockpit 0.")


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_it(_: object) -> int:
        raise error

    monkeypatch.setattr(main_module, "_run", raise_it)


def test_a_failure_ends_with_its_own_exit_code(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(CockpitError("the disk is\x1b[2J full", hint="make room"), monkeypatch)
    ended = call("tasks")
    assert ended.code == 1
    assert ended.err == "cockpit: the disk is␛[2J full\n  make room\n"
    fail_with(UsageError("wrong"), monkeypatch)
    assert call("tasks").code == 2


def test_an_interrupt_ends_with_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(KeyboardInterrupt(), monkeypatch)
    assert call("tasks").code == 130


def test_a_mistake_of_ours_is_a_sentence_with_a_traceback_on_file(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ZeroDivisionError("division by zero"), monkeypatch)
    ended = call("tasks", "--json")
    assert ended.code == 1
    assert ended.json["error"] == "unexpected ZeroDivisionError: division by zero"
    path = Path(ended.json["hint"].rsplit(" ", 1)[-1])
    try:
        assert "raise_it" in path.read_text("utf-8")
    finally:
        path.unlink()


def test_debug_shows_the_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ZeroDivisionError("division by zero"), monkeypatch)
    ended = call("tasks", "--debug")
    Path(ended.err.strip().rsplit(" ", 1)[-1]).unlink()
    assert "Traceback" in ended.err


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    env = {**os.environ, "COCKPIT_HOME": str(tmp_path)}
    with os.fdopen(write, "wb") as pipe:
        command = [sys.executable, "-m", "cockpit", "tasks"]
        done = subprocess.run(command, env=env, stdout=pipe, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_of_the_whole_lists_every_verb() -> None:
    text = build_parser().format_help()
    assert all(f"  {verb.split()[0]} " in text for verb in VERBS)


HEAVY = ("httpx", "pydantic", "pygit2", "tree_sitter", "psutil", "asyncio", "xllamacpp", "textual", "rich")


@pytest.mark.parametrize("words", [["--help"], ["tasks"], ["tasks", "--json"], ["engine", "status"]], ids=" ".join)
def test_light_verbs_import_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    program = (
        "import sys, json\nfrom cockpit.cli.main import main\n"
        "try:\n    main(json.loads(sys.argv[1]))\nexcept SystemExit:\n    pass\n"
        f"sys.stderr.write(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    env = {**os.environ, "COCKPIT_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program, json.dumps(words)], env=env, capture_output=True, text=True)
    assert json.loads(done.stderr) == []
    assert done.stdout
