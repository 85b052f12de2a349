import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.domain.errors import GitError, UsageError
from cockpit.workspace.decisions import (
    FALLBACK_IDENTITY,
    Approval,
    Kept,
    approve,
    commit_message,
    discard,
    undo_approve,
    undo_discard,
)
from cockpit.workspace.harvest import harvest
from cockpit.workspace.repository import create_task_repository, inspect_source
from tests.gitkit import Task, build_case, commit, fingerprint, git, make_repo, make_task, write

WHEN_S = 1_700_000_000
WHO = ("Olga", "olga@example.invalid")
OURS = (".git/objects", ".git/refs/heads/cockpit", ".git/refs/cockpit")
BRANCH = "cockpit/t1"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    source = make_repo(tmp_path / "source", {"a.txt": "a\n", "pkg/mod.py": "v = 1\n"})
    git(source, "branch", "other")
    git(source, "config", "core.logAllRefUpdates", "always")
    write(source, {"dirty.txt": "half done\n", "staged.txt": "staged\n", ".git/FETCH_HEAD": "old\n"})
    git(source, "add", "staged.txt")
    return make_task(tmp_path, source)


@pytest.fixture
def tree(task: Task, tmp_path: Path) -> str:
    write(task.worktree, {"pkg/mod.py": "v = 2\n", "pkg/new/x.py": "x\n"})
    return harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch").tree


def yes(task: Task, tree: str, branch: str = BRANCH, message: str = "Fix it\n") -> Approval:
    return approve(
        task.source,
        task.repo_git,
        base=task.base,
        tree=tree,
        branch=branch,
        message=message,
        when_s=WHEN_S,
        identity=WHO,
    )


def no(task: Task, tree: str) -> Kept | None:
    return discard(
        task.source, task.repo_git, base=task.base, tree=tree, task="t1", message="No\n", when_s=WHEN_S, identity=WHO
    )


def test_approving_makes_one_commit_on_top_of_the_base(task: Task, tree: str) -> None:
    done = yes(task, tree)
    assert done.ref == "refs/heads/cockpit/t1"
    assert git(task.source, "rev-parse", f"{BRANCH}^{{tree}}", f"{BRANCH}^", BRANCH).split() == [
        tree,
        task.base.commit,
        done.commit,
    ]
    shown = git(task.source, "log", "-1", "--format=%an %ae %at %cn %ct %B", BRANCH)
    assert shown == f"Olga olga@example.invalid {WHEN_S} Olga {WHEN_S} Fix it\n"
    git(task.source, "fsck", "--strict")


def test_nothing_but_objects_and_our_references_changes_in_the_source(task: Task, tree: str) -> None:
    before = fingerprint(task.source, *OURS)
    done = yes(task, tree)
    no(task, tree)
    undo_approve(task.source, BRANCH, done.commit, task="t1")
    undo_discard(task.source, "t1", done.commit)
    assert fingerprint(task.source, *OURS) == before


def test_approving_again_is_the_same_commit(task: Task, tree: str) -> None:
    first = yes(task, tree)
    before = fingerprint(task.source)
    assert yes(task, tree) == first
    assert fingerprint(task.source).keys() == before.keys()


def test_the_branch_may_be_approved_after_the_base_moved_on(task: Task, tree: str) -> None:
    commit(task.source, {"later.txt": "x\n"}, "later")
    yes(task, tree)
    assert git(task.source, "rev-parse", f"{BRANCH}^") == task.base.commit
    git(task.source, "merge", "-q", BRANCH)


def test_a_branch_that_holds_something_else_is_refused(task: Task, tree: str) -> None:
    git(task.source, "branch", BRANCH, "main")
    before = fingerprint(task.source, ".git/objects")
    with pytest.raises(GitError, match="holds something else") as caught:
        yes(task, tree)
    assert "git branch -m" in caught.value.hint
    assert fingerprint(task.source, ".git/objects") == before


def test_a_branch_in_the_way_of_the_name_is_an_error_and_changes_nothing(task: Task, tree: str) -> None:
    git(task.source, "branch", "cockpit")
    before = fingerprint(task.source, ".git/objects")
    with pytest.raises(GitError):
        yes(task, tree)
    assert fingerprint(task.source, ".git/objects") == before


def test_an_unborn_branch_the_user_stands_on_is_not_born_by_us(task: Task, tree: str) -> None:
    git(task.source, "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    with pytest.raises(GitError, match="checked out"):
        yes(task, tree)


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "x.lock", "a b", "HEAD", "../main", "x\ny"])
def test_a_bad_branch_name_is_refused(task: Task, tree: str, branch: str) -> None:
    with pytest.raises(UsageError):
        yes(task, tree, branch)


