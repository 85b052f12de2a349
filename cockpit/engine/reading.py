"""Reads a tree of a task's repository as files, for the localiser and the prompt."""

from functools import cached_property
from pathlib import Path

from cockpit.workspace.repository import read_blob, tracked_paths


class TreeFiles:
    """The files of one tree."""

    def __init__(self, repo_git: Path, tree: str) -> None:
        self._repo_git = repo_git
        self._tree = tree

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tracked_paths(self._repo_git, self._tree)

    def paths(self) -> tuple[str, ...]:
        """Return every tracked path."""
        return self._paths

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; empty when it is too large to be shown."""
        return read_blob(self._repo_git, self._tree, path) or b""
