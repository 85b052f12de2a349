"""Reads from the filesystem what differs from a tree: committed, staged, unstaged and untracked alike."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.git import Git
from cockpit.domain.errors import GitError
from cockpit.domain.evidence import FileChange
from cockpit.workspace.changes import changed_names, list_changes, patch_between
from cockpit.workspace.private import private_git
from cockpit.workspace.repository import TreeEntry, known_tree, tree_entries
from cockpit.workspace.worktree import GITLINK

CACHES = frozenset({"__pycache__", ".pytest_cache"})
"""Folders that a test run leaves behind and that nobody needs to hear of."""


@dataclass(frozen=True, slots=True)
class Harvest:
    """Everything that differs between the base and a worktree."""

    tree: str
    """Id of the tree as it stands on disk, kept in the task's repository."""
    changes: tuple[FileChange, ...]
    patch: bytes
    """``git diff --binary --full-index -M`` from the base; empty when nothing differs."""


def harvest(repo_git: Path, worktree: Path, base_tree: str, scratch: Path) -> Harvest:
    """Take what a worktree holds, by its files alone; ``scratch`` is a folder outside it for the private index.

    Paths hidden by the repository's ignore rules are left out. A git repository inside is recorded as a submodule.
    """
    with private_git(repo_git, base_tree, worktree, scratch=scratch, keeps_objects=True) as git:
        tree = snapshot(git, worktree, base_tree)
        return Harvest(tree, list_changes(git, base_tree, tree), patch_between(git, base_tree, tree))


def diff_trees(repo_git: Path, before: str, after: str) -> tuple[FileChange, ...]:
    """List what differs between two trees, in the order of their paths."""
    with private_git(repo_git, before) as git:
        return list_changes(git, before, after)


def dirty_paths(repo_git: Path, worktree: Path, tree: str) -> tuple[str, ...]:
    """List the paths where a worktree differs from a tree; ignored paths are left out."""
    with private_git(repo_git, tree, worktree) as git:
        return changed_names(git, tree, snapshot(git, worktree, tree))


def ignored_files(repo_git: Path, worktree: Path, tree: str | None = None) -> tuple[str, ...]:
    """List the files that the ignore rules hide; files of ``tree`` (default: the base) are never ignored."""
    known = known_tree(repo_git, tree)
    with private_git(repo_git, known, worktree) as git:
        git.run("read-tree", known)
        return _listed(git, "--ignored")


def written_by_run(repo_git: Path, checkout: Path, tree: str) -> tuple[str, ...]:
    """List what a test run changed or left in its checkout, ignored files too, but for bytecode and pytest caches."""
    found = {*dirty_paths(repo_git, checkout, tree), *ignored_files(repo_git, checkout, tree)}
    return tuple(sorted(path for path in found if not CACHES.intersection(path.split("/"))))


def snapshot(git: Git, worktree: Path, tree: str) -> str:
    """Write the tree that stands on disk, starting from the names in ``tree``; returns its id.

    Raises ``GitError`` for a name git cannot store: a change is never left out in silence.
    """
    entries = tree_entries(git, tree)
    standing = _standing(worktree, entries)
    git.run("read-tree", tree)
    _index_info(git, [(tree, entry.path) for entry in entries if entry.path not in standing], mode="0")
    found = _listed(git)
    files = {path for path in (*found, *standing) if standing.get(path) != GITLINK and not path.endswith("/")}
    git.run("update-index", "--add", "-z", "--stdin", input=b"".join(os.fsencode(p) + b"\0" for p in sorted(files)))
    links = {entry.path: entry.oid for entry in entries if standing.get(entry.path) == GITLINK}
    links |= {path.rstrip("/"): tree for path in found if path.endswith("/")}
    _index_info(git, [(_nested_head(worktree / path, oid), path) for path, oid in links.items()], mode=GITLINK)
    _refuse_lost(git, files)
    return git.text("write-tree")


def _standing(worktree: Path, entries: tuple[TreeEntry, ...]) -> dict[str, str]:
    """Return mode by path for the entries of a tree that still stand on disk, reached without passing a link.

    A submodule stands while its folder is empty or a repository; with plain files in it, it is a folder.
    """
    real: dict[str, bool] = {"": True}

    def is_real(folder: str) -> bool:
        if folder not in real:
            real[folder] = is_real(folder.rpartition("/")[0]) and stat.S_ISDIR(_mode(worktree / folder))
        return real[folder]

    def stands(entry: TreeEntry) -> bool:
        kind = stat.S_IFMT(_mode(worktree / entry.path))
        if entry.mode == GITLINK:
            return kind == stat.S_IFDIR and _is_submodule(worktree / entry.path)
        return kind in (stat.S_IFREG, stat.S_IFLNK)

    return {entry.path: entry.mode for entry in entries if is_real(entry.path.rpartition("/")[0]) and stands(entry)}


def _is_submodule(folder: Path) -> bool:
    names = {entry.name for entry in os.scandir(folder)}
    return not names or ".git" in names


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _nested_head(folder: Path, otherwise: str) -> str:
    """Return the commit a repository inside stands at; ``otherwise`` when it has none."""
    inner = folder / ".git"
    if not inner.exists():
        return otherwise
    head = Git(inner, work_tree=folder).text("rev-parse", "-q", "--verify", "HEAD^{commit}", allowed=(0, 1, 128))
    return head if len(head) == len(otherwise) else otherwise


def _index_info(git: Git, rows: list[tuple[str, str]], mode: str) -> None:
    """Set index entries (object id, path) to a mode; mode 0 removes them."""
    if not rows:
        return
    lines = (f"{mode} {oid}\t{path}\0" for oid, path in rows)
    git.run("update-index", "-z", "--index-info", input=os.fsencode("".join(lines)))


def _listed(git: Git, *which: str) -> tuple[str, ...]:
    """List untracked files (or ignored ones); a repository inside comes as one name that ends in a slash."""
    rows = git.run("ls-files", "-z", "--others", "--exclude-standard", *which)
    return tuple(os.fsdecode(row) for row in rows.split(b"\0")[:-1])


def _refuse_lost(git: Git, files: set[str]) -> None:
    stored = {os.fsdecode(row) for row in git.run("ls-files", "-z", "--cached").split(b"\0")[:-1]}
    lost = sorted(files - stored)
    if lost:
        raise GitError(f"git cannot store the path {lost[0]!r}", hint="rename or remove it", label="path_invalid")
