"""Every place where a repository can name a program gets one that leaves a mark; no mark may appear."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from cockpit.domain.errors import GitError
from cockpit.workspace.apply import apply_patch_file
from cockpit.workspace.decisions import approve, discard, undo_approve, undo_discard
from cockpit.workspace.disk import DiskTree
from cockpit.workspace.harvest import dirty_paths, harvest, ignored_files, written_by_run
from cockpit.workspace.repository import inspect_source
from cockpit.workspace.worktree import add_worktree, remove_worktree, restore
from tests.gitkit import Task, commit, git, make_repo, make_task, write

PROGRAM_SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "diff.external", "filter.x.clean", "filter.x.smudge", "filter.x.process",
    "diff.x.textconv", "diff.x.command", "merge.x.driver", "gpg.program", "gpg.ssh.program", "credential.helper",
    "uploadpack.packObjectsHook", "sequence.editor", "pager.diff", "pager.log", "trailer.x.command",
    "remote.origin.uploadpack", "remote.origin.receivepack", "alias.diff-tree", "alias.ls-tree",
)  # fmt: skip
FLAGS = {
    "commit.gpgSign": "true", "log.showSignature": "true", "filter.x.required": "true", "gc.auto": "1",
    "maintenance.auto": "true", "core.untrackedCache": "true", "submodule.recurse": "true", "diff.noprefix": "true",
}  # fmt: skip
HOOKS = (
    "post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
    "post-rewrite", "pre-auto-gc", "fsmonitor-watchman", "update", "pre-receive", "post-update", "proc-receive",
)  # fmt: skip


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that any program started by mistake would make."""
    return tmp_path / "mark"


@pytest.fixture
def program(tmp_path: Path, mark: Path) -> Path:
    path = tmp_path / "bin/evil"
    write(tmp_path, {"bin/evil": f'#!/bin/sh\necho "$0 $*" >> "{mark}"\ncat\n'})
    path.chmod(0o755)
    return path


def poison_config(git_dir: Path, program: Path) -> None:
    """Name the program in every setting that can start one, some through an include."""
    for key in PROGRAM_SETTINGS[::2]:
        git(git_dir, "config", "--file", "config", key, str(program))
    for key in PROGRAM_SETTINGS[1::2]:
        git(git_dir, "config", "--file", "included", key, str(program))
    for key, value in FLAGS.items():
        git(git_dir, "config", "--file", "included", key, value)
    git(git_dir, "config", "--file", "config", "include.path", "included")


def poison_hooks(git_dir: Path, program: Path) -> None:
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (git_dir / "hooks" / hook).unlink(missing_ok=True)
        (git_dir / "hooks" / hook).symlink_to(program)


def poison_attributes(git_dir: Path, program: Path) -> None:
    poison_config(git_dir, program)
    write(git_dir, {"info/attributes": "* filter=x diff=x merge=x\n"})


def poison_all(git_dir: Path, program: Path) -> None:
    poison_attributes(git_dir, program)
    poison_hooks(git_dir, program)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    attributes = "* filter=x diff=x merge=x\n"
    made = make_repo(tmp_path / "source", {"a.txt": "a\n", "pkg/b.txt": "b\n"})
    return commit(made, {".gitattributes": attributes}, "attributes")


def work(task: Task, tmp_path: Path) -> None:
    """Everything that is done between preparing a task and deciding on it."""
    write(task.worktree, {"a.txt": "changed\n", "new.txt": "n\n"})
    taken = harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch")
    assert [change.path for change in taken.changes][:1] == ["a.txt"]
    dirty_paths(task.repo_git, task.worktree, task.base.tree)
    ignored_files(task.repo_git, task.worktree)
    restore(task.repo_git, task.worktree, task.base.tree)
    apply_patch_file(task.repo_git, task.worktree, taken.patch)
    DiskTree(task.repo_git, task.worktree).is_ignored("new.txt")
    add_worktree(task.repo_git, tmp_path / "checkout", taken.tree)
    assert written_by_run(task.repo_git, tmp_path / "checkout", taken.tree) == ()
    remove_worktree(task.repo_git, tmp_path / "checkout")
    more = {"base": task.base, "tree": taken.tree}
    done = approve(task.source, task.repo_git, **more, branch="cockpit/t", message="x\n", when_s=1)  # type: ignore[arg-type]
    kept = discard(task.source, task.repo_git, **more, task="t", message="x\n", when_s=1)  # type: ignore[arg-type]
    assert kept is not None
    undo_approve(task.source, "cockpit/t", done.commit, task="t")
    undo_discard(task.source, "t", kept.commit)


