"""Applies a patch file strictly, and proves by tree ids that it did something."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from cockpit.adapters.git import Git
from cockpit.domain.errors import GitError
from cockpit.workspace.changes import changed_names
from cockpit.workspace.harvest import snapshot
from cockpit.workspace.private import private_git
from cockpit.workspace.repository import known_tree, tracked_paths

HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def apply_patch_file(
    repo_git: Path, worktree: Path, patch: bytes, subdirectory: str = "", *, tree: str | None = None
) -> str:
    """Apply a patch to a worktree and return the tree it leads to.

    Paths in the patch are relative to ``subdirectory``; ``tree`` names the tracked paths (default: the base). Raises
    ``GitError`` (``patch_inapplicable``, ``edit_ignored_path``) with the worktree unchanged when it does not apply
    whole, changes nothing or writes ignored paths: git's exit code alone is never proof.
    """
    _refuse_leftover(patch)
    known = known_tree(repo_git, tree)
    command = ("apply", "--whitespace=nowarn", *([f"--directory={subdirectory}"] if subdirectory else []))
    with private_git(repo_git, known, worktree, keeps_objects=True) as git:
        before = snapshot(git, worktree, known)
        _apply(git, (*command, "--cached", "-"), patch)
        after = git.text("write-tree")
        _refuse_unseen(git, repo_git, before, after)
        _apply(git, (*command, "-"), patch)
        found = snapshot(git, worktree, known)
    if found != after:
        raise GitError(
            "the patch did not arrive as it was checked", hint="restore the worktree", label="patch_inapplicable"
        )
    return after


def ignored_among(git: Git, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return those paths that the ignore rules of the work tree hide, tracked or not."""
    # A leading ./ keeps a path that begins with a colon from being read as a pattern, which this command insists on.
    asked = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    plain = {"GIT_LITERAL_PATHSPECS": "0"}
    out = git.run("check-ignore", "-z", "--no-index", "--stdin", input=asked, env=plain, allowed=(0, 1))
    return tuple(os.fsdecode(row).removeprefix("./") for row in out.split(b"\0")[:-1])


def _apply(git: Git, command: tuple[str, ...], patch: bytes) -> None:
    try:
        git.run(*command, input=patch)
    except GitError as error:
        raise GitError(
            f"the patch does not apply: {error.message}",
            hint="make it anew against the base",
            label="patch_inapplicable",
        ) from error


def _refuse_unseen(git: Git, repo_git: Path, before: str, after: str) -> None:
    names = changed_names(git, before, after)
    if not names:
        raise GitError(
            "the patch changes nothing", hint="are its paths relative to the top level?", label="patch_inapplicable"
        )
    fresh = tuple(sorted(set(names) - set(tracked_paths(repo_git, before))))
    hidden = ignored_among(git, fresh) if fresh else ()
    if hidden:
        raise GitError(
            f"the patch writes {hidden[0]}, which the ignore rules hide", hint="leave it out", label="edit_ignored_path"
        )


def _refuse_leftover(patch: bytes) -> None:
    """Refuse lines beyond a hunk's count, which git drops without a word."""
    lines = iter(enumerate(patch.split(b"\n"), start=1))
    inside = False
    for number, line in lines:
        hunk = HUNK.match(line)
        if hunk:
            _skip_body(lines, *(int(count) if count is not None else 1 for count in hunk.groups()))
            inside = True
        elif inside and line[:1] in (b"+", b"-", b" ") and line.rstrip() != b"--" and not line.startswith(b"--- "):
            raise GitError(
                f"line {number} of the patch lies beyond the count of its hunk",
                hint="make the patch anew with git diff",
                label="patch_inapplicable",
            )
        else:
            inside = inside and line.startswith((b"\\", b"@@"))


def _skip_body(lines: Iterator[tuple[int, bytes]], old: int, new: int) -> None:
    while old > 0 or new > 0:
        line = next(lines, (0, b"diff"))[1]
        if line.startswith(b"diff"):
            return
        old -= line[:1] in (b"-", b" ", b"")
        new -= line[:1] in (b"+", b" ", b"")
