"""Finds out where a task's repository is, and keeps a mirror of one that is given by URL."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from cockpit.adapters.git import Git, safe_directories
from cockpit.domain.errors import GitError, NotFoundError, UsageError

SCHEMES = frozenset({"https", "http", "ssh", "file"})
SCP = re.compile(r"(?P<user>[\w.+-]+)@(?P<host>[\w.-]+):(?P<path>[^:].*)")
ANY_URL = re.compile(r"[A-Za-z][\w+.-]*:(:|//)")
NETWORK = {
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15",
}
"""No prompt, no other transport."""
URL_HINT = "give https://…, ssh://…, git@host:path, file:///… or a local path"


@dataclass(frozen=True, slots=True)
class Source:
    """A source repository."""

    kind: Literal["path", "url"]
    url: str | None
    path: Path
    """The user's own repository, or our mirror of a URL."""
    name: str
    """Safe as a file name; different for different sources."""


def resolve(argument: str, mirrors: Path) -> Source:
    """Read a path or a URL; raises ``UsageError`` for forms that are not accepted, ``NotFoundError`` for no folder."""
    if argument.startswith("-") or not argument.strip() or not argument.isprintable():
        raise UsageError(f"{argument!r} is neither a path nor a URL", hint=URL_HINT)
    if SCP.fullmatch(argument) or ANY_URL.match(argument):
        url = _checked(argument)
        name = _name(_path_of(url), url)
        return Source("url", url, mirrors / f"{name}.git", name)
    path = Path(argument).expanduser().absolute()
    if not path.is_dir():
        raise NotFoundError(f"{path} is not a folder", hint=URL_HINT)
    return Source("path", None, path, _name(path.name, str(path.resolve())))


def ensure_mirror(source: Source, progress: Callable[[str], None] | None = None) -> None:
    """Make or refresh the bare mirror of a URL; branches come to ``refs/remotes/origin``, tags to ``refs/tags``.

    Branches that are gone at the origin go here too; branches and references made by approving stay. Nothing happens
    for a path. Raises ``GitError`` with what to do; it never asks for a password.
    """
    if source.url is None:
        return
    if not source.path.exists():
        _make(source.path)
    git = Git(source.path)
    with _trusting() as env:
        head = git.run("ls-remote", "--symref", source.url, "HEAD", env=env)
        specs = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        options = ("--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--progress")
        git.watch("fetch", *options, source.url, *specs, env=env, progress=progress or _quiet)
    _point_head(git, head, source.url)


def _checked(url: str) -> str:
    scp = SCP.fullmatch(url)
    if scp:
        host, path, has_secret = scp["host"], scp["path"], False
    else:
        parts = urlsplit(url)
        if parts.scheme.lower() not in SCHEMES or "::" in url.split("/", 1)[0]:
            raise UsageError(f"{url} is not a kind of URL that is fetched", hint=URL_HINT)
        host, path, has_secret = parts.hostname or "", parts.path, parts.password is not None
        if not host and parts.scheme.lower() != "file":
            raise UsageError(f"{url} names no host", hint=URL_HINT)
    if has_secret:
        raise UsageError("the URL holds a password", hint="clone the repository yourself and give its path")
    if host.startswith("-") or path.startswith("-") or not path.strip("/"):
        raise UsageError(f"{url} names no repository", hint=URL_HINT)
    return url


def _path_of(url: str) -> str:
    scp = SCP.fullmatch(url)
    return scp["path"] if scp else urlsplit(url).path


def _name(path: str, identity: str) -> str:
    """Name a source for people by its last two parts, and apart from all others by a hash."""
    parts = path.rstrip("/").removesuffix(".git").split("/")[-2:]
    words = (re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-") for part in parts)
    digest = hashlib.sha256(os.fsencode(identity)).hexdigest()[:10]
    return "-".join([*(word[:40] for word in words if word), digest])


def _make(path: Path) -> None:
    part = path.with_name(path.name + ".part")
    if part.exists():
        shutil.rmtree(part)
    part.mkdir(parents=True)
    Git(part).run("init", "-q", "--bare", "--template=")
    part.rename(path)


def _point_head(git: Git, listed: bytes, url: str) -> None:
    """Point ``refs/remotes/origin/HEAD`` where the origin's HEAD points."""
    named = re.search(rb"^ref: refs/heads/(\S+)\tHEAD$", listed, re.MULTILINE)
    commit = re.search(rb"^([0-9a-f]{40,64})\tHEAD$", listed, re.MULTILINE)
    if named and git.succeeds("show-ref", "--verify", "-q", f"refs/remotes/origin/{os.fsdecode(named[1])}"):
        git.run("symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{os.fsdecode(named[1])}")
    elif commit:
        git.run("update-ref", "--no-deref", "refs/remotes/origin/HEAD", commit[1].decode("ascii"))
    else:
        raise GitError(f"{url} has no commits yet", hint="push something there first")


@contextmanager
def _trusting() -> Iterator[dict[str, str]]:
    """Lend an environment in which git's other end honours the user's own ``safe.directory`` entries, nothing else.

    Reading a file:// URL starts a second git, which settings of the first one's command line do not reach.
    """
    entries = safe_directories()
    with tempfile.NamedTemporaryFile("w", prefix="cockpit-config-", encoding="utf-8", errors="surrogateescape") as file:
        quoted = (entry.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for entry in entries)
        file.write("[safe]\n" + "".join(f'\tdirectory = "{entry}"\n' for entry in quoted))
        file.flush()
        yield NETWORK | {"GIT_CONFIG_GLOBAL": file.name}


def _quiet(_: str) -> None:
    """Report to nobody."""
