"""Turns the difference of two trees into file changes with kinds, modes, counts and bytes."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from cockpit.adapters.git import Git
from cockpit.adapters.git_settings import NO_DIFF_PROGRAMS
from cockpit.domain.evidence import ChangeKind, FileChange
from cockpit.workspace.repository import read_blobs

GITLINK = "160000"
SYMLINK = "120000"
LFS_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
LFS_MAX = 1024
"""Bytes; a pointer of the large file storage is smaller."""


@dataclass(frozen=True, slots=True)
class _Raw:
    """One entry of git's raw diff."""

    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    status: str
    path: str
    old_path: str | None


@dataclass(frozen=True, slots=True)
class _Count:
    """Lines of one path; None for binary content."""

    added: int | None
    deleted: int | None


def list_changes(git: Git, before: str, after: str) -> tuple[FileChange, ...]:
    """List what differs between two trees, sorted by path."""
    out = git.run("diff-tree", "-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev", *NO_DIFF_PROGRAMS, before, after)
    fields = iter(out.split(b"\0")[:-1])
    raws, counts = _read_rows(fields)
    blobs = read_blobs(git, _blob_ids(raws))
    changes = (_change(raw, counts.get(raw.path, _Count(0, 0)), blobs) for raw in raws)
    return tuple(sorted(changes, key=lambda change: os.fsencode(change.path)))


def changed_names(git: Git, before: str, after: str) -> tuple[str, ...]:
    """List the paths that differ between two trees; a rename is two paths."""
    out = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", *NO_DIFF_PROGRAMS, before, after)
    return tuple(os.fsdecode(row) for row in out.split(b"\0")[:-1])


def patch_between(git: Git, before: str, after: str) -> bytes:
    """Return a patch that leads from one tree to the other, binary files included."""
    return git.run("diff-tree", "-r", "-p", "--binary", "--full-index", "-M", *NO_DIFF_PROGRAMS, before, after)


def _read_rows(fields: Iterator[bytes]) -> tuple[list[_Raw], dict[str, _Count]]:
    raws: list[_Raw] = []
    counts: dict[str, _Count] = {}
    for row in fields:
        if row.startswith(b":"):
            raws.append(_read_raw(row, fields))
        else:
            path, count = _read_count(row, fields)
            counts[path] = count
    return raws, counts


def _read_raw(row: bytes, fields: Iterator[bytes]) -> _Raw:
    old_mode, new_mode, old_oid, new_oid, status = row[1:].decode("ascii").split()
    path = os.fsdecode(next(fields))
    old_path = None
    if status[0] in "RC":
        old_path, path = path, os.fsdecode(next(fields))
    return _Raw(old_mode, new_mode, old_oid, new_oid, status[0], path, old_path)


def _read_count(row: bytes, fields: Iterator[bytes]) -> tuple[str, _Count]:
    added, deleted, path = row.split(b"\t", 2)
    if not path:  # a rename: the two names follow
        next(fields)
        path = next(fields)
    numbers = [None if number == b"-" else int(number) for number in (added, deleted)]
    return os.fsdecode(path), _Count(*numbers)


def _blob_ids(raws: list[_Raw]) -> set[str]:
    sides = [(raw.old_mode, raw.old_oid) for raw in raws] + [(raw.new_mode, raw.new_oid) for raw in raws]
    return {oid for mode, oid in sides if mode not in ("000000", GITLINK)}


def _change(raw: _Raw, count: _Count, blobs: dict[str, bytes]) -> FileChange:
    old, new = blobs.get(raw.old_oid), blobs.get(raw.new_oid)
    return FileChange(
        path=raw.path,
        kind=_kind(raw, old, new, is_binary=count.added is None),
        is_new=raw.status == "A",
        is_deleted=raw.status == "D",
        old_path=raw.old_path,
        old_mode="" if raw.old_mode == "000000" else raw.old_mode,
        new_mode="" if raw.new_mode == "000000" else raw.new_mode,
        added=count.added or 0,
        deleted=count.deleted or 0,
        old=old,
        new=new,
    )


def _kind(raw: _Raw, old: bytes | None, new: bytes | None, *, is_binary: bool) -> ChangeKind:
    modes = {raw.old_mode, raw.new_mode}
    if GITLINK in modes:
        return ChangeKind.SUBMODULE
    if raw.old_oid == raw.new_oid and (SYMLINK not in modes or len(modes) == 1):
        return ChangeKind.RENAME if raw.old_path else ChangeKind.MODE
    if SYMLINK in modes:
        return ChangeKind.SYMLINK
    if any(side is not None and len(side) < LFS_MAX and side.startswith(LFS_HEAD) for side in (old, new)):
        return ChangeKind.LFS_POINTER
    if raw.status == "A" and new == b"":
        return ChangeKind.EMPTY_NEW
    return ChangeKind.BINARY if is_binary else ChangeKind.TEXT