@pytest.mark.parametrize("poison", [poison_config, poison_hooks, poison_attributes])
def test_a_hostile_source_starts_nothing(
    source: Path, tmp_path: Path, program: Path, mark: Path, poison: Callable[[Path, Path], None]
) -> None:
    poison(source / ".git", program)
    work(make_task(tmp_path, source), tmp_path)
    assert not mark.exists()


def test_the_poison_works_on_plain_git(source: Path, program: Path, mark: Path) -> None:
    poison_all(source / ".git", program)
    write(source, {"a.txt": "changed\n"})
    with pytest.raises(CalledProcessError):  # the marking program is no real filter
        git(source, "diff")
    assert mark.exists()


def test_a_task_repository_poisoned_from_inside_starts_nothing(
    source: Path, tmp_path: Path, program: Path, mark: Path
) -> None:
    task = make_task(tmp_path, source)
    poison_all(task.repo_git, program)
    work(task, tmp_path)
    assert not mark.exists()


def test_a_worktree_whose_git_file_points_to_a_trap_starts_nothing(
    source: Path, tmp_path: Path, program: Path, mark: Path
) -> None:
    trap = make_repo(tmp_path / "trap", {"x": "x"})
    poison_all(trap / ".git", program)
    task = make_task(tmp_path, source)
    (task.worktree / ".git").unlink()
    (task.worktree / ".git").symlink_to(trap / ".git")
    write(task.worktree, {"a.txt": "changed\n"})
    harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch")
    (task.worktree / ".git").unlink()
    (task.worktree / ".git").write_text(f"gitdir: {trap}/.git\n", "utf-8")
    work(task, tmp_path)
    assert not mark.exists()


def test_a_poisoned_repository_inside_the_worktree_starts_nothing(
    source: Path, tmp_path: Path, program: Path, mark: Path
) -> None:
    task = make_task(tmp_path, source)
    nested = make_repo(task.worktree / "nested", {"x": "x"})
    poison_all(nested / ".git", program)
    poison_all(make_repo(task.worktree / "pkg/inner", {"x": "x"}) / ".git", program)
    taken = harvest(task.repo_git, task.worktree, task.base.tree, tmp_path / "scratch")
    assert [change.path for change in taken.changes] == ["nested", "pkg/inner"]
    assert not mark.exists()


def test_programs_named_git_something_in_the_worktree_are_not_found(
    source: Path, tmp_path: Path, program: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(tmp_path, source)
    for name in ("git", "git-diff-tree", "git-ls-files", "sh", "cat"):
        (task.worktree / name).symlink_to(program)
    monkeypatch.setenv("PATH", f".::{tmp_path}/absent:/usr/local/bin:/usr/bin:/bin")
    monkeypatch.chdir(task.worktree)
    work(task, tmp_path)
    assert not mark.exists()


def test_hostile_variables_of_the_caller_start_nothing(
    source: Path, tmp_path: Path, program: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(program))
    write(tmp_path, {"home/.gitconfig": f"[core]\n\tfsmonitor = {program}\n\thooksPath = {program.parent}\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work(make_task(tmp_path, source), tmp_path)
    assert not mark.exists()


def test_a_partial_clone_with_a_program_for_a_remote_is_never_asked(
    source: Path, tmp_path: Path, program: Path, mark: Path
) -> None:
    git(source, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{source}", "partial")
    partial = tmp_path / "partial"
    git(partial, "config", "remote.origin.url", f"ext::{program} %S")
    git(partial, "config", "protocol.ext.allow", "always")
    git(partial, "config", "remote.origin.uploadpack", str(program))
    with pytest.raises(GitError):
        make_task(tmp_path, partial)
    assert not mark.exists()


def test_looking_at_a_poisoned_source_starts_nothing(source: Path, program: Path, mark: Path) -> None:
    poison_all(source / ".git", program)
    inspect_source(source, "main")
    assert not mark.exists()
