from pathlib import Path

import pytest

from cockpit.adapters.git import Git
from cockpit.domain.errors import GitError, NotFoundError, UsageError
from cockpit.workspace.repository import (
    create_task_repository,
    inspect_source,
    read_blob,
    read_blobs,
    record_tree,
    tracked_paths,
)
from tests.gitkit import commit, fingerprint, git, make_repo, make_task


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = make_repo(tmp_path / "source", {"old.txt": "secret of the past\n", "pkg/mod.py": "v = 1\n"})
    (made / "old.txt").unlink()
    return commit(made, {"pkg/mod.py": "v = 2\n"}, "Second thoughts")


def test_the_base_is_where_the_repository_stands(source: Path) -> None:
    base = inspect_source(source)
    assert base.commit == git(source, "rev-parse", "HEAD")
    assert base.tree == git(source, "rev-parse", "HEAD^{tree}")
    assert base.branch == "main"
    assert base.described == f"main at {base.commit[:10]}: Second thoughts"


def test_a_folder_inside_a_repository_stands_for_its_top_level(source: Path) -> None:
    assert inspect_source(source / "pkg").root == source


def test_a_named_base_is_found_by_branch_tag_and_id(source: Path) -> None:
    first = git(source, "rev-parse", "HEAD~1")
    git(source, "branch", "older", first)
    git(source, "tag", "v1", first)
    assert inspect_source(source, "older").branch == "older"
    assert [inspect_source(source, name).commit for name in ("older", "v1", first[:12], "HEAD~1")] == [first] * 4
    assert inspect_source(source, "v1").branch is None


def test_a_detached_head_and_a_linked_worktree_are_fine(source: Path, tmp_path: Path) -> None:
    git(source, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "HEAD~1")
    base = inspect_source(tmp_path / "linked")
    assert base.branch is None
    assert base.commit == git(source, "rev-parse", "HEAD~1")
    make_task(tmp_path, tmp_path / "linked")


def test_a_repository_with_submodules_is_fine(source: Path, tmp_path: Path) -> None:
    git(source, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(source), "sub")
    commit(source, {}, "with a submodule")
    task = make_task(tmp_path, source)
    assert "sub" in tracked_paths(task.repo_git, task.base.tree)
    assert list((task.worktree / "sub").iterdir()) == []


def test_what_is_no_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository") as caught:
        inspect_source(tmp_path)
    assert "give the path of a git repository" in caught.value.hint
    with pytest.raises(NotFoundError, match="is not a folder"):
        inspect_source(tmp_path / "absent")


def test_a_repository_without_commits_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(GitError, match="has no commits yet"):
        inspect_source(tmp_path / "empty")


def test_a_bare_repository_is_refused_unless_it_is_our_mirror(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(source), "bare.git")
    with pytest.raises(GitError, match="bare repository"):
        inspect_source(tmp_path / "bare.git")


