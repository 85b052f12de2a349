"""Keeps a worktree of a task's repository exactly at a tree, whatever happened inside it."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from cockpit.adapters.git import Git
from cockpit.workspace.private import private_git
from cockpit.workspace.repository import BASE_REF, tree_entries

GITLINK = "160000"


def add_worktree(repo_git: Path, worktree: Path, tree: str) -> None:
    """Make a git worktree with HEAD at the base commit and files and index of ``tree``.

    What lies there already (a half-made worktree) is brought to that state.
    """
    restore(repo_git, worktree, tree)


def restore(repo_git: Path, worktree: Path, tree: str) -> None:
    """Make the files exactly those of a tree: everything else goes, unchanged files keep their times.

    The worktree's ``.git`` file, HEAD, index and locks are written anew. No symbolic link is followed. Processes that
    work inside have to be ended first.
    """
    if worktree.is_symlink() or (worktree.exists() and not worktree.is_dir()):
        worktree.unlink()
    worktree.mkdir(parents=True, exist_ok=True)
    with private_git(repo_git, tree, worktree) as git:
        entries = tree_entries(git, tree)
        _sweep(worktree, [entry.path for entry in entries if entry.mode != GITLINK])
        metadata = _link(repo_git, worktree)
        git.run("read-tree", tree)
        git.run("update-index", "-q", "--refresh", allowed=(0, 1))
        git.run("checkout-index", "-q", "-f", "-a", "-u")
        if git.index is not None:
            _replace(metadata / "index", git.index.read_bytes())


def remove_worktree(repo_git: Path, worktree: Path) -> None:
    """Remove a worktree and what the repository knows of it; links inside are removed, never followed."""
    remove_tree(worktree)
    remove_tree(_metadata(repo_git, worktree))


def remove_tree(folder: Path) -> None:
    """Remove a folder whatever its modes are, if there is one; links are removed, never followed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        _open_up(folder)
        shutil.rmtree(folder)


def _open_up(folder: Path) -> None:
    """Let the owner list and change every folder below."""
    _let_in(folder)
    with os.scandir(folder) as found:
        inner = [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    for each in inner:
        _open_up(each)


def _let_in(folder: Path) -> None:
    if folder.lstat().st_mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(0o755)


def _sweep(worktree: Path, tracked: Iterable[str]) -> None:
    """Remove everything but tracked files and the folders that hold them."""
    files = set(tracked)
    folders: set[str] = set()
    for path in files:
        parent = os.path.dirname(path)  # noqa: PTH120  # paths inside a tree are text, tens of thousands of them
        while parent and parent not in folders:
            folders.add(parent)
            parent = os.path.dirname(parent)  # noqa: PTH120  # as above
    _sweep_folder(worktree, "", files, folders)


def _sweep_folder(folder: Path, prefix: str, files: set[str], folders: set[str]) -> None:
    _let_in(folder)
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and path in folders:
            _sweep_folder(Path(entry.path), path + "/", files, folders)
        elif is_folder:
            remove_tree(Path(entry.path))
        elif path not in files or not _is_storable(entry):
            Path(entry.path).unlink()


def _is_storable(entry: "os.DirEntry[str]") -> bool:
    return entry.is_symlink() or entry.is_file(follow_symlinks=False)


def _link(repo_git: Path, worktree: Path) -> Path:
    """Write both ends of git's worktree link and return the repository's end.

    Written by hand, for ``git worktree add`` and ``repair`` believe what they find in the worktree.
    """
    metadata = _metadata(repo_git, worktree)
    remove_tree(metadata)
    metadata.mkdir(parents=True)
    base = Git(repo_git).text("rev-parse", "--verify", BASE_REF)
    (metadata / "HEAD").write_text(base + "\n", "ascii")
    (metadata / "commondir").write_text("../..\n", "ascii")
    (metadata / "gitdir").write_bytes(os.fsencode(worktree.absolute() / ".git") + b"\n")
    (worktree / ".git").write_bytes(b"gitdir: " + os.fsencode(metadata) + b"\n")
    return metadata


def _metadata(repo_git: Path, worktree: Path) -> Path:
    # Named after the whole path: two worktrees may end in the same name.
    name = hashlib.sha256(os.fsencode(worktree.absolute())).hexdigest()[:16]
    return repo_git.absolute() / "worktrees" / name


def _replace(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)
