"""Lends a throw-away git folder whose configuration, attributes and index are ours, over a task's objects.

What lies in a worktree or was written into the task's repository from inside it (``.git`` files, configuration,
attributes, locks, index flags) takes no part in what is read or written through it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cockpit.adapters.git import Git

ATTRIBUTES = "* -text !eol !filter !ident !working-tree-encoding !diff !merge !export-subst\n"
"""Bytes on disk are the bytes in the tree: no filter, no line-end conversion, no path hidden from the diff."""


@contextmanager
def private_git(
    repo_git: Path, tree: str, worktree: Path | None = None, *, scratch: Path | None = None, keeps_objects: bool = False
) -> Iterator[Git]:
    """Lend git with a private folder and index, reading the objects of ``repo_git``.

    ``tree`` (any object id) tells the hash; ``keeps_objects`` writes new objects into ``repo_git``, otherwise they
    vanish with the folder; ``scratch`` is where that folder lies (default: the system's temporary folder).
    """
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cockpit-git-", dir=scratch) as made:
        folder = Path(made)
        _furnish(folder, repo_git, tree)
        yield Git(
            folder,
            work_tree=worktree,
            index=folder / "index",
            objects=repo_git / "objects" if keeps_objects else folder / "objects",
        )


def write_attributes(git_dir: Path) -> None:
    """Make plain git in a task's worktree see the same bytes as we do."""
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(ATTRIBUTES, "utf-8")


def _furnish(folder: Path, repo_git: Path, tree: str) -> None:
    for name in ("refs", "objects/info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")
    (folder / "objects/info/alternates").write_bytes(os.fsencode(repo_git.absolute() / "objects") + b"\n")
    is_long = len(tree) == 64
    config = (
        f"[core]\n\trepositoryformatversion = {int(is_long)}\n\tbare = false\n\tfilemode = true\n\tsymlinks = true\n"
    )
    (folder / "config").write_text(config + ("[extensions]\n\tobjectformat = sha256\n" if is_long else ""), "utf-8")
    write_attributes(folder)
