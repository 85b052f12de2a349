"""Runs git, hardened: nothing that a repository configures or contains is ever started from here."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cockpit.adapters.git_errors import fail
from cockpit.adapters.git_settings import SETTINGS, USER_CONFIG, environment
from cockpit.domain.errors import CockpitError, GitError, NotFoundError

LIMIT_S = 900
"""Seconds for one local command; a named pipe in place of a file would hold git for ever."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git on exactly the folders named here; git's own discovery takes no part."""

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None
    objects: Path | None = None
    """Where objects are read and written, when not below ``git_dir``."""

    def run(
        self,
        *args: str,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        allowed: Collection[int] = (0,),
    ) -> bytes:
        """Run one git command and return its standard output; any exit code not allowed raises ``GitError``."""
        done = _call(self._command(args), self._environment(env), cwd=self._folder, input=input)
        if done.returncode not in allowed:
            fail(args, done.stderr, self._folder)
        return done.stdout

    def text(self, *args: str, allowed: Collection[int] = (0,)) -> str:
        """Return the output as text without the final line end."""
        return os.fsdecode(self.run(*args, allowed=allowed)).removesuffix("\n")

    def succeeds(self, *args: str) -> bool:
        """Tell whether a question is answered by exit code 0; any other exit code is a no."""
        return _call(self._command(args), self._environment(None), cwd=self._folder).returncode == 0

    def copy_objects(self, ids: bytes, into: "Git", *unpack: str) -> None:
        """Copy objects (ids, one a line) through a pipe; ``unpack`` is the git command that reads the pack.

        Nothing is negotiated and no transport runs, so neither side's remotes, hooks or FETCH_HEAD take part.
        """
        pack = ("pack-objects", "--stdout", "-q", "--window=0", "--delta-base-offset")
        with (
            subprocess.Popen(  # noqa: S603  # git itself; no shell
                into._command(unpack), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=into._environment(None), cwd=into._folder,
            ) as reader,
            subprocess.Popen(  # noqa: S603  # git itself; no shell
                self._command(pack), stdin=subprocess.PIPE, stdout=reader.stdin, stderr=subprocess.PIPE,
                env=self._environment(None), cwd=self._folder,
            ) as writer,
        ):  # fmt: skip
            if reader.stdin is not None:
                reader.stdin.close()  # the writer holds the only other end: its death ends the reader
                reader.stdin = None
            pack_error = writer.communicate(ids)[1]
            unpack_error = reader.communicate()[1]
        if writer.returncode not in (0, -signal.SIGPIPE):  # a broken pipe is the reader's fault
            fail(pack, pack_error, self.git_dir)
        if reader.returncode:
            fail(unpack, unpack_error, into.git_dir)

    def watch(self, *args: str, env: Mapping[str, str], progress: Callable[[str], None]) -> None:
        """Run a command that reports progress on standard error, handing on each line as it comes."""
        lines: list[str] = []
        with subprocess.Popen(  # noqa: S603  # git itself; no shell
            self._command(args), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=self._environment(env), cwd=self._folder, text=True, errors="replace",
        ) as process:  # fmt: skip
            for line in process.stderr or ():  # text mode: \r ends a line too
                lines.append(line)
                del lines[:-50]
                progress(line.strip())
        if process.returncode:
            fail(args, "".join(lines).encode(), self.git_dir)

    @property
    def _folder(self) -> Path:
        return self.work_tree or self.git_dir

    def _command(self, args: tuple[str, ...]) -> list[str]:
        where = [f"--git-dir={self.git_dir}"]
        if self.work_tree is not None:
            where.append(f"--work-tree={self.work_tree}")
        return [*_prefix(), *where, *args]

    def _environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        chosen = environment()
        if self.index is not None:
            chosen["GIT_INDEX_FILE"] = str(self.index)
        if self.objects is not None:
            chosen["GIT_OBJECT_DIRECTORY"] = str(self.objects)
        return chosen | dict(extra or {})


