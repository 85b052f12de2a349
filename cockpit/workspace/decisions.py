"""Writes what the operator decided into the source repository: one commit and one reference, nothing else."""

from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.git import Git, Repository, discover, user_identity
from cockpit.domain.errors import GitError, UsageError
from cockpit.workspace.repository import Base

FALLBACK_IDENTITY = ("Cockpit operator", "cockpit@localhost")
"""Name and e-mail when the user has configured none."""
DISCARDED = "refs/cockpit/discarded/"
UNDONE = "refs/cockpit/undone/"


@dataclass(frozen=True, slots=True)
class Approval:
    """What approving left in the source repository."""

    commit: str
    ref: str
    """``refs/heads/…``."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What discarding left in the source repository."""

    commit: str
    ref: str
    """``refs/cockpit/discarded/…``."""


def approve(
    source: Path,
    repo_git: Path,
    *,
    base: Base,
    tree: str,
    branch: str,
    message: str,
    when_s: int,
    identity: tuple[str, str] | None = None,
) -> Approval:
    """Commit a tree on top of the base on a new branch; doing it again gives the same commit.

    ``when_s`` is the commit's date (Unix seconds), ``identity`` name and e-mail (default: the user's). Raises
    ``GitError`` when the branch holds something else, is checked out, or nothing differs from the base.
    """
    found = discover(source)
    ref = _branch_ref(found.git, branch)
    if tree == base.tree:
        raise GitError("there is nothing to approve: the tree equals the base", hint="discard the task instead")
    commit = _commit(found, repo_git, base, tree, message, when_s, identity or identity_for(source))
    tip = tip_of(found.git, ref)
    if tip not in ("", commit):
        raise GitError(
            f"branch {branch} exists in {source} and holds something else ({tip[:10]})",
            hint=f"rename it (git branch -m {branch} NEW), or approve under another name",
        )
    if not tip:
        _refuse_checked_out(found.git, ref, branch)
        _create(found.git, ref, commit)
    return Approval(commit, ref)


def discard(
    source: Path,
    repo_git: Path,
    *,
    base: Base,
    tree: str,
    task: str,
    message: str,
    when_s: int,
    identity: tuple[str, str] | None = None,
) -> Kept | None:
    """Keep a discarded tree as a commit under ``refs/cockpit/discarded``.

    Returns None when nothing differs from the base: then there is nothing to keep.
    """
    found = discover(source)
    if tree == base.tree:
        return None
    commit = _commit(found, repo_git, base, tree, message, when_s, identity or identity_for(source))
    ref, is_new = _keeping_ref(found.git, DISCARDED + task, commit)
    if is_new:
        _create(found.git, ref, commit)
    return Kept(commit, ref)


def undo_approve(source: Path, branch: str, commit: str, *, task: str) -> str:
    """Take an approved branch back and return the reference that keeps its commit.

    Raises ``GitError`` when the branch has moved on or is checked out; doing it again changes nothing.
    """
    git = discover(source).git
    ref = _branch_ref(git, branch)
    tip = tip_of(git, ref)
    if tip not in ("", commit):
        raise GitError(
            f"branch {branch} has moved on since it was approved ({tip[:10]})",
            hint=f"look at it, then remove it yourself: git -C {source} branch -D {branch}",
        )
    _refuse_checked_out(git, ref, branch)
    return _move(git, ref if tip else None, UNDONE + task, commit)


def undo_discard(source: Path, task: str, commit: str) -> str:
    """Take a discard back and return the reference that still keeps its commit."""
    git = discover(source).git
    refs = git.text("for-each-ref", "--points-at", commit, "--format=%(refname)", DISCARDED).split("\n")
    own = [ref for ref in refs if ref == DISCARDED + task or ref.startswith(DISCARDED + task + "-")]
    return _move(git, own[0] if own else None, UNDONE + task, commit)


