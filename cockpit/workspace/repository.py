"""Makes the private repository of a task: one commit deep, so that nothing later can be read from inside."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.git import Git, Repository, discover
from cockpit.domain.errors import GitError, UsageError
from cockpit.workspace.private import write_attributes

BASE_REF = "refs/cockpit/base"
"""Not a branch: a commit made inside a worktree never moves it."""
MAX_BLOB = 4 * 1024 * 1024
"""Bytes; larger files are named, not shown."""


@dataclass(frozen=True, slots=True)
class Base:
    """Where a task starts from."""

    commit: str
    tree: str
    branch: str | None
    """The branch the base was taken from; None when HEAD is detached or a commit was named."""
    described: str
    """For a person, for example ``main at 1a2b3c4d5e: Fix the pager``."""
    root: Path = Path()
    """Top level of the repository that was looked at."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a tree."""

    path: str
    mode: str
    oid: str


def inspect_source(path: Path, base: str | None = None, *, is_mirror: bool = False) -> Base:
    """Find the commit a task starts from: ``base``, or where the repository stands.

    A path inside a repository stands for its top level. Raises ``GitError`` when the repository cannot be used as it
    is; only our own mirror (``is_mirror``) may be bare.
    """
    found = discover(path)
    _refuse_unusable(found, path, is_mirror=is_mirror)
    branch = _branch(found, base, is_mirror=is_mirror)
    commit = _commit(found, base, is_mirror=is_mirror)
    tree, subject = _read_commit(found.head, commit)
    described = f"{branch or base or 'detached HEAD'} at {commit[:10]}: {subject}"
    return Base(commit=commit, tree=tree, branch=branch, described=described, root=found.top)


def create_task_repository(source: Path, base: Base, repo_git: Path) -> None:
    """Make a bare repository that holds the base commit and nothing else; an existing one is checked and kept."""
    if not repo_git.exists():
        _build(discover(source), base, repo_git)
    _check_holds(repo_git, base)


def _build(found: Repository, base: Base, repo_git: Path) -> None:
    """Build beside the place and rename, so that a kill leaves nothing half-made there."""
    part = repo_git.with_name(repo_git.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    part.mkdir(parents=True)
    made = Git(part)
    made.run("init", "-q", "--bare", "--template=", f"--object-format={found.object_format}")
    ids = found.git.run("rev-list", "--objects", "--no-object-names", "--no-walk", base.commit)
    found.git.copy_objects(ids, made, "index-pack", "--stdin")
    (part / "shallow").write_text(base.commit + "\n", "ascii")
    (part / "HEAD").write_text(base.commit + "\n", "ascii")
    write_attributes(part)
    made.run("update-ref", BASE_REF, base.commit)
    part.rename(repo_git)


def record_tree(repo_git: Path, name: str, tree: str) -> str:
    """Keep a harvested tree alive and return its reference; a tree has no commit, so the log stays one commit long."""
    ref = f"refs/cockpit/{name}"
    git = Git(repo_git)
    if not git.succeeds("check-ref-format", ref):
        raise GitError(f"{name} cannot name a recorded tree", hint="use letters, digits, - and / only")
    git.run("update-ref", ref, tree)
    return ref


def tree_entries(git: Git, tree: str) -> tuple[TreeEntry, ...]:
    """List every path of a tree, symlinks and submodules included."""
    rows = git.run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]
    parted = (row.split(b"\t", 1) for row in rows)
    heads = ((head.decode("ascii").split(), os.fsdecode(path)) for head, path in parted)
    return tuple(TreeEntry(path=path, mode=head[0], oid=head[2]) for head, path in heads)


def tracked_paths(repo_git: Path, tree: str) -> tuple[str, ...]:
    """List the paths of a tree; names that are no UTF-8 come with surrogates (``os.fsdecode``)."""
    return tuple(entry.path for entry in tree_entries(Git(repo_git), tree))


def known_tree(repo_git: Path, tree: str | None = None) -> str:
    """Return the tree to start from when none is given: the task's base, else where the repository's HEAD is."""
    git = Git(repo_git)
    names = [tree] if tree else [BASE_REF, "HEAD"]
    found = (git.text("rev-parse", "-q", "--verify", f"{name}^{{tree}}", allowed=(0, 1, 128)) for name in names)
    known = next((oid for oid in found if oid), "")
    if not known:
        raise GitError(f"{repo_git} has no tree {tree or BASE_REF}", hint="the task has to be prepared again")
    return known


