import re
from pathlib import Path

import pytest

from cockpit.domain.errors import GitError, NotFoundError, UsageError
from cockpit.sources.resolve import Source, ensure_mirror, resolve
from cockpit.workspace.decisions import approve
from cockpit.workspace.repository import inspect_source
from tests.gitkit import commit, fingerprint, git, make_repo, make_task

URLS = [
    "https://example.invalid/owner/repo.git",
    "https://example.invalid/owner/repo",
    "http://example.invalid/owner/repo",
    "https://other.invalid/owner/repo",
    "https://example.invalid:8443/owner/repo",
    "https://user@example.invalid/owner/repo",
    "ssh://git@example.invalid/owner/repo.git",
    "ssh://git@example.invalid:2222/owner/repo.git",
    "git@example.invalid:owner/repo.git",
    "git@example.invalid:~owner/repo.git",
    "file:///srv/owner/repo.git",
    "https://example.invalid/owner-repo",
    "https://example.invalid/Owner/Repo",
    "https://example.invalid/ówner/repö",
]


@pytest.mark.parametrize("url", URLS)
def test_urls_are_taken_as_they_are_with_a_safe_name(url: str, tmp_path: Path) -> None:
    found = resolve(url, tmp_path)
    assert (found.kind, found.url) == ("url", url)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,100}", found.name)
    assert found.path == tmp_path / f"{found.name}.git"
    assert resolve(url, tmp_path) == found


def test_different_urls_have_different_names_whatever_the_case_of_the_file_system(tmp_path: Path) -> None:
    assert len({resolve(url, tmp_path).name.lower() for url in URLS}) == len(URLS)
    assert resolve(URLS[0], tmp_path).name.startswith("owner-repo-")


@pytest.mark.parametrize(
    "argument",
    [
        "ext::sh -c touch% /tmp/x", "fd::3", "testsvn::x", "https::x", "--upload-pack=touch /tmp/x", "-u", "", "  ",
        "ssh://-oProxyCommand=x/owner/repo", "git@-oProxyCommand=x:owner/repo", "git@host:-x", "git@host::x",
        "git://example.invalid/x", "ftp://example.invalid/x", "rsync://x/y", "https:///x", "https://example.invalid",
        "https://example.invalid/", "https://user:secret@example.invalid/x", "a\nb", "x\0y", "file://",
    ],
)  # fmt: skip
def test_what_could_start_a_program_or_ask_a_secret_is_refused(argument: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(argument, tmp_path)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_path_is_the_users_own_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my repo").mkdir()
    monkeypatch.chdir(tmp_path)
    found = resolve("my repo", tmp_path / "mirrors")
    assert (found.kind, found.url, found.path) == ("path", None, tmp_path / "my repo")
    assert found.name.startswith("my-repo-")
    assert resolve(f"{tmp_path}/my repo/", tmp_path).name == found.name
    ensure_mirror(found)
    assert not (tmp_path / "mirrors").exists()


def test_an_absent_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="absent is not a folder"):
        resolve(str(tmp_path / "absent"), tmp_path)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    made = make_repo(tmp_path / "origin", {"a.txt": "a\n"})
    git(made, "branch", "old")
    git(made, "tag", "v1")
    return commit(made, {"a.txt": "b\n"}, "second")


@pytest.fixture
def mirror(origin: Path, tmp_path: Path) -> Source:
    return resolve(f"file://{origin}", tmp_path / "mirrors")


def test_a_mirror_is_fetched_and_starts_where_the_origin_stands(origin: Path, mirror: Source, tmp_path: Path) -> None:
    said: list[str] = []
    ensure_mirror(mirror, said.append)
    base = inspect_source(mirror.path, is_mirror=True)
    assert (base.commit, base.branch) == (git(origin, "rev-parse", "HEAD"), "main")
    assert base.root == mirror.path
    assert inspect_source(mirror.path, "old", is_mirror=True).branch == "old"
    assert inspect_source(mirror.path, "v1", is_mirror=True).commit == git(origin, "rev-parse", "v1")
    assert any("100%" in line for line in said)
    assert not (mirror.path / "FETCH_HEAD").exists()
    assert git(mirror.path, "remote") == ""