def test_an_empty_patch_is_neither_approved_nor_kept(task: Task) -> None:
    before = fingerprint(task.source)
    with pytest.raises(GitError, match="nothing to approve"):
        yes(task, task.base.tree)
    assert no(task, task.base.tree) is None
    assert fingerprint(task.source) == before


def test_a_source_that_lost_the_base_is_named(task: Task, tree: str) -> None:
    lost = Task(task.source, replace(task.base, commit="1" * 40), task.repo_git, task.worktree)
    with pytest.raises(GitError, match="no longer has the base"):
        yes(lost, tree)


def test_a_tree_that_is_not_there_is_an_error_and_leaves_no_branch(task: Task) -> None:
    with pytest.raises(GitError):
        yes(task, "2" * 40)
    assert git(task.source, "branch", "--list", "cockpit/*") == ""


def test_the_users_own_identity_signs_and_a_stand_in_does_otherwise(
    task: Task, tree: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))

    def author(branch: str) -> str:
        done = approve(
            task.source, task.repo_git, base=task.base, tree=tree, branch=branch, message="x\n", when_s=WHEN_S
        )
        return git(task.source, "log", "-1", "--format=%an <%ae>", done.commit)

    assert author("one") == "{} <{}>".format(*FALLBACK_IDENTITY)
    write(tmp_path, {"config": "[user]\n\tname = Glo Bal\n\temail = g@example.invalid\n"})
    assert author("two") == "Glo Bal <g@example.invalid>"
    git(task.source, "config", "user.name", "Lo <Cal>\t")
    assert author("three") == "Lo Cal <g@example.invalid>"


def test_a_discarded_patch_is_kept_and_can_be_taken_back(task: Task, tree: str) -> None:
    kept = no(task, tree)
    assert kept is not None
    assert kept.ref == "refs/cockpit/discarded/t1"
    assert no(task, tree) == kept
    assert git(task.source, "rev-parse", f"{kept.ref}^{{tree}}") == tree
    assert git(task.source, "branch", "--list", "cockpit/*") == ""
    for _ in range(2):
        assert undo_discard(task.source, "t1", kept.commit) == "refs/cockpit/undone/t1"
    assert git(task.source, "for-each-ref", "--format=%(refname)", "refs/cockpit") == "refs/cockpit/undone/t1"


def test_undo_takes_the_branch_away_and_keeps_the_commit(task: Task, tree: str) -> None:
    done = yes(task, tree)
    for _ in range(2):
        assert undo_approve(task.source, BRANCH, done.commit, task="t1") == "refs/cockpit/undone/t1"
    assert git(task.source, "rev-parse", "refs/cockpit/undone/t1") == done.commit
    assert git(task.source, "branch", "--list", "cockpit/*") == ""


def test_nothing_undone_earlier_is_overwritten(task: Task, tree: str, tmp_path: Path) -> None:
    first = yes(task, tree)
    undo_approve(task.source, BRANCH, first.commit, task="t1")
    write(task.worktree, {"a.txt": "more\n"})
    later = harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch").tree
    second = yes(task, later)
    assert undo_approve(task.source, BRANCH, second.commit, task="t1") == "refs/cockpit/undone/t1-2"
    assert git(task.source, "rev-parse", "refs/cockpit/undone/t1") == first.commit


def test_undo_refuses_a_branch_that_moved_on(task: Task, tree: str) -> None:
    done = yes(task, tree)
    git(task.source, "branch", "-f", BRANCH, "main")
    with pytest.raises(GitError, match="moved on"):
        undo_approve(task.source, BRANCH, done.commit, task="t1")
    assert git(task.source, "rev-parse", BRANCH) == task.base.commit


def test_undo_refuses_a_branch_that_a_worktree_stands_on(task: Task, tree: str, tmp_path: Path) -> None:
    done = yes(task, tree)
    git(task.source, "worktree", "add", "-q", str(tmp_path / "looking"), BRANCH)
    with pytest.raises(GitError, match=r"checked out in .*looking") as caught:
        undo_approve(task.source, BRANCH, done.commit, task="t1")
    assert "switch" in caught.value.hint
    assert git(task.source, "rev-parse", BRANCH) == done.commit


