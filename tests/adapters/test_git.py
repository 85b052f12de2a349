from pathlib import Path

import pytest

from cockpit.adapters.git import Git, discover, safe_directories, user_identity
from cockpit.adapters.git_errors import fail
from cockpit.adapters.git_settings import environment
from cockpit.domain.errors import GitError, HoldError, NotFoundError
from tests.gitkit import build_case, git, make_repo, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"a.txt": "a\n", "pkg/b.txt": "b\n"})


def test_git_runs_on_the_folders_named_and_answers_in_bytes(repo: Path) -> None:
    door = Git(repo / ".git")
    assert door.run("cat-file", "blob", "HEAD:a.txt") == b"a\n"
    assert door.text("rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert door.succeeds("cat-file", "-e", "HEAD:a.txt")
    assert not door.succeeds("cat-file", "-e", "HEAD:absent")


def test_an_error_says_what_git_said_and_where(repo: Path) -> None:
    with pytest.raises(GitError, match=r"git cat-file in .*: Not a valid object name absent") as caught:
        Git(repo / ".git").run("cat-file", "-p", "absent")
    assert caught.value.label == "repository_error"


def test_a_folder_that_is_gone_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="cannot be run"):
        Git(tmp_path / "absent").run("rev-parse", "HEAD")


def test_a_full_disk_holds_a_task_instead_of_failing_it(repo: Path) -> None:
    with pytest.raises(HoldError, match="unable to write file") as caught:
        fail(("checkout-index",), b"error: unable to write file a.txt: No space left on device\n", repo)
    assert caught.value.label == "disk_full"


def test_a_lock_left_behind_comes_with_the_way_out(repo: Path) -> None:
    write(repo, {".git/refs/heads/x.lock": ""})
    with pytest.raises(GitError) as caught:
        Git(repo / ".git").run("update-ref", "refs/heads/x", "HEAD")
    assert "remove that file" in caught.value.hint


def test_the_callers_git_variables_do_not_reach_git(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE", "SSH_ASKPASS"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("PATH", f".:bin:{environment()['PATH']}:")
    assert discover(repo).top == repo
    assert "GIT_TRACE" not in environment()
    assert all(part.startswith("/") for part in environment()["PATH"].split(":"))


def test_discovery_tells_what_kind_of_repository_it_is(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    linked, bare = discover(tmp_path / "linked"), discover(tmp_path / "bare.git")
    assert (discover(repo / "pkg").top, discover(repo).git) == (repo, Git(repo / ".git"))
    assert (linked.top, linked.git, linked.is_bare) == (tmp_path / "linked", Git(repo / ".git"), False)
    assert linked.head != linked.git
    assert (bare.top, bare.is_bare, bare.object_format) == (tmp_path / "bare.git", True, "sha1")
    with pytest.raises(NotFoundError):
        discover(repo / "a.txt")


def test_foreign_ownership_is_an_error_and_never_a_clean_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = build_case("git_state", "B12", tmp_path / "case")
    repo = tmp_path / "case" / case["inputs"]["repo"]
    for name, value in case["inputs"]["env"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    state = "clean"
    with pytest.raises(GitError, match="ownership") as caught:
        discover(repo)
    state = "error"
    assert state == case["expected"]["value"]
    assert f"git config --global --add safe.directory {repo}" in caught.value.hint


@pytest.mark.parametrize("entry", ["{repo}", "*"])
def test_a_repository_the_user_trusts_is_trusted(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    write(tmp_path, {"config": f"[safe]\n\tdirectory = {entry.format(repo=repo)}\n"})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert safe_directories() == (entry.format(repo=repo),)
    assert discover(repo).top == repo
    git(repo, "config", "safe.directory", "*")
    write(tmp_path, {"config": ""})
    with pytest.raises(GitError, match="ownership"):
        discover(repo)  # what the repository says of itself does not count


def test_the_users_identity_is_read_as_the_user_has_it(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert user_identity(repo) is None
    write(tmp_path, {"config": "[user]\n\tname = Ann\n"})
    assert user_identity(repo) is None
    git(repo, "config", "user.email", "ann@example.invalid")
    assert user_identity(repo) == ("Ann", "ann@example.invalid")


def test_a_break_on_either_side_of_a_copy_is_an_error(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "other.git")
    source, other = Git(repo / ".git"), Git(tmp_path / "other.git")
    with pytest.raises(GitError, match="pack-objects"):
        source.copy_objects(b"1" * 40 + b"\n", other, "index-pack", "--stdin")
    head = git(repo, "rev-parse", "HEAD").encode() + b"\n"
    with pytest.raises(GitError, match="index-pack"):
        source.copy_objects(head, other, "index-pack", "--stdin", "--no-such-option")
    source.copy_objects(head, other, "index-pack", "--stdin")
    assert other.succeeds("cat-file", "-e", head.decode().strip())