def test_fetching_again_follows_the_origin_and_keeps_what_was_decided(
    origin: Path, mirror: Source, tmp_path: Path
) -> None:
    ensure_mirror(mirror)
    base = inspect_source(mirror.path, is_mirror=True)
    task = make_task(tmp_path, origin)
    tree = git(origin, "rev-parse", "v1^{tree}")
    git(task.repo_git, "fetch", "-q", str(origin), "v1")
    done = approve(mirror.path, task.repo_git, base=base, tree=tree, branch="cockpit/t", message="x\n", when_s=1)
    git(origin, "branch", "-D", "old")
    git(origin, "branch", "old/new")
    git(origin, "switch", "-q", "-c", "trunk")
    commit(origin, {"a.txt": "c\n"}, "third")
    git(origin, "commit", "-q", "--amend", "-m", "rewritten")
    ensure_mirror(mirror)
    found = inspect_source(mirror.path, is_mirror=True)
    assert (found.commit, found.branch) == (git(origin, "rev-parse", "trunk"), "trunk")
    assert git(mirror.path, "rev-parse", done.ref) == done.commit
    with pytest.raises(GitError, match="no commit 'old'"):
        inspect_source(mirror.path, "old", is_mirror=True)


def test_a_branch_of_ours_is_no_start_unless_it_is_named(origin: Path, mirror: Source) -> None:
    ensure_mirror(mirror)
    git(mirror.path, "branch", "main", "refs/remotes/origin/old")
    assert inspect_source(mirror.path, "main", is_mirror=True).commit == git(origin, "rev-parse", "main")


def test_an_origin_with_a_detached_head_is_fine(origin: Path, mirror: Source) -> None:
    git(origin, "checkout", "-q", "--detach", "v1")
    ensure_mirror(mirror)
    assert inspect_source(mirror.path, is_mirror=True).commit == git(origin, "rev-parse", "v1")


def test_an_empty_origin_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(GitError, match="has no commits yet"):
        ensure_mirror(resolve(f"file://{tmp_path}/empty", tmp_path / "mirrors"))


def test_an_origin_that_is_not_there_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        ensure_mirror(resolve(f"file://{tmp_path}/absent", tmp_path / "mirrors"))
    assert caught.value.hint


def test_a_half_made_mirror_is_made_again(mirror: Source) -> None:
    part = mirror.path.with_name(mirror.path.name + ".part")
    part.mkdir(parents=True)
    (part / "HEAD").write_text("half", "utf-8")
    ensure_mirror(mirror)
    assert inspect_source(mirror.path, is_mirror=True).branch == "main"
    assert not part.exists()


def test_the_origin_and_its_hostile_settings_are_left_alone(origin: Path, mirror: Source, tmp_path: Path) -> None:
    program, mark = tmp_path / "evil", tmp_path / "mark"
    program.write_text(f"#!/bin/sh\necho x > {mark}\n", "utf-8")
    program.chmod(0o755)
    for key in ("uploadpack.packObjectsHook", "core.fsmonitor", "core.alternateRefsCommand", "core.hooksPath"):
        git(origin, "config", key, str(program))
    before = fingerprint(origin)
    ensure_mirror(mirror)
    assert fingerprint(origin) == before
    assert not mark.exists()


def test_an_origin_of_another_owner_needs_the_users_trust(
    origin: Path, mirror: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("", "utf-8")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(GitError, match="ownership") as caught:
        ensure_mirror(mirror)
    assert "safe.directory" in caught.value.hint
    config.write_text(f'[safe]\n\tdirectory = "{origin}/.git"\n\tdirectory = {origin}\n', "utf-8")
    ensure_mirror(mirror)
