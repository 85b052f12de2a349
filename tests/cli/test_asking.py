"""Adding tasks: everything is checked before anything is made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.cli import asking
from cockpit.cli.parser import parse
from cockpit.client.client import Client
from cockpit.domain.errors import CockpitError
from cockpit.journal.layout import Home
from cockpit.journal.trust import remember_trust
from tests.cli.conftest import Call
from tests.gitkit import commit, git, make_repo

URL = "https://example.com/someone/else.git"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})


def test_everything_said_is_in_what_is_asked(repo: Path, home_root: Path) -> None:
    made = asking.ask_of(
        parse([
            "add", str(repo), "--text", "Fix it", "--title", " A title ", "--test", "make test", "--setup", "make deps",
            "--base", "main", "--model", "small", "--expect", "t::a", "--expect", "t::b", "--budget-rounds", "2",
            "--budget-minutes", "1.5", "--budget-tokens", "900", "--budget-attempts", "1",
        ]),
        Client(Home(home_root)),
    )  # fmt: skip
    assert (made.repo, made.issue, made.title, made.base) == (str(repo), "Fix it", "A title", "main")
    assert (made.test, made.setup, made.model) == ("make test", "make deps", "small")
    assert made.expect == ("t::a", "t::b")
    budget = made.budget
    assert (budget.rounds, budget.attempts, budget.minutes, budget.tokens) == (2, 1, 1.5, 900)


def test_a_relative_path_becomes_absolute(repo: Path, home_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.parent)
    assert asking.ask_of(parse(["add", "repo", "--text", "x"]), Client(Home(home_root))).repo == str(repo)


def test_an_issue_comes_from_a_file_or_from_standard_input(
    repo: Path, home_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = tmp_path / "issue.md"
    issue.write_text("Größe is wrong\n", "utf-8")
    client = Client(Home(home_root))
    assert asking.ask_of(parse(["add", str(repo), "--issue-file", str(issue)]), client).issue == "Größe is wrong\n"
    with issue.open("r", encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert asking.ask_of(parse(["add", str(repo), "-"]), client).issue == "Größe is wrong\n"


Make = Callable[[Path], object]


def git_init(folder: Path, *options: str) -> None:
    folder.mkdir()
    git(folder, "init", "-q", *options)


def clone_shallow(folder: Path) -> None:
    full = make_repo(folder.parent / "full", {"a": "1"})
    commit(full, {"a": "2"}, "second")
    git(folder.parent, "clone", "-q", "--depth", "1", full.as_uri(), str(folder))


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda folder: folder.mkdir(), 1, "not a git repository"),
        (git_init, 1, "no commits yet"),
        (lambda folder: git_init(folder, "--bare"), 1, "bare"),
        (clone_shallow, 1, "shallow"),
        (lambda folder: folder.write_text("a file", "utf-8"), 2, "not a folder"),
        (lambda folder: None, 2, "not a folder"),
    ],
    ids=["not a repository", "unborn branch", "bare", "shallow", "a file", "nothing there"],
)
def test_a_repository_that_cannot_be_used_is_a_sentence(
    make: Make, code: int, words: str, call: Call, tmp_path: Path, home_root: Path
) -> None:
    folder = tmp_path / "source"
    make(folder)
    for verb in ("add", "run"):
        ended = call(verb, str(folder), "--text", "x", "--model", "small")
        assert ended.code == code
        assert words in ended.err
        assert len(ended.err.splitlines()) >= 2  # what happened, and what to do
    assert not home_root.exists()


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"\xff\xfe", b"x" * 300_000], ids=["empty", "blank", "binary", "huge"]
)
def test_an_issue_that_cannot_be_read_is_a_sentence(
    content: bytes, call: Call, repo: Path, tmp_path: Path, home_root: Path
) -> None:
    issue = tmp_path / "issue.md"
    issue.write_bytes(content)
    ended = call("add", str(repo), "--issue-file", str(issue))
    assert ended.code == 2
    assert str(issue) in ended.err
    assert not home_root.exists()


def test_a_repository_from_elsewhere_needs_a_consent_that_is_remembered(call: Call, home_root: Path) -> None:
    refused = call("add", URL, "--text", "x")
    assert refused.code == 2
    assert "--trust" in refused.err
    assert "as you" in refused.err
    assert not home_root.exists()
    home = Home(home_root)
    home.create()
    remember_trust(home, URL, 1.0)
    trusted = asking.ask_of(parse(["add", URL, "--text", "x"]), Client(home))
    assert (trusted.repo, trusted.trust) == (URL, False)
    assert asking.ask_of(parse(["add", "ssh://git@example.com/a/b", "--text", "x", "--trust"]), Client(home)).trust


def test_a_base_that_does_not_exist_is_refused(call: Call, repo: Path) -> None:
    ended = call("add", str(repo), "--text", "x", "--base", "nope")
    assert ended.code == 1
    assert "nope" in ended.err


def test_a_replay_needs_a_recorded_task(call: Call, repo: Path, tmp_path: Path, home_root: Path) -> None:
    ended = call("add", str(repo), "--text", "x", "--model", f"replay:{tmp_path}/none")
    assert ended.code == 2
    assert "no recorded task" in ended.err
    (tmp_path / "task" / "attempts").mkdir(parents=True)
    made = asking.ask_of(
        parse(["add", str(repo), "--text", "x", "--model", f"replay:{tmp_path}/task"]), Client(Home(home_root))
    )
    assert made.model == f"replay:{tmp_path}/task"


def test_without_any_server_nothing_is_made(
    call: Call, repo: Path, home_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cockpit.cli.serving.missing_extras", lambda: ("the extra 'local'",))
    for words in (["add", str(repo), "--text", "x"], ["demo", "--headless"], ["server", "start"]):
        ended = call(*words)
        assert ended.code == 1
        assert "pip install" in ended.err
        assert "server.url" in ended.err
    assert not home_root.exists()


def test_wrong_settings_are_named(call: Call, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_BUDGET_ROUNDS", "many")
    ended = call("add", str(repo), "--text", "x")
    assert ended.code == 2
    assert "budget.rounds" in ended.err


def test_a_refused_task_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CockpitError):
        asking.ask_of(parse(["add", str(tmp_path), "--text", "x"]), Client(Home(tmp_path / "home")))
