"""Lets an answer be applied to a worktree: shows it as a tree view and writes files without following a link."""

import os
import secrets
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from cockpit.adapters.git import Git
from cockpit.domain.errors import GitError
from cockpit.domain.evidence import WrittenFile
from cockpit.edits.model import Kind
from cockpit.workspace.apply import ignored_among
from cockpit.workspace.private import private_git
from cockpit.workspace.repository import known_tree, tree_entries
from cockpit.workspace.worktree import GITLINK


class DiskTree:
    """A worktree as an answer may see it (``edits.model.TreeView``), read from disk at every question."""

    def __init__(
        self, repo_git: Path, worktree: Path, in_play: tuple[str, ...] = (), *, tree: str | None = None
    ) -> None:
        self.in_play = in_play
        """Files the model was shown."""
        self._repo_git = repo_git
        self._worktree = worktree
        self._tree = tree
        """The tree whose paths are tracked; None = the task's base."""

    def tracked(self) -> Collection[str]:
        """Return the paths of the tree, without submodules."""
        return self._modes.keys() - self._submodules

    def kind(self, path: str) -> Kind:
        """Tell what is at a path; nothing is looked up beyond a link or inside another repository."""
        found: Kind = "directory"
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            found = self._kind("/".join(parts[:count]))
            if found in ("symlink", "submodule", "missing"):
                return found
            if found == "file" and count < len(parts):
                return "missing"
        return found

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises ``GitError`` when a link or no file is there."""
        with _parent(self._worktree, path, makes=False) as (folder, name):
            return _read(folder, name, path)

    def is_ignored(self, path: str) -> bool:
        """Tell whether the ignore rules hide a path from the patch; a tracked path never is."""
        if path in self._modes:
            return False
        with private_git(self._repo_git, self._known, self._worktree) as git:
            return bool(ignored_among(git, (path,)))

    @cached_property
    def _known(self) -> str:
        return known_tree(self._repo_git, self._tree)

    @cached_property
    def _modes(self) -> dict[str, str]:
        return {entry.path: entry.mode for entry in tree_entries(Git(self._repo_git), self._known)}

    @cached_property
    def _submodules(self) -> frozenset[str]:
        return frozenset(path for path, mode in self._modes.items() if mode == GITLINK)

    def _kind(self, path: str) -> Kind:
        place = self._worktree / path
        try:
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        if path in self._submodules or path.rpartition("/")[2].lower() == ".git":
            return "submodule"
        if stat.S_ISDIR(mode):
            return "submodule" if os.path.lexists(place / ".git") and not self._holds_tracked(path) else "directory"
        # A pipe or a device is as little a file of the tree as what a link leads to.
        return "file" if stat.S_ISREG(mode) else "symlink"

    def _holds_tracked(self, folder: str) -> bool:
        return any(path.startswith(folder + "/") for path in self._modes)


def write_files(worktree: Path, written: Sequence[WrittenFile]) -> None:
    """Write files whole or not at all, each keeping its mode; all places are checked before the first is written.

    Raises ``GitError`` (``path_invalid``) for a path that leads through or to a link, out of the worktree, into a git
    folder, or to something that is no file.
    """
    for file in written:
        with suppress(_AbsentError), _parent(worktree, file.path, makes=False) as (folder, name):
            _mode_at(folder, name, file.path)
    for file in written:
        with _parent(worktree, file.path, makes=True) as (folder, name):
            _write(folder, name, file.path, file.after)


class _AbsentError(GitError):
    """A folder on the way does not exist yet."""


@contextmanager
def _parent(worktree: Path, path: str, *, makes: bool) -> Iterator[tuple[int, str]]:
    """Lend the folder a path lies in, as a descriptor reached without passing a link, and the last name."""
    *parents, name = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in (*parents, name)):
        raise _invalid(path, "it is no plain path inside the worktree")
    folder = os.open(worktree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parents:
            inner = _enter(folder, part, path, makes=makes)
            os.close(folder)
            folder = inner
        yield folder, name
    finally:
        os.close(folder)


def _enter(folder: int, part: str, path: str, *, makes: bool) -> int:
    if makes and not _exists(folder, part):
        os.mkdir(part, dir_fd=folder)
    try:
        return os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError as error:
        raise _AbsentError(f"{path}: there is no folder {part}") from error
    except OSError as error:
        raise _invalid(path, f"{part} is no folder, or a link ({error.strerror})") from error


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _mode_at(folder: int, name: str, path: str) -> int | None:
    """Return the permissions of the file that stands there, None when there is none."""
    if not _exists(folder, name):
        return None
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise _invalid(path, "a link or something else that is no file stands there")
    return stat.S_IMODE(mode)


def _read(folder: int, name: str, path: str) -> bytes:
    try:
        # Without O_NONBLOCK a named pipe would hold us for ever.
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise _invalid(path, f"it cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise _invalid(path, "it is no file")
    with open(found, "rb") as file:  # noqa: PTH123  # a descriptor has no path
        return file.read()


def _write(folder: int, name: str, path: str, content: bytes) -> None:
    mode = _mode_at(folder, name, path)
    part = f".cockpit-{secrets.token_hex(8)}"
    made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        with open(made, "wb") as file:  # noqa: PTH123  # a descriptor has no path
            file.write(content)
            if mode is not None:
                os.fchmod(made, mode)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise


def _invalid(path: str, reason: str) -> GitError:
    return GitError(
        f"{path} is not written: {reason}", hint="name a plain file of the repository", label="path_invalid"
    )
