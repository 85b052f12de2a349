"""Applies an answer to the worktree, reads the filesystem, and lets the patch guards judge."""

import asyncio
import hashlib
import time
from dataclasses import dataclass, replace

from cockpit.adapters.syntax import syntax_deltas
from cockpit.domain.entries import GuardsJudged, PatchHarvested, StepEnded, StepStarted
from cockpit.domain.evidence import EditRefusal, PatchEvidence, TestedEvidence, WrittenFile
from cockpit.domain.outcomes import Outcome, Stage
from cockpit.edits.apply import apply_edits
from cockpit.edits.model import Edit, EditFormat
from cockpit.edits.parse import parse_answer
from cockpit.engine.context import TaskContext
from cockpit.guards.registry import run_patch_guards
from cockpit.journal.codec import from_json, to_json
from cockpit.journal.files import write_atomic
from cockpit.workspace.disk import DiskTree, write_files
from cockpit.workspace.harvest import Harvest, dirty_paths, harvest
from cockpit.workspace.repository import record_tree
from cockpit.workspace.worktree import restore

READABLE_ENDS = frozenset({"stop", "length", "cut"})


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an answer came to on disk."""

    label: str
    reason: str
    no_change: str
    edits: tuple[Edit, ...]
    written: tuple[WrittenFile, ...]
    refusals: tuple[EditRefusal, ...]
    dirty: tuple[str, ...]
    harvested: Harvest


async def harvest_answer(ctx: TaskContext) -> None:
    """Turn the round's answer into a harvested patch with evidence; repeated it comes to the same."""
    attempt, now = ctx.attempt, ctx.round
    assert now.step is not None and now.answer is not None  # noqa: S101, PT018  # next_move comes here after the answer
    started = time.monotonic()
    folder = ctx.folder.step(attempt.number, now.step.step)
    answer = folder.answer.read_bytes().decode("utf-8", "surrogatepass")
    reading = await asyncio.to_thread(_read, ctx, answer, now.step, now.answer)
    evidence = await asyncio.to_thread(_evidence, ctx, reading)
    outcomes = run_patch_guards(evidence, ctx.limits)
    _keep(ctx, reading, evidence)
    if now.harvest is None:
        ctx.record(_entry(ctx, reading, answer, time.monotonic() - started))
    judge(ctx, Stage.PATCH, outcomes)
    if ctx.round.is_blocked:
        await asyncio.to_thread(restore, ctx.folder.repo_git, ctx.worktree, attempt.tree)


def judge(ctx: TaskContext, stage: Stage, outcomes: tuple[Outcome, ...]) -> None:
    """Write the outcomes of a stage into the journal, and all of the round so far beside it."""
    ctx.record(GuardsJudged(ctx.attempt.number, ctx.round.number, stage.value, outcomes))
    path = ctx.folder.round(ctx.attempt.number, ctx.round.number).outcomes
    write_atomic(path, to_json(ctx.round.outcomes))


def load_evidence(ctx: TaskContext) -> PatchEvidence:
    """Read the evidence of the round's patch stage."""
    folder = ctx.folder.round(ctx.attempt.number, ctx.round.number)
    return from_json(PatchEvidence, (folder.root / "evidence.json").read_bytes())


def load_tested(ctx: TaskContext) -> TestedEvidence | None:
    """Read the evidence of the round's tested stage; None when nothing was tested in it."""
    path = ctx.folder.round(ctx.attempt.number, ctx.round.number).root / "tested.json"
    if "tested" not in ctx.round.stages or not path.exists():
        return None
    return from_json(TestedEvidence, path.read_bytes())


def _read(ctx: TaskContext, answer: str, step: StepStarted, ended: StepEnded) -> _Reading:
    """Apply the answer to the last tree that no guard blocked."""
    repo_git, worktree, tree = ctx.folder.repo_git, ctx.worktree, ctx.attempt.tree
    restore(repo_git, worktree, tree)
    dirty = dirty_paths(repo_git, worktree, tree)
    label, reason, no_change = "", "", ""
    edits: tuple[Edit, ...] = ()
    written: tuple[WrittenFile, ...] = ()
    refusals: tuple[EditRefusal, ...] = ()
    if ended.finish not in READABLE_ENDS:
        label, reason = ended.finish, ended.reason or f"the answer was stopped: {ended.finish}"
    else:
        parsed = parse_answer(answer, edit_format=_format(step.edit_format), finish=ended.finish, in_play=step.shown)
        label, reason, no_change, edits = (
            parsed.problem_label, parsed.problem_reason, parsed.no_change or "", tuple(parsed.edits),
        )  # fmt: skip
    if edits and not label:
        applied = apply_edits(edits, DiskTree(repo_git, worktree, step.shown, tree=tree))
        written, refusals = applied.written, applied.refusals
        write_files(worktree, written)
    harvested = harvest(repo_git, worktree, ctx.attempt.base_tree, ctx.scratch("harvest"))
    return _Reading(label, reason, no_change, edits, written, refusals, dirty, harvested)


def _format(name: str) -> EditFormat:
    match name:
        case "whole_file" | "search_replace":
            return name
        case _:
            return "auto"


def _evidence(ctx: TaskContext, reading: _Reading) -> PatchEvidence:
    harvested = reading.harvested
    shown = {change.path for change in harvested.changes}
    hidden = tuple(item.path for item in reading.written if item.path not in shown and item.before is None)
    return PatchEvidence(
        base_tree=ctx.attempt.base_tree,
        tree=harvested.tree,
        changes=harvested.changes,
        refusals=reading.refusals,
        answer_label=reading.label,
        answer_reason=reading.reason,
        edits_asked=len(reading.edits),
        written=reading.written,
        ignored=hidden,
        dirty_base=reading.dirty,
        syntax=syntax_deltas(harvested.changes),
        issue_text=ctx.state.ask.issue,
    )


def _keep(ctx: TaskContext, reading: _Reading, evidence: PatchEvidence) -> None:
    attempt, now = ctx.attempt.number, ctx.round.number
    record_tree(ctx.folder.repo_git, f"rounds/{attempt}/{now}", reading.harvested.tree)
    folder = ctx.folder.round(attempt, now)
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.patch, reading.harvested.patch)
    write_atomic(folder.root / "refusals.json", to_json(reading.refusals))
    write_atomic(folder.root / "evidence.json", to_json(_lean(evidence)))


def _lean(evidence: PatchEvidence) -> PatchEvidence:
    """Leave the bytes of files out: they stand in the tree, and later stages judge by tests."""
    changes = evidence.changes and tuple(replace(change, old=None, new=None) for change in evidence.changes)
    return replace(evidence, changes=changes, written=())


def _entry(ctx: TaskContext, reading: _Reading, answer: str, elapsed_s: float) -> PatchHarvested:
    harvested = reading.harvested
    asked = repr(reading.edits) if reading.edits else answer
    return PatchHarvested(
        attempt=ctx.attempt.number,
        round=ctx.round.number,
        tree=harvested.tree,
        from_tree=ctx.attempt.tree,
        patch_sha256=hashlib.sha256(harvested.patch).hexdigest(),
        files=tuple((change.path, change.added, change.deleted) for change in harvested.changes),
        edits=len(reading.edits),
        signature=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        elapsed_s=elapsed_s,
        no_change=reading.no_change,
    )