def read_blob(repo_git: Path, tree: str, path: str) -> bytes | None:
    """Return the bytes of a file in a tree, None when there is no such file."""
    row = Git(repo_git).run("ls-tree", "-z", "--full-tree", tree, "--", path).split(b"\t", 1)[0].split()
    if len(row) != 3 or row[1] != b"blob":
        return None
    return Git(repo_git).run("cat-file", "blob", row[2].decode("ascii"))


def read_blobs(git: Git, oids: set[str], limit: int = MAX_BLOB) -> dict[str, bytes]:
    """Return the bytes of blobs by id; those larger than ``limit`` bytes are left out."""
    asked = "".join(f"{oid}\n" for oid in sorted(oids)).encode("ascii")
    sized = (row.split() for row in git.run("cat-file", "--batch-check", input=asked).decode("ascii").splitlines())
    small = [row[0] for row in sized if len(row) == 3 and row[1] == "blob" and int(row[2]) <= limit]
    out = git.run("cat-file", "--batch", input="".join(f"{oid}\n" for oid in small).encode("ascii"))
    found: dict[str, bytes] = {}
    at = 0
    for oid in small:
        start = out.index(b"\n", at) + 1
        size = int(out[at : start - 1].split()[2])
        found[oid] = out[start : start + size]
        at = start + size + 1
    return found


def _refuse_unusable(found: Repository, path: Path, *, is_mirror: bool) -> None:
    if found.is_bare and not is_mirror:
        raise GitError(f"{path} is a bare repository", hint="give its URL instead: file://" + str(path.absolute()))
    if found.is_shallow:
        raise GitError(
            f"{path} is a shallow clone: its history is cut off", hint=f"run git -C {path} fetch --unshallow first"
        )
    here = path.resolve()
    if not found.is_bare and not here.is_relative_to(found.top.resolve()):
        raise GitError(
            f"the work tree of {path} lies elsewhere, at {found.top} (core.worktree)",
            hint="give the path of a plain clone",
        )


def _branch(found: Repository, base: str | None, *, is_mirror: bool) -> str | None:
    if base is not None:
        names = [f"refs/remotes/origin/{base}"] if is_mirror else [f"refs/heads/{base}"]
        return base if any(found.git.succeeds("show-ref", "--verify", "-q", name) for name in names) else None
    name = "refs/remotes/origin/HEAD" if is_mirror else "HEAD"
    ref = found.head.text("symbolic-ref", "-q", name, allowed=(0, 1))
    return ref.removeprefix("refs/remotes/origin/").removeprefix("refs/heads/") or None


def _commit(found: Repository, base: str | None, *, is_mirror: bool) -> str:
    if base is not None and (base.startswith("-") or not base.strip()):
        raise UsageError(f"{base!r} does not name a commit", hint="give a branch, a tag or a commit id")
    start = "refs/remotes/origin/HEAD" if is_mirror else "HEAD"
    names = [start] if base is None else ([f"refs/remotes/origin/{base}", base] if is_mirror else [base])
    for name in names:
        commit = found.head.text(
            "rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{commit}}", allowed=(0, 1, 128)
        )
        if commit:
            return commit
    if base is None:
        raise GitError(f"{found.top} has no commits yet", hint="commit something first, or name a base with --base")
    raise GitError(
        f"{found.top} has no commit {base!r}", hint="give a branch, a tag or a commit id; git branch -a lists branches"
    )


def _read_commit(git: Git, commit: str) -> tuple[str, str]:
    """Return tree and subject; read raw, for ``git log`` may be told to start a program that checks signatures."""
    head, _, message = git.run("cat-file", "commit", commit).partition(b"\n\n")
    subject = message.lstrip(b"\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    return head.split(b"\n", 1)[0].split()[1].decode("ascii"), subject


def _check_holds(repo_git: Path, base: Base) -> None:
    git = Git(repo_git)
    held = git.text("rev-parse", "-q", "--verify", BASE_REF, allowed=(0, 1, 128))
    if held != base.commit:
        raise GitError(f"{repo_git} holds {held or 'nothing'} instead of the base {base.commit}", hint="move it away")
    git.run("rev-list", "--objects", "--quiet", "--no-walk", base.commit)
