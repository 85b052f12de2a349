"""Reads the files of an attempt's worktree, for the localiser and the prompt."""

import os
from functools import cached_property
from pathlib import Path

from cockpit.workspace.repository import tracked_paths


class TreeFiles:
    """The tracked files of one tree, read from a worktree that holds it: no process per file."""

    def __init__(self, repo_git: Path, tree: str, worktree: Path) -> None:
        self._repo_git = repo_git
        self._tree = tree
        self._worktree = worktree

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tracked_paths(self._repo_git, self._tree)

    def paths(self) -> tuple[str, ...]:
        """Return every tracked path."""
        return self._paths

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises OSError for a link or when it is gone."""
        handle = os.open(self._worktree / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read()
