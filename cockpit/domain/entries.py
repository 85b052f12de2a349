"""Entries: the facts a task's journal is made of, in the past tense; nothing edits an old one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cockpit.domain.ask import Ask
from cockpit.domain.outcomes import Outcome
from cockpit.domain.states import State


@dataclass(frozen=True, slots=True)
class TaskAdded:
    """The engine made the task's folder."""

    task: str
    ask: Ask
    kind: Literal["task_added"] = "task_added"


@dataclass(frozen=True, slots=True)
class CommandTaken:
    """A command was read and, where it needs work, will be carried out."""

    command: str
    """The command's id."""
    verb: str
    text: str = ""
    """A steering line."""
    kind: Literal["command_taken"] = "command_taken"


@dataclass(frozen=True, slots=True)
class CommandDone:
    """A command was carried out."""

    command: str
    verb: str
    detail: str = ""
    kind: Literal["command_done"] = "command_done"


@dataclass(frozen=True, slots=True)
class CommandRefused:
    """A command made no sense in this state; nothing was changed."""

    command: str
    verb: str
    reason: str
    hint: str = ""
    kind: Literal["command_refused"] = "command_refused"


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The task moved to another state."""

    state: State
    reason: str = ""
    label: str = ""
    grade: str = ""
    by_key: bool = False
    """Waiting for somebody to act and press resume; else it goes on by itself."""
    kind: Literal["state_changed"] = "state_changed"


@dataclass(frozen=True, slots=True)
class PauseChanged:
    """The pause flag was set or cleared."""

    paused: bool
    kind: Literal["pause_changed"] = "pause_changed"


@dataclass(frozen=True, slots=True)
class RepositoryPrepared:
    """The task repository exists, one commit deep."""

    source: str
    """The source repository's path: the user's own, or the mirror."""
    commit: str
    tree: str
    branch: str
    name: str
    elapsed_s: float
    kind: Literal["repository_prepared"] = "repository_prepared"


@dataclass(frozen=True, slots=True)
class EnvironmentPrepared:
    """Dependencies are installed."""

    key: str
    path: str
    """Empty when the project needs none."""
    python: str
    variables: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]
    cached: bool
    level: str
    elapsed_s: float
    kind: Literal["environment_prepared"] = "environment_prepared"


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The tests ran twice on the untouched tree, or could not."""

    command: tuple[str, ...]
    runner: str
    why: str
    """How the command was found."""
    passing: int
    failing: int
    flaky: int
    exit_code: int | None
    cached: bool
    level: str
    elapsed_s: float
    problem: str = ""
    targets: tuple[str, ...] = ()
    """Tests that must pass in the end: named by the issue or by the operator."""
    file: str = ""
    """The full baseline, relative to the task folder."""
    kind: Literal["baseline_measured"] = "baseline_measured"


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A fresh worktree at the base."""

    attempt: int
    worktree: str
    tree: str
    lessons: tuple[str, ...] = ()
    """One line for each failed idea of earlier attempts."""
    kind: Literal["attempt_started"] = "attempt_started"


@dataclass(frozen=True, slots=True)
class Localised:
    """The shortlist was made; the first files go into the prompt."""

    attempt: int
    shortlist: tuple[tuple[str, str], ...]
    """Path and reason, best first."""
    in_play: tuple[str, ...]
    """Files whose text the model is shown."""
    elapsed_s: float
    kind: Literal["localised"] = "localised"


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model call was prepared: its prompt is on disk."""

    attempt: int
    round: int
    step: int
    role: str
    prompt_tokens: int
    edit_format: str
    elapsed_s: float
    """Time spent on making the prompt."""
    shown: tuple[str, ...] = ()
    """Files the model was shown and may change."""
    kind: Literal["step_started"] = "step_started"


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A model call came to an end."""

    attempt: int
    round: int
    step: int
    finish: str
    """``stop``, ``length``, or the watchdog's label."""
    prompt_tokens: int
    """Tokens of the whole prompt, as counted by us."""
    evaluated_tokens: int
    """Prompt tokens the server evaluated in the last call; the rest came from its cache."""
    cached_tokens: int
    generated_tokens: int
    prompt_ms: float
    generated_ms: float
    elapsed_s: float
    reason: str = ""
    model: str = ""
    build: str = ""
    server: str = ""
    missing: tuple[str, ...] = ()
    """What the server cannot do, as its dialect said."""
    kind: Literal["step_ended"] = "step_ended"