@dataclass(frozen=True, slots=True)
class Repository:
    """What git's discovery found at a path, after its ownership check."""

    git: Git
    """Bound to the repository's common folder (not to one of its worktrees)."""
    head: Git
    """Bound to the folder whose HEAD counts at that path."""
    top: Path
    """Top level of the work tree, or the repository itself when it is bare."""
    is_bare: bool
    is_shallow: bool
    object_format: str
    """``sha1`` or ``sha256``."""


def discover(path: Path) -> Repository:
    """Find the repository at a path; raises ``GitError`` when there is none or git refuses it for its owner."""
    if not path.is_dir():
        raise NotFoundError(f"{path} is not a folder", hint="give the path of a git repository")
    is_bare = _ask(path, "--is-bare-repository") == "true"
    git_dir = Path(_ask(path, "--absolute-git-dir"))
    if not is_bare and _ask(path, "--is-inside-git-dir") == "true":
        raise GitError(f"{path} lies inside a git folder", hint="give the path of the work tree instead")
    common = Path(_ask(path, "--path-format=absolute", "--git-common-dir"))
    return Repository(
        git=Git(common),
        head=Git(git_dir),
        top=git_dir if is_bare else Path(_ask(path, "--show-toplevel")),
        is_bare=is_bare,
        is_shallow=_ask(path, "--is-shallow-repository") == "true",
        object_format=_ask(path, "--show-object-format"),
    )


def user_identity(source: Path) -> tuple[str, str] | None:
    """Return name and e-mail the user commits with in this repository, or None when they are not both set."""
    name, email = (_user_config("-C", str(source), "config", "--get", key) for key in ("user.name", "user.email"))
    return (name[-1], email[-1]) if name and email and name[-1] and email[-1] else None


def safe_directories() -> tuple[str, ...]:
    """Return the user's own ``safe.directory`` entries, the system's first."""
    scopes = ("--system", "--global")
    return tuple(
        entry for scope in scopes for entry in _user_config("config", scope, "-z", "--get-all", "safe.directory")
    )


def _ask(path: Path, *question: str) -> str:
    """Ask ``rev-parse`` with git's own discovery, which is where ownership is checked."""
    command = ("-C", str(path), "rev-parse", *question)
    done = _plain(*command)
    if done.returncode and b"dubious ownership" in done.stderr:
        trusted = [part for entry in safe_directories() for part in ("-c", f"safe.directory={entry}")]
        done = _plain(*trusted, *command)
    if done.returncode:
        fail(("rev-parse",), done.stderr, path)
    return os.fsdecode(done.stdout).removesuffix("\n")


def _plain(*args: str) -> subprocess.CompletedProcess[bytes]:
    return _call([*_prefix(), *args], environment())


def _user_config(*args: str) -> list[str]:
    """Read from the configuration as the user has it; ``git config`` starts no program."""
    chosen = {key: value for key, value in environment().items() if key not in USER_CONFIG}
    chosen |= {key: os.environ[key] for key in USER_CONFIG if key in os.environ}
    done = _call([_program(), *args], chosen)
    if done.returncode:
        return []
    return os.fsdecode(done.stdout).removesuffix("\n").removesuffix("\0").split("\0")


def _call(
    command: list[str], env: Mapping[str, str], *, cwd: Path | None = None, input: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603  # a fixed program; arguments never pass a shell
            command, env=env, cwd=cwd, input=input, capture_output=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(
            f"git in {cwd} did not end within {LIMIT_S} s", hint="look for named pipes there, or a slow disk"
        ) from error
    except OSError as error:
        raise GitError(f"git cannot be run in {cwd}: {error.strerror}", hint="does that folder still exist?") from error


@cache
def _prefix() -> tuple[str, ...]:
    settings = (part for setting in SETTINGS for part in ("-c", setting))
    return (_program(), "--no-pager", *settings)


@cache
def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise CockpitError("git is not installed", hint="install git 2.36 or newer")
    return str(Path(found).absolute())
