"""Turns what a reaper reports into the facts about one command."""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.adapters.confinement import Level
from cockpit.adapters.output import excerpt
from cockpit.domain.errors import SandboxError

NOT_FOUND = 127
NOT_STARTED = 126
BWRAP_SAYS = "bwrap: "
LOST = {
    "exit_code": None,
    "timed_out": False,
    "killed": True,
    "elapsed_s": 0.0,
    "output_bytes": 0,
    "log_truncated": False,
    "has_started": True,
    "errno": None,
    "problem": "the process that watched the command was killed, and the command with it",
}
"""The facts about a command whose reaper died without a word."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of a command."""

    exit_code: int | None
    """128 + n after signal n, 127 when it was not found; None when it was killed or timed out."""
    timed_out: bool
    killed: bool
    """Ended by the operator, by the limit on processes, or because its reaper was killed."""
    elapsed_s: float
    """Without the time it was frozen."""
    tail: str
    """Beginning and end of stdout and stderr, below 1 MB, with a line where something is missing."""
    log: Path
    log_truncated: bool
    output_bytes: int
    """What it wrote in all."""
    level: Level
    problem: str = ""
    """Why there is no exit code worth reading, or what else went wrong; in general empty."""


def killed_before_start(log: Path, level: Level) -> CommandResult:
    """Return the facts about a command that was never started because the operator had ended the task."""
    return read_result(LOST | {"problem": "killed before it started"}, ("",), log, level)


def read_facts(answer: bytes) -> dict[str, Any]:
    """Read the report of a reaper; raises SandboxError with its last words when it failed."""
    lines = answer.splitlines()
    if not lines:
        return dict(LOST)
    try:
        facts = json.loads(lines[-1])
    except ValueError as error:
        words = lines[-1].decode("utf-8", "replace")
        raise SandboxError(
            f"a command could not be watched: {words}", hint="is the disk full or the log protected?"
        ) from error
    return dict(facts)


def read_result(facts: Mapping[str, Any], argv: Sequence[str], log: Path, level: Level) -> CommandResult:
    """Join the facts with the kept output; raises SandboxError when the sandbox itself could not be built."""
    tail = excerpt(str(log), facts["output_bytes"])
    problem, exit_code = facts["problem"], facts["exit_code"]
    if not facts["has_started"]:
        failure = facts["errno"] or _errno_inside(tail)
        problem = _why_not_started(failure, argv[0]) if failure else problem
        exit_code = NOT_FOUND if failure == errno.ENOENT else NOT_STARTED if failure else exit_code
    return CommandResult(
        exit_code=exit_code,
        timed_out=facts["timed_out"],
        killed=facts["killed"],
        elapsed_s=facts["elapsed_s"],
        tail=tail,
        log=log,
        log_truncated=facts["log_truncated"],
        output_bytes=facts["output_bytes"],
        level=level,
        problem=problem,
    )


def _errno_inside(tail: str) -> int:
    """Read why bubblewrap did not start the command; 0 when it says nothing."""
    last = tail.rstrip().rpartition("\n")[2]
    if not last.startswith(BWRAP_SAYS):
        return 0
    if not last.startswith(f"{BWRAP_SAYS}execvp "):
        raise SandboxError(
            f"the sandbox could not be built: {last}", hint='run cockpit doctor, or set [sandbox] mode = "plain"'
        )
    reasons = {"No such file or directory": errno.ENOENT, "Permission denied": errno.EACCES}
    return reasons.get(last.rpartition(": ")[2], errno.ENOEXEC)


def _why_not_started(failure: int, program: str) -> str:
    match failure:
        case errno.ENOENT:
            return f"command not found: {program}"
        case errno.EACCES:
            return f"not executable: {program}"
        case _:
            return f"cannot be executed: {program} (neither a program nor a script with a #! line)"
