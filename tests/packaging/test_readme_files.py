"""Every file of a home has an example in the README, and the program's own readers take each of them."""

import json
import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest

from cockpit.domain.commands import AddTask, Command, Undo
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.patchtext import format_patch, parse_patch
from cockpit.domain.state import TaskState
from cockpit.domain.states import State
from cockpit.domain.stream import Open, answer_of
from cockpit.journal.askfile import read_ask
from cockpit.journal.codec import from_json
from cockpit.journal.inbox import waiting
from cockpit.journal.layout import FORMAT, Home, valid_task_id
from cockpit.journal.lock import is_engine_alive, read_engine
from cockpit.journal.log import read_records
from cockpit.journal.snapshot import Snapshot
from cockpit.journal.streamlog import read_stream
from cockpit.journal.summary import read_live, read_tasks
from cockpit.journal.trust import trusts
from cockpit.sources.resolve import resolve
from tests.packaging.readme import TEXT, examples, fenced

TASK = "1208e801"
URL = "https://git.example/acme/parser.git"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home in which every example of the README lies where it belongs."""
    for path, text in examples().items():
        if not path.endswith(("/", ".git")):
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n" if text else "", "utf-8")
    return Home(tmp_path)


def read_format(home: Home) -> None:
    home.create()
    assert home.format_file.read_text() == f"{FORMAT}\n"


def read_lock(home: Home) -> None:
    assert not home.engine_lock.read_bytes()
    assert not is_engine_alive(home)


def read_engine_json(home: Home) -> None:
    record = read_engine(home)
    assert record is not None
    assert record.started_s <= record.heartbeat_s


def read_engine_log(home: Home) -> None:
    assert re.fullmatch(r"engine \d+ is ready on /\S+\n", home.engine_log.read_text())


def read_root_inbox(home: Home) -> None:
    command = only_command(home.inbox)
    assert isinstance(command, AddTask)
    assert valid_task_id(command.task)


def read_root_journal(home: Home) -> None:
    kinds = [record.entry.kind for record in read_records(home.journal)[0]]
    assert kinds == ["engine_started", "command_done", "server_changed", "engine_stopped"]


def read_tasks_json(home: Home) -> None:
    (task,) = read_tasks(home)
    assert task.state is State.REVIEW
    assert task.guards[-1] == ("no-op", "pass")
    kept = {"id", "repo", "issue", "state", "pr_url", "verify_status", "verify_feedback", "rework_attempts"}
    assert kept <= json.loads(home.tasks_json.read_bytes())["tasks"][0].keys()


def read_live_json(home: Home) -> None:
    live = read_live(home)
    assert live["servers"][0]["leases"].keys() == {"1"}
    assert any("stream" in task for task in live["tasks"].values())


def read_task_toml(home: Home) -> None:
    ask = read_ask(home.task(TASK).task_toml)
    assert ask.issue.startswith("The last page")
    assert ask.expect[0] in ask.issue


def read_task_journal(home: Home) -> None:
    records, end = read_records(home.task(TASK).journal)
    assert end == home.task(TASK).journal.stat().st_size
    assert len(records) == 9


def read_snapshot(home: Home) -> None:
    snapshot = from_json(Snapshot, home.task(TASK).snapshot.read_bytes())
    assert isinstance(snapshot.state, TaskState)
    assert snapshot.state.state is State.APPROVED


def read_task_inbox(home: Home) -> None:
    assert only_command(home.task(TASK).inbox) == Undo("402ffde3", TASK)


def read_repo_git(home: Home) -> None:
    assert home.task(TASK).repo_git.name == "repo.git"
    assert len(examples()[f"tasks/{TASK}/repo.git"].splitlines()) == 1, "one commit deep"


def read_prompt(home: Home) -> None:
    text = home.task(TASK).step(1, 1).prompt.read_text()
    assert text.index("--- system ---") < text.index("--- user ---")


def read_stream_jsonl(home: Home) -> None:
    lines, _ = read_stream(home.task(TASK).step(1, 1).stream)
    assert isinstance(lines[0], Open)
    assert answer_of(lines).text.startswith(lines[0].opening)
    assert answer_of(lines).finish == "stop"


def read_answer(home: Home) -> None:
    step = home.task(TASK).step(1, 1)
    assert step.answer.read_text().startswith(answer_of(read_stream(step.stream)[0]).text)


def read_patch(home: Home) -> None:
    raw = home.task(TASK).round(1, 1).patch.read_bytes()
    assert format_patch(parse_patch(raw)) == raw


def read_tests_log(home: Home) -> None:
    assert "2 failed, 16 passed" in home.task(TASK).round(1, 1).tests_log.read_text()


def read_outcomes(home: Home) -> None:
    outcomes = from_json(tuple[Outcome, ...], home.task("6d8fb335").round(1, 1).outcomes.read_bytes())
    assert [outcome.status for outcome in outcomes] == [Status.PASS, Status.BLOCK]


def read_mirror(home: Home) -> None:
    assert URL in TEXT
    assert examples()["mirrors/<name>.git"] == resolve(URL, home.mirrors).path.name


def read_worktrees(home: Home) -> None:
    names = examples()["worktrees/<task>-<attempt>/"].splitlines()
    assert names == [home.worktree(TASK, 1).name, home.worktree("6d8fb335", 2).name]


def read_environments(home: Home) -> None:
    paths = [Path(line) for line in examples()["envs/<hash>/"].splitlines()]
    assert home.root / paths[0].parent == home.envs
    assert re.fullmatch(r"[0-9a-f]{16}", paths[0].name)


def read_trust(home: Home) -> None:
    assert trusts(home, URL)


LISTED: dict[str, Callable[[Home], None]] = {
    "format": read_format,
    "engine.lock": read_lock,
    "engine.json": read_engine_json,
    "engine.log": read_engine_log,
    "inbox/*.json": read_root_inbox,
    "journal.jsonl": read_root_journal,
    "tasks.json": read_tasks_json,
    "live.json": read_live_json,
    "trust.json": read_trust,
    "tasks/*/task.toml": read_task_toml,
    "tasks/*/journal.jsonl": read_task_journal,
    "tasks/*/snapshot.json": read_snapshot,
    "tasks/*/inbox/*.json": read_task_inbox,
    "tasks/*/repo.git": read_repo_git,
    "tasks/*/attempts/*/steps/*/prompt.txt": read_prompt,
    "tasks/*/attempts/*/steps/*/stream.jsonl": read_stream_jsonl,
    "tasks/*/attempts/*/steps/*/answer.txt": read_answer,
    "tasks/*/attempts/*/rounds/*/patch.diff": read_patch,
    "tasks/*/attempts/*/rounds/*/tests.log": read_tests_log,
    "tasks/*/attempts/*/rounds/*/outcomes.json": read_outcomes,
    "mirrors/*.git": read_mirror,
    "worktrees/*/": read_worktrees,
    "envs/*/": read_environments,
}
"""Every file of the layout that holds something in this version, and what reads its example."""


@pytest.mark.parametrize("pattern", LISTED)
def test_every_file_of_a_home_has_an_example_that_its_reader_takes(pattern: str, home: Home) -> None:
    assert [path for path in examples() if fnmatch(path, pattern) and path.count("/") == pattern.count("/")]
    LISTED[pattern](home)


def test_every_example_is_of_a_file_that_is_listed() -> None:
    assert not [path for path in examples() if not any(fnmatch(path, pattern) for pattern in LISTED)]


def test_the_table_names_every_file_of_the_layout() -> None:
    table = TEXT[TEXT.index("## Files on disk") : TEXT.index("<details>")]
    for name in ("server.json", "server.key", "server.log", "knowledge/", *map(table_name, LISTED)):
        assert name in table, name


def test_the_example_of_a_config_file_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cockpit.settings import load_settings

    monkeypatch.delenv("COCKPIT_SERVER_URL", raising=False)
    file = tmp_path / "config.toml"
    file.write_text(fenced("config"))
    assert load_settings(path=file).server.url == "http://127.0.0.1:8080"


def only_command(inbox: Path) -> Command:
    ((path, command),) = waiting(inbox)
    assert isinstance(command, Command)
    assert path.stem.endswith(command.id)
    return command


def table_name(pattern: str) -> str:
    """Return the last part of a pattern that names something: ``inbox/*.json`` is ``inbox/`` in the table."""
    return next(part for part in reversed(re.split(r"(?<=/)|\*", pattern)) if part not in {"", "/", ".json", ".git"})