def commit_message(subject: str, body: str = "", trailers: tuple[tuple[str, str], ...] = ()) -> str:
    """Compose a commit message; line breaks in the subject or a trailer become spaces."""
    blocks = [" ".join(subject.split()), body.strip("\n"), "\n".join(_trailer(*trailer) for trailer in trailers)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def identity_for(source: Path) -> tuple[str, str]:
    """Return name and e-mail for commits in a repository: the user's, else a stand-in."""
    return user_identity(source) or FALLBACK_IDENTITY


def tip_of(git: Git, ref: str) -> str:
    """Return the commit a full reference points at; empty when there is none."""
    return git.text("rev-parse", "-q", "--verify", ref, allowed=(0, 1, 128))


def _trailer(key: str, value: str) -> str:
    return f"{key}: {' '.join(value.split())}"


def _branch_ref(git: Git, branch: str) -> str:
    ref = f"refs/heads/{branch}"
    if branch.startswith("-") or branch == "HEAD" or not git.succeeds("check-ref-format", ref):
        raise UsageError(f"{branch!r} is no name for a branch", hint="use letters, digits, - and /")
    return ref


def _commit(
    found: Repository, repo_git: Path, base: Base, tree: str, message: str, when_s: int, identity: tuple[str, str]
) -> str:
    """Bring the objects over and write the commit; every step may be repeated after a crash."""
    source, task = found.git, Git(repo_git)
    if not source.succeeds("cat-file", "-e", f"{base.commit}^{{tree}}"):
        raise GitError(f"{found.top} no longer has the base {base.commit[:10]}", hint="fetch it there, then try again")
    fresh = task.run("rev-list", "--objects", "--no-object-names", tree, f"^{base.tree}")
    task.copy_objects(fresh, source, "unpack-objects", "-q")
    name, email = (_plain(part) for part in identity)
    signed = f"{name} <{email}> {when_s} +0000"
    head = f"tree {tree}\nparent {base.commit}\nauthor {signed}\ncommitter {signed}\n\n"
    content = (head + message.replace("\0", "").rstrip("\n") + "\n").encode("utf-8", "replace")
    commit = source.run("hash-object", "-t", "commit", "-w", "--stdin", input=content).decode("ascii").strip()
    source.run("rev-list", "--objects", "--quiet", commit, f"^{base.commit}")  # fails when an object did not arrive
    return commit


def _plain(part: str) -> str:
    return "".join(char for char in part if char.isprintable() and char not in "<>").strip() or "unknown"


def _create(git: Git, ref: str, commit: str) -> None:
    """Create a reference; one that appeared meanwhile is an error."""
    git.run("update-ref", "--no-deref", ref, commit, "0" * len(commit))


def _move(git: Git, ref: str | None, keep: str, commit: str) -> str:
    """Delete a reference and keep its commit under another, both or neither."""
    kept, is_new = _keeping_ref(git, keep, commit)
    steps = [f"create {kept} {commit}\n"] if is_new else []
    steps += [f"delete {ref} {commit}\n"] if ref else []
    git.run("update-ref", "--no-deref", "--stdin", input="".join(steps).encode())
    return kept


def _keeping_ref(git: Git, ref: str, commit: str) -> tuple[str, bool]:
    """Return a reference for a commit and whether it has to be made; one that keeps another commit is left alone."""
    number, name = 1, ref
    while (tip := tip_of(git, name)) not in ("", commit):
        number += 1
        name = f"{ref}-{number}"
    return name, not tip


def _refuse_checked_out(git: Git, ref: str, branch: str) -> None:
    """Refuse to touch a branch that a worktree of the user stands on, born or not."""
    for block in git.text("worktree", "list", "--porcelain", "-z").split("\0\0"):
        fields = block.split("\0")
        if f"branch {ref}" in fields:
            place = fields[0].removeprefix("worktree ")
            raise GitError(
                f"branch {branch} is checked out in {place}", hint=f"switch to another one: git -C {place} switch -"
            )