def test_deciding_in_a_linked_worktree_of_the_user_reaches_the_same_repository(
    task: Task, tree: str, tmp_path: Path
) -> None:
    git(task.source, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = Task(tmp_path / "linked", task.base, task.repo_git, task.worktree)
    assert git(task.source, "rev-parse", yes(linked, tree).ref) == git(task.source, "rev-parse", BRANCH)


def test_packed_references_stay_as_they_are(task: Task, tree: str) -> None:
    git(task.source, "pack-refs", "--all")
    done = yes(task, tree)
    git(task.source, "pack-refs", "--all")
    undo_approve(task.source, BRANCH, done.commit, task="t1")
    assert git(task.source, "for-each-ref", "--format=%(refname)").split() == [
        "refs/cockpit/undone/t1",
        "refs/heads/main",
        "refs/heads/other",
    ]


def test_a_repository_owned_by_another_is_never_decided_on(
    tmp_path: Path, task: Task, tree: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = build_case("git_state", "B12", tmp_path / "case")
    for name, value in case["inputs"]["env"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    with pytest.raises(GitError, match="dubious ownership") as caught:
        inspect_source(tmp_path / "case" / case["inputs"]["repo"])
    assert "safe.directory" in caught.value.hint
    with pytest.raises(GitError, match="dubious ownership"):
        no(task, tree)
    with pytest.raises(GitError, match="dubious ownership"):
        yes(task, tree)


def test_a_task_on_a_repository_with_long_object_names_is_decided_alike(tmp_path: Path) -> None:
    source = make_repo(tmp_path / "source", {"a.txt": "a\n"}, "--object-format=sha256")
    task = make_task(tmp_path, source)
    (task.worktree / "a.txt").unlink()
    write(task.worktree, {"b.txt": "b\n"})
    tree = harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch").tree
    assert git(source, "rev-parse", f"{yes(task, tree).commit}^{{tree}}") == tree


def test_messages_hold_subject_body_and_trailers() -> None:
    trailers = (("Cockpit-Task", "t1"), ("Model", "a\nb"))
    assert commit_message(" Fix\nit ", "Why.\n", trailers) == "Fix it\n\nWhy.\n\nCockpit-Task: t1\nModel: a b\n"
    assert commit_message("Fix it") == "Fix it\n"


KILLED = """
import os, signal, sys
from pathlib import Path
from cockpit.adapters import git
from cockpit.workspace.decisions import approve
from cockpit.workspace.repository import create_task_repository, inspect_source
from cockpit.workspace.worktree import add_worktree

left = int(sys.argv[1])
def counted(plain):
    def call(*args, **more):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(*args, **more)
    return call

git._call = counted(git._call)
git.Git.copy_objects = counted(git.Git.copy_objects)
Path.rename = counted(Path.rename)
step, source, repo_git, worktree, tree = sys.argv[2], *map(Path, sys.argv[3:6]), sys.argv[6]
base = inspect_source(source)
if step == "create":
    create_task_repository(source, base, repo_git)
    add_worktree(repo_git, worktree, base.tree)
else:
    approve(source, repo_git, base=base, tree=tree, branch="cockpit/t1", message="Fix it\\n", when_s=1700000000,
            identity=("Olga", "olga@example.invalid"))
"""


def run_killed(after: int, step: str, task: Task, tree: str = "") -> int:
    paths = [str(path) for path in (task.source, task.repo_git, task.worktree)]
    command = [sys.executable, "-c", KILLED, str(after), step, *paths, tree]
    return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True).returncode


@pytest.mark.parametrize("after", [8, 10, 12, 13, 14, 15, 16, 17, 18, 20, 22, 24])
def test_a_task_repository_is_sane_after_a_kill_at_any_step(task: Task, tmp_path: Path, after: int) -> None:
    fresh = Task(task.source, task.base, tmp_path / "fresh/repo.git", tmp_path / "fresh-1")
    fresh.repo_git.parent.mkdir()
    assert run_killed(after, "create", fresh) in (-signal.SIGKILL, 0)
    create_task_repository(fresh.source, fresh.base, fresh.repo_git)
    assert run_killed(1000, "create", fresh) == 0
    assert git(fresh.worktree, "status", "--porcelain", "--ignored") == ""
    assert git(fresh.worktree, "log", "--all", "--format=%H") == task.base.commit
    git(fresh.repo_git, "fsck", "--strict")


@pytest.mark.parametrize("after", range(9, 31, 2))
def test_an_approval_is_whole_or_absent_after_a_kill_at_any_step_and_comes_to_the_same(
    task: Task, tree: str, after: int
) -> None:
    before = fingerprint(task.source, *OURS)
    assert run_killed(after, "approve", task, tree) in (-signal.SIGKILL, 0)
    found = git(task.source, "branch", "--list", "--format=%(objectname)", "cockpit/*")
    assert found in ("", yes(task, tree).commit)
    assert fingerprint(task.source, *OURS) == before
    git(task.source, "fsck", "--strict")
