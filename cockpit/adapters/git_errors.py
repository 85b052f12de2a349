"""Turns what git says on failure into an error with what to do next."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from cockpit.domain.errors import GitError, HoldError

ADVICE = (
    ("not a git repository", "repository_error", "give the path of a git repository; git init makes one"),
    ("does not appear to be a git repository", "repository_error", "check the address"),
    (".lock': File exists", "repository_error", "another git process is at work there; when none is, remove that file"),
    ("No space left on device", "disk_full", "free some disk space"),
    ("Permission denied", "repository_error", "check who may read and write there"),
    ("could not read Username", "repository_error", "it asks for a login: clone it yourself and give the path"),
    ("Authentication failed", "repository_error", "it asks for a login: clone it yourself and give the path"),
    ("Permission denied (publickey", "repository_error", "load the right key into your ssh agent, or give a path"),
    ("Could not resolve host", "repository_error", "check the address and the network"),
    ("Repository not found", "repository_error", "check the address; a private repository has to be cloned by you"),
    (
        "unable to read",
        "repository_error",
        "objects are missing: run git fsck there (a partial clone has to fetch them)",
    ),
)
"""Words of git, label, what to do; the last match wins."""


def fail(args: Collection[str], stderr: bytes, where: Path) -> NoReturn:
    """Raise ``GitError`` with git's own words and what to do about them, ``HoldError`` when the disk is full."""
    said = stderr.decode("utf-8", "replace").strip()
    complaint = re.search(r"^(?:fatal|error): (.+)$", said, re.MULTILINE)
    first = complaint[1] if complaint else said.split("\n", 1)[0] or "no reason given"
    command = next((arg for arg in args if not arg.startswith("-")), "")
    label, hint = _advice(said, where)
    kind = HoldError if label == "disk_full" else GitError
    raise kind(f"git {command} in {where}: {first[:500]}", hint=hint, label=label)


def _advice(said: str, where: Path) -> tuple[str, str]:
    if "dubious ownership" in said:
        named = re.search(r"repository at '(.+)'", said)
        place = named[1] if named else str(where)
        return "repository_error", (
            f"it belongs to another user; if you trust it: git config --global --add safe.directory {place}"
        )
    found = [(label, hint) for words, label, hint in ADVICE if words in said]
    return found[-1] if found else ("repository_error", f"look at it with plain git: git -C {where} status")