def test_a_shallow_clone_is_refused_with_the_way_out(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{source}", "shallow")
    with pytest.raises(GitError, match="shallow clone") as caught:
        inspect_source(tmp_path / "shallow")
    assert "fetch --unshallow" in caught.value.hint


@pytest.mark.parametrize("base", ["absent", "HEAD~9", "HEAD:pkg"])
def test_a_base_that_is_no_commit_is_named(source: Path, base: str) -> None:
    with pytest.raises(GitError, match="has no commit") as caught:
        inspect_source(source, base)
    assert "commit id" in caught.value.hint


@pytest.mark.parametrize("base", ["--output=x", "-x", "", "  "])
def test_a_base_that_looks_like_an_option_is_refused(source: Path, base: str) -> None:
    with pytest.raises(UsageError):
        inspect_source(source, base)


def test_a_work_tree_that_lies_elsewhere_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(source, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(GitError, match=r"core\.worktree"):
        inspect_source(source)


def test_the_inside_of_a_git_folder_is_refused(source: Path) -> None:
    with pytest.raises(GitError):
        inspect_source(source / ".git")


def test_the_task_repository_holds_one_commit_and_nothing_of_the_past(source: Path, tmp_path: Path) -> None:
    base = inspect_source(source)
    repo_git = tmp_path / "repo.git"
    create_task_repository(source, base, repo_git)
    assert git(repo_git, "log", "--all", "--format=%H") == base.commit
    kinds = git(repo_git, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert sorted(kinds) == ["blob", "commit", "tree", "tree"]
    assert git(repo_git, "remote") == ""
    assert not (repo_git / "objects/info/alternates").exists()
    assert "secret" not in git(repo_git, "config", "--list")
    git(repo_git, "fsck", "--strict")


def test_a_long_history_costs_a_task_nothing(source: Path, tmp_path: Path) -> None:
    for number in range(30):
        commit(source, {f"f{number % 3}.txt": f"{number}\n"}, str(number))
    base = inspect_source(source)
    create_task_repository(source, base, tmp_path / "repo.git")
    count = git(tmp_path / "repo.git", "count-objects", "-v")
    assert "in-pack: 7" in count  # one commit, two trees, four files


def test_recorded_rounds_stay_alive_and_out_of_the_log(source: Path, tmp_path: Path) -> None:
    task = make_task(tmp_path, source)
    tree = git(source, "rev-parse", "HEAD~1^{tree}")
    with pytest.raises(GitError):
        record_tree(task.repo_git, "1/1", tree)  # not there yet
    old = git(task.repo_git, "rev-parse", f"{task.base.tree}:pkg")
    assert record_tree(task.repo_git, "attempts/1/rounds/1", old) == "refs/cockpit/attempts/1/rounds/1"
    git(task.repo_git, "gc", "-q", "--prune=now")
    assert tracked_paths(task.repo_git, old) == ("mod.py",)
    for folder in (task.repo_git, task.worktree):
        assert git(folder, "log", "--all", "--format=%H") == task.base.commit


@pytest.mark.parametrize("name", ["", "..", "a..b", "x.lock", "a b"])
def test_a_bad_name_for_a_recorded_tree_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    task = make_task(tmp_path, source)
    with pytest.raises(GitError):
        record_tree(task.repo_git, name, task.base.tree)


def test_making_it_again_keeps_it_and_another_base_is_refused(source: Path, tmp_path: Path) -> None:
    base = inspect_source(source)
    repo_git = tmp_path / "repo.git"
    create_task_repository(source, base, repo_git)
    before = fingerprint(repo_git)
    create_task_repository(source, base, repo_git)
    assert fingerprint(repo_git) == before
    with pytest.raises(GitError, match="instead of the base"):
        create_task_repository(source, inspect_source(source, "HEAD~1"), repo_git)


def test_the_source_is_not_touched_by_preparing_a_task(source: Path, tmp_path: Path) -> None:
    (source / "pkg/mod.py").write_text("half done\n", "utf-8")
    before = fingerprint(source)
    make_task(tmp_path, source)
    assert fingerprint(source) == before


def test_a_repository_with_long_object_names_works(tmp_path: Path) -> None:
    source = make_repo(tmp_path / "source", {"a.txt": "a\n"}, "--object-format=sha256")
    task = make_task(tmp_path, source)
    assert len(task.base.commit) == 64
    assert git(task.worktree, "status", "--porcelain") == ""


def test_the_files_of_a_partial_clone_suffice(source: Path, tmp_path: Path) -> None:
    git(source, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{source}", "partial")
    task = make_task(tmp_path, tmp_path / "partial")
    assert (task.worktree / "pkg/mod.py").read_text("utf-8") == "v = 2\n"


def test_missing_files_of_a_partial_clone_are_named_and_never_fetched(source: Path, tmp_path: Path) -> None:
    git(source, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{source}", "partial")
    base = inspect_source(tmp_path / "partial", "HEAD~1")
    with pytest.raises(GitError):
        create_task_repository(tmp_path / "partial", base, tmp_path / "repo.git")
    assert not (tmp_path / "repo.git").exists()


def test_objects_borrowed_from_another_repository_are_copied(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(source), "borrower")
    task = make_task(tmp_path, tmp_path / "borrower")
    assert not (task.repo_git / "objects/info/alternates").exists()
    git(task.repo_git, "fsck", "--strict")


def test_files_are_read_from_a_tree(source: Path, tmp_path: Path) -> None:
    task = make_task(tmp_path, source)
    assert read_blob(task.repo_git, task.base.tree, "pkg/mod.py") == b"v = 2\n"
    assert read_blob(task.repo_git, task.base.tree, "pkg") is None
    assert read_blob(task.repo_git, task.base.tree, "pkg/*.py") is None


def test_large_files_are_left_out_when_many_are_read(tmp_path: Path) -> None:
    source = make_repo(tmp_path / "source", {"small": "\n\nodd\n", "empty": "", "large": "x" * 100})
    oids = {name: git(source, "rev-parse", f"HEAD:{name}") for name in ("small", "empty", "large")}
    found = read_blobs(Git(source / ".git"), set(oids.values()), limit=50)
    assert found == {oids["small"]: b"\n\nodd\n", oids["empty"]: b""}


def test_two_tasks_on_one_repository_never_see_each_other(source: Path, tmp_path: Path) -> None:
    one, two = make_task(tmp_path, source, "one"), make_task(tmp_path, source, "two")
    commit(one.worktree, {"mine.txt": "one\n"}, "one only")
    own = git(one.worktree, "rev-parse", "HEAD")
    assert git(two.worktree, "log", "--all", "--format=%H") == two.base.commit
    assert not Git(two.repo_git).succeeds("cat-file", "-e", own)
    assert not Git(source / ".git").succeeds("cat-file", "-e", own)
    assert len(git(two.worktree, "worktree", "list").splitlines()) == 2
