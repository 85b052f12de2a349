import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.workspace.worktree import add_worktree, remove_worktree, restore
from tests.gitkit import Task, commit, fingerprint, git, make_repo, make_task, write

FILES = {
    "a.txt": "a\n",
    "pkg/mod.py": "v = 1\n",
    "pkg/deep/x.txt": "x\n",
    "dos.bat": "echo\r\n",
    ".gitignore": "build/\n",
}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    source = make_repo(tmp_path / "source", FILES)
    (source / "run.sh").write_text("echo\n", "utf-8")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("a.txt")
    commit(source, {}, "run")
    (tmp_path / "outside").mkdir()
    write(tmp_path / "outside", {"kept.txt": "keep me\n"})
    return make_task(tmp_path, source)


def is_base(task: Task) -> bool:
    clean = git(task.worktree, "status", "--porcelain", "--ignored") == ""
    same = fingerprint(task.worktree, ".git") == fingerprint(task.source, ".git")
    return clean and same and git(task.worktree, "rev-parse", "HEAD") == task.base.commit


def test_a_new_worktree_is_the_base_and_git_works_in_it(task: Task) -> None:
    assert is_base(task)
    assert git(task.worktree, "log", "--all", "--format=%H") == task.base.commit


def test_a_worktree_can_start_from_a_later_tree(task: Task, tmp_path: Path) -> None:
    write(task.worktree, {"a.txt": "b\n"})
    git(task.worktree, "add", "-A")
    tree = git(task.worktree, "write-tree")
    add_worktree(task.repo_git, tmp_path / "second", tree)
    assert git(tmp_path / "second", "status", "--porcelain") == "M  a.txt"
    assert git(tmp_path / "second", "rev-parse", "HEAD") == task.base.commit


def test_two_worktrees_with_the_same_last_name_live_side_by_side(task: Task, tmp_path: Path) -> None:
    for parent in ("one", "two"):
        add_worktree(task.repo_git, tmp_path / parent / "checkout", task.base.tree)
    commit(tmp_path / "one/checkout", {"new.txt": ""}, "only one")
    assert git(tmp_path / "two/checkout", "rev-parse", "HEAD") == task.base.commit
    assert len(git(task.repo_git, "worktree", "list").splitlines()) == 4


def test_unchanged_files_keep_their_times(task: Task) -> None:
    kept, changed = task.worktree / "a.txt", task.worktree / "pkg/mod.py"
    for path in (kept, changed):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    changed.write_text("v = 2\n", "utf-8")
    restore(task.repo_git, task.worktree, task.base.tree)
    assert kept.stat().st_mtime == 1_000_000_000
    assert changed.stat().st_mtime != 1_000_000_000
    assert is_base(task)


def break_files(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "run.sh").chmod(0o600)
    write(root, {"new.txt": "", "build/out.bin": "ignored", "pkg/deep/more/y": "y"})
    (root / "empty/inner").mkdir(parents=True)


def break_kinds(root: Path) -> None:
    (root / "a.txt").unlink()
    write(root, {"a.txt/inner": "now a folder"})
    (root / "pkg/deep/x.txt").unlink()
    (root / "pkg/deep").rmdir()
    (root / "pkg/deep").write_text("now a file", "utf-8")
    os.mkfifo(root / "pkg/pipe")
    (root / "run.sh").unlink()
    os.mkfifo(root / "run.sh")


def break_links(root: Path) -> None:
    (root / "pkg/mod.py").unlink()
    (root / "pkg/deep/x.txt").unlink()
    (root / "pkg/deep").rmdir()
    (root / "pkg").rmdir()
    (root / "pkg").symlink_to(root.parent / "outside")
    (root / "link").unlink()
    (root / "link").symlink_to(root.parent / "outside/kept.txt")
    (root / "loop").symlink_to("loop")


def break_modes(root: Path) -> None:
    write(root, {"locked/inner/file": "x"})
    (root / "locked/inner").chmod(0o000)
    (root / "locked").chmod(0o500)
    (root / "pkg").chmod(0o500)


def move_head(root: Path) -> None:
    commit(root, {"a.txt": "committed\n"}, "one")
    git(root, "checkout", "-q", "-b", "mine")
    commit(root, {"b.txt": "committed\n"}, "two")
    write(root, {"c.txt": "staged\n"})
    git(root, "add", "c.txt")


