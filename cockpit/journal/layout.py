"""Knows where every file of a home lies, and makes a home that only its owner can read."""

import re
from dataclasses import dataclass
from pathlib import Path

from cockpit.domain.errors import CockpitError, UsageError
from cockpit.journal.files import sweep_litter, write_atomic

FORMAT = 1
"""Version of the layout and of everything in it; a program never touches a newer one."""

_TASK_ID = re.compile(r"[0-9a-f]{8}")


def valid_task_id(text: str) -> bool:
    """Tell whether ``text`` is 8 lower-case hex digits, and so safe as a folder's name."""
    return _TASK_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class StepFolder:
    """One model call."""

    root: Path

    @property
    def prompt(self) -> Path:
        """What was sent, as text."""
        return self.root / "prompt.txt"

    @property
    def stream(self) -> Path:
        """What came back, line by line (``domain.stream``)."""
        return self.root / "stream.jsonl"

    @property
    def answer(self) -> Path:
        """The answer that stands, as text."""
        return self.root / "answer.txt"


@dataclass(frozen=True, slots=True)
class RoundFolder:
    """What one round came to."""

    root: Path

    @property
    def patch(self) -> Path:
        """The patch against the base, byte for byte."""
        return self.root / "patch.diff"

    @property
    def tests_log(self) -> Path:
        """Output of the test runs."""
        return self.root / "tests.log"

    @property
    def outcomes(self) -> Path:
        """What the guards said."""
        return self.root / "outcomes.json"

    @property
    def evidence(self) -> Path:
        """What the patch guards looked at, without the bytes of files."""
        return self.root / "evidence.json"

    @property
    def refusals(self) -> Path:
        """Edits that were not applied."""
        return self.root / "refusals.json"

    @property
    def tested(self) -> Path:
        """What the guards of the tested patch looked at."""
        return self.root / "tested.json"


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """All of one task."""

    root: Path

    @property
    def task_toml(self) -> Path:
        """What was asked; never edited."""
        return self.root / "task.toml"

    @property
    def journal(self) -> Path:
        """The append-only truth."""
        return self.root / "journal.jsonl"

    @property
    def snapshot(self) -> Path:
        """A folded journal; may be deleted at any time."""
        return self.root / "snapshot.json"

    @property
    def inbox(self) -> Path:
        """Commands for this task."""
        return self.root / "inbox"

    @property
    def repo_git(self) -> Path:
        """Private bare repository, one commit deep."""
        return self.root / "repo.git"

    @property
    def baseline(self) -> Path:
        """The tests on the untouched tree."""
        return self.root / "baseline.json"

    def step(self, attempt: int, step: int) -> StepFolder:
        """Return the folder of a model call; both numbers count from 1."""
        return StepFolder(self.root / "attempts" / str(attempt) / "steps" / str(step))

    def round(self, attempt: int, number: int) -> RoundFolder:
        """Return the folder of a round; both numbers count from 1."""
        return RoundFolder(self.root / "attempts" / str(attempt) / "rounds" / str(number))


@dataclass(frozen=True, slots=True)
class Home:
    """Everything Cockpit keeps, below one folder."""

    root: Path

    @property
    def format_file(self) -> Path:
        """Version of all that follows."""
        return self.root / "format"

    @property
    def engine_lock(self) -> Path:
        """Held by the running engine."""
        return self.root / "engine.lock"

    @property
    def engine_json(self) -> Path:
        """Process id, version and heartbeat of the engine."""
        return self.root / "engine.json"

    @property
    def engine_log(self) -> Path:
        """What the engine printed."""
        return self.root / "engine.log"

    @property
    def inbox(self) -> Path:
        """Commands for the whole."""
        return self.root / "inbox"

    @property
    def journal(self) -> Path:
        """Facts of the whole."""
        return self.root / "journal.jsonl"

    @property
    def tasks_json(self) -> Path:
        """One summary per task."""
        return self.root / "tasks.json"

    @property
    def live_json(self) -> Path:
        """What changes all the time."""
        return self.root / "live.json"

    @property
    def server_json(self) -> Path:
        """The embedded model server, while one runs."""
        return self.root / "server.json"

    @property
    def trust_file(self) -> Path:
        """Repositories the operator consented to."""
        return self.root / "trust.json"

    @property
    def tasks(self) -> Path:
        """One folder per task."""
        return self.root / "tasks"

    @property
    def mirrors(self) -> Path:
        """Bare mirrors of repositories given by URL."""
        return self.root / "mirrors"

    @property
    def worktrees(self) -> Path:
        """Working trees of attempts."""
        return self.root / "worktrees"

    @property
    def envs(self) -> Path:
        """Installed dependencies, shared."""
        return self.root / "envs"

    @property
    def knowledge(self) -> Path:
        """What the scout learned of repositories."""
        return self.root / "knowledge"

    def task(self, task: str) -> TaskFolder:
        """Return the folder of a task; raises ``UsageError`` for anything but an id."""
        if not valid_task_id(task):
            raise UsageError(f"{task!r} is not a task id", hint="a task id is 8 hex digits, as the task list shows it")
        return TaskFolder(self.tasks / task)

    def worktree(self, task: str, attempt: int) -> Path:
        """Return where the worktree of an attempt lies."""
        return self.worktrees / f"{task}-{attempt}"

    def create(self) -> None:
        """Make what is missing, take looser modes back to 0700, and refuse a home of a newer version.

        Raises ``UsageError`` for a newer or unreadable ``format`` and ``CockpitError`` for a home that cannot be
        written.
        """
        _private_folder(self.root)
        self.check_format()
        if not self.format_file.exists():
            write_atomic(self.format_file, f"{FORMAT}\n".encode())
        for folder in (self.inbox, self.tasks, self.mirrors, self.worktrees, self.envs, self.knowledge):
            _private_folder(folder)
        sweep_litter(self.root)
        sweep_litter(self.inbox)

    def check_format(self) -> None:
        """Refuse a home of a newer version; one that does not exist yet is fine. Nothing is written."""
        try:
            text = self.format_file.read_text("utf-8", "replace").strip()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unusable(self.format_file, error) from error
        if not text.isdecimal():
            raise UsageError(
                f"{self.format_file} holds {text[:40]!r} instead of a version",
                hint=f"is {self.root} a home of cockpit? If so, write {FORMAT} into that file",
            )
        if int(text) > FORMAT:
            raise UsageError(
                f"{self.root} was written by a newer cockpit (format {text}, this one knows {FORMAT})",
                hint="install the newer version, or set COCKPIT_HOME to another folder",
            )


def _private_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o777 != 0o700:
            path.chmod(0o700)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> CockpitError:
    return CockpitError(
        f"cannot use {path}: {error.strerror}", hint="make it yours and writable, or set COCKPIT_HOME to another folder"
    )
