"""Tells what the engine would do with a model's answer, on a copy that is thrown away."""

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cockpit.cli.common import home_of, settings_of
from cockpit.cli.output import is_ascii_only, print_json, safe, safe_lines, say
from cockpit.domain.errors import NotFoundError, UsageError
from cockpit.domain.outcomes import Limits, Outcome, Status
from cockpit.domain.receipt_text import guard_line
from cockpit.domain.serving import Finish
from cockpit.edits.model import Edit, EditFormat, ParsedAnswer, SearchReplace
from cockpit.edits.parse import parse_answer
from cockpit.guards.registry import run_patch_guards
from cockpit.guards.wording import about
from cockpit.sources.resolve import resolve
from cockpit.workspace.repository import create_task_repository, inspect_source
from cockpit.workspace.taking import Taken, take_answer


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the answer."""

    parsed: ParsedAnswer
    taken: Taken
    outcomes: tuple[Outcome, ...]

    @property
    def blocks(self) -> tuple[Outcome, ...]:
        """The guards that block."""
        return tuple(outcome for outcome in self.outcomes if outcome.status is Status.BLOCK)

    @property
    def is_accepted(self) -> bool:
        """Tell whether it applied exactly, changed something, and no guard blocks."""
        has_problem = bool(self.parsed.problem_label or self.taken.refusals or self.blocks)
        return not has_problem and bool(self.taken.harvested.changes)


def try_answer(args: argparse.Namespace) -> int:
    """``cockpit try-answer``: 0 only when the answer applies exactly and no guard blocks."""
    answer = _answer(args.answer)
    source = resolve(args.repo, home_of(args).mirrors)
    if source.url is not None:
        raise UsageError(f"{args.repo} is a URL", hint="give the path of a clone")
    limits = settings_of(args).limits.in_force()
    with tempfile.TemporaryDirectory(prefix="cockpit-try-") as folder:
        trial = _try(Path(folder), source.path, args, answer, limits)
    if args.json:
        print_json(_plain(trial))
    else:
        _print(trial)
    return 0 if trial.is_accepted else 1


def _answer(name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).expanduser().read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(f"{name} does not exist", hint="give the file that holds the model's answer") from error
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}", hint="give a readable file") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not valid UTF-8 (byte {error.start + 1})", hint="save it as UTF-8") from error


def _try(folder: Path, source: Path, args: argparse.Namespace, answer: str, limits: Limits) -> Trial:
    """Do what a round does between answer and tests, in a task repository of its own."""
    base = inspect_source(source, args.base or None)
    repo_git, worktree = folder / "repo.git", folder / "worktree"
    create_task_repository(base.root, base, repo_git)
    in_play = tuple(args.in_play)
    edit_format: EditFormat = args.format
    parsed = parse_answer(answer, edit_format=edit_format, finish=Finish.STOP, in_play=in_play)
    taken = take_answer(
        repo_git,
        worktree,
        parsed,
        in_play=in_play,
        tree=base.tree,
        base_tree=base.tree,
        scratch=folder / "scratch",
    )
    return Trial(parsed, taken, run_patch_guards(taken.evidence, limits))


def _print(trial: Trial) -> None:
    parsed = trial.parsed
    if parsed.problem_label:
        say(safe(f"cannot be read ({parsed.problem_label}): {parsed.problem_reason}"))
    if parsed.no_change is not None:
        say(safe(f"says that nothing needs to change: {parsed.no_change}"))
    for number, edit in enumerate(parsed.edits, start=1):
        say(safe(f"edit {number}: {_edit(edit)}"))
    for refusal in trial.taken.refusals:
        say(safe(f"refused ({refusal.label}): {about(refusal.path, refusal.reason)}"))
        if refusal.hint:
            say("  " + safe_lines(refusal.hint).replace("\n", "\n  "))
    for outcome in trial.outcomes:
        say(guard_line(outcome, ascii_only=is_ascii_only()))
    if trial.taken.harvested.patch:
        say(safe_lines(trial.taken.harvested.patch.decode("utf-8", "replace")).rstrip("\n"))
    say(_conclusion(trial))


def _edit(edit: Edit) -> str:
    path = edit.path or "(no file named)"
    if isinstance(edit, SearchReplace):
        return f"{path}, {_lines(edit.search)} become {_lines(edit.replace)} (answer line {edit.line})"
    return f"{path}, the whole file in {_lines(edit.text)} (answer line {edit.line})"


def _lines(text: str) -> str:
    count = text.count("\n")
    return f"{count} line{'' if count == 1 else 's'}"


def _conclusion(trial: Trial) -> str:
    if trial.is_accepted:
        return "the engine would take this patch to the tests"
    if trial.parsed.no_change is not None:
        return "the engine would end the task: no change"
    if trial.parsed.problem_label:
        return f"the engine would ask again: {trial.parsed.problem_label}"
    labels = [refusal.label for refusal in trial.taken.refusals]
    labels = labels or [outcome.label or outcome.guard for outcome in trial.blocks]
    return f"the engine would refuse this answer: {', '.join(dict.fromkeys(labels)) or 'nothing differs'}"


def _plain(trial: Trial) -> dict[str, Any]:
    parsed = trial.parsed
    return {
        "accepted": trial.is_accepted,
        "problem": {"label": parsed.problem_label, "reason": parsed.problem_reason} if parsed.problem_label else None,
        "no_change": parsed.no_change,
        "edits": [{"path": edit.path, "kind": type(edit).__name__, "line": edit.line} for edit in parsed.edits],
        "refusals": [asdict(refusal) for refusal in trial.taken.refusals],
        "guards": [asdict(outcome) for outcome in trial.outcomes],
        "files": [[change.path, change.added, change.deleted] for change in trial.taken.harvested.changes],
        "base_tree": trial.taken.evidence.base_tree,
        "tree": trial.taken.harvested.tree,
        "diff": trial.taken.harvested.patch.decode("utf-8", "backslashreplace"),
    }