@dataclass(frozen=True, slots=True)
class PatchHarvested:
    """An answer was applied and the filesystem read."""

    attempt: int
    round: int
    tree: str
    """The tree now; the restored one when the answer was refused."""
    from_tree: str
    """The tree the answer was applied to."""
    patch_sha256: str
    files: tuple[tuple[str, int, int], ...]
    """Path, added and deleted lines against the base."""
    edits: int
    signature: str
    """Hash of what the answer asked for, to notice repetition."""
    elapsed_s: float
    no_change: str = ""
    """The model's reason, when it says that nothing needs to change."""
    kind: Literal["patch_harvested"] = "patch_harvested"


@dataclass(frozen=True, slots=True)
class GuardsJudged:
    """Guards of one stage looked at the round."""

    attempt: int
    round: int
    stage: str
    outcomes: tuple[Outcome, ...]
    kind: Literal["guards_judged"] = "guards_judged"


@dataclass(frozen=True, slots=True)
class TestsRan:
    """One test run on a tree checked out from the harvested patch."""

    __test__ = False  # keeps pytest from collecting this class

    attempt: int
    round: int
    which: str
    """``selected``, ``full`` or ``rerun``."""
    tree: str
    command: tuple[str, ...]
    runner: str
    exit_code: int | None
    passed: int
    failed: int
    elapsed_s: float
    level: str
    digest: str
    """Short text of what failed, for the model and the receipt."""
    signature: str = ""
    """Hash of the failing ids and their errors."""
    flipped: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    problem: str = ""
    file: str = ""
    """The full report, relative to the task folder."""
    overhead_s: float = 0.0
    """Time for the checkout and its removal."""
    kind: Literal["tests_ran"] = "tests_ran"


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """The round is over."""

    attempt: int
    round: int
    verdict: str
    label: str
    reason: str
    grade: str = ""
    kind: Literal["verdict_reached"] = "verdict_reached"


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """No more rounds in this attempt."""

    attempt: int
    label: str
    reason: str
    kind: Literal["attempt_ended"] = "attempt_ended"


@dataclass(frozen=True, slots=True)
class Decided:
    """The operator's decision was carried out in the source repository."""

    decision: str
    """``approve`` or ``discard``."""
    ref: str
    commit: str
    branch: str = ""
    kind: Literal["decided"] = "decided"


@dataclass(frozen=True, slots=True)
class DecisionUndone:
    """The last decision was taken back."""

    decision: str
    ref: str
    """Where the commit is kept now."""
    kind: Literal["decision_undone"] = "decision_undone"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in the engine went wrong with this task; the traceback is kept."""

    message: str
    traceback: str = ""
    kind: Literal["trouble"] = "trouble"


@dataclass(frozen=True, slots=True)
class EngineStarted:
    """An engine took the lock (root journal)."""

    pid: int
    version: str
    recovered: tuple[str, ...] = ()
    """Tasks that were under way when the last engine ended."""
    swept: int = 0
    """Orphan processes that were killed."""
    kind: Literal["engine_started"] = "engine_started"


@dataclass(frozen=True, slots=True)
class EngineStopped:
    """The engine ended cleanly (root journal)."""

    reason: str
    kind: Literal["engine_stopped"] = "engine_stopped"


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """The model server came, went or changed (root journal)."""

    url: str
    state: str
    """``ready``, ``loading``, ``away``, ``unauthorised``."""
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["server_changed"] = "server_changed"


Entry = (
    TaskAdded
    | CommandTaken
    | CommandDone
    | CommandRefused
    | StateChanged
    | PauseChanged
    | RepositoryPrepared
    | EnvironmentPrepared
    | BaselineMeasured
    | AttemptStarted
    | Localised
    | StepStarted
    | StepEnded
    | PatchHarvested
    | GuardsJudged
    | TestsRan
    | VerdictReached
    | AttemptEnded
    | Decided
    | DecisionUndone
    | Trouble
    | EngineStarted
    | EngineStopped
    | ServerChanged
)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a journal: an entry with its place and time."""

    seq: int
    """From 1, without gaps."""
    at_s: float
    """Seconds since 1970."""
    entry: Entry