def delete_link(root: Path) -> None:
    (root / ".git").unlink()


def make_own_repository(root: Path) -> None:
    (root / ".git").unlink()
    git(root, "init", "-q")
    commit(root, {"x": "x"}, "own")


def point_link_elsewhere(root: Path) -> None:
    (root / ".git").write_text(f"gitdir: {root.parent / 'source/.git'}\n", "utf-8")


def make_git_a_symlink(root: Path) -> None:
    (root / ".git").unlink()
    (root / ".git").symlink_to(root.parent / "source/.git")


def leave_locks(root: Path) -> None:
    folder = Path(git(root, "rev-parse", "--absolute-git-dir"))
    write(folder, {"index.lock": "", "HEAD.lock": "", "index": "garbage", "config.worktree": "[core"})


def nest_repositories(root: Path) -> None:
    make_repo(root / "nested", {"x": "x"})
    git(root / "pkg", "init", "-q")


def delete_all(root: Path) -> None:
    git(root, "rm", "-rqf", ".")
    (root / ".git").unlink()
    root.rmdir()


def put_a_link_in_its_place(root: Path) -> None:
    delete_all(root)
    root.symlink_to(root.parent / "outside")


BREAKS = (
    break_files, break_kinds, break_links, break_modes, move_head, delete_link, make_own_repository,
    point_link_elsewhere, make_git_a_symlink, leave_locks, nest_repositories, delete_all, put_a_link_in_its_place,
)  # fmt: skip


@pytest.mark.parametrize("damage", BREAKS)
def test_restore_brings_back_the_exact_tree_and_leaves_the_outside_alone(
    task: Task, damage: Callable[[Path], None]
) -> None:
    outside = fingerprint(task.worktree.parent / "outside")
    source = fingerprint(task.source)
    damage(task.worktree)
    restore(task.repo_git, task.worktree, task.base.tree)
    assert fingerprint(task.source) == source
    assert is_base(task)
    assert fingerprint(task.worktree.parent / "outside") == outside


@pytest.mark.parametrize("damage", BREAKS)
def test_removing_a_worktree_leaves_no_trace_and_follows_no_link(task: Task, damage: Callable[[Path], None]) -> None:
    outside = fingerprint(task.worktree.parent / "outside")
    damage(task.worktree)
    remove_worktree(task.repo_git, task.worktree)
    assert not os.path.lexists(task.worktree)
    assert git(task.repo_git, "worktree", "list", "--porcelain").splitlines()[1:] in (["bare", ""], ["bare"])
    assert fingerprint(task.worktree.parent / "outside") == outside
    remove_worktree(task.repo_git, task.worktree)


def test_a_submodule_folder_is_emptied_and_kept(task: Task, tmp_path: Path) -> None:
    git(task.source, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(task.source), "sub")
    commit(task.source, {}, "sub")
    other = make_task(tmp_path, task.source, "other")
    write(other.worktree, {"sub/stray.txt": "x"})
    restore(other.repo_git, other.worktree, other.base.tree)
    assert list((other.worktree / "sub").iterdir()) == []
    (other.worktree / "sub").rmdir()
    restore(other.repo_git, other.worktree, other.base.tree)
    assert (other.worktree / "sub").is_dir()


def test_files_are_the_bytes_of_the_tree_whatever_the_attributes_say(tmp_path: Path) -> None:
    attributes = "*.bat text eol=crlf\n*.txt filter=lfs\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n"
    source = make_repo(tmp_path / "source", {"b.bat": "one\ntwo\n", "t.txt": "x\n", "i.id": "$Id$\n", "u.u16": "x\n"})
    (source / ".gitattributes").write_text(attributes, "utf-8")
    git(source, "add", ".gitattributes")
    git(source, "commit", "-q", "-m", "attributes")
    task = make_task(tmp_path, source)
    assert (task.worktree / "b.bat").read_bytes() == b"one\ntwo\n"
    assert (task.worktree / "i.id").read_bytes() == b"$Id$\n"
    assert (task.worktree / "u.u16").read_bytes() == b"x\n"
    assert git(task.worktree, "status", "--porcelain") == ""
