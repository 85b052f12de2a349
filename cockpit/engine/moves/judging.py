"""Applies an answer to the worktree, reads the filesystem, and lets the patch guards judge."""

import asyncio
import hashlib
import time
from dataclasses import replace

from cockpit.domain.entries import GuardsJudged, PatchHarvested, StepEnded, StepStarted
from cockpit.domain.evidence import PatchEvidence, TestedEvidence
from cockpit.domain.outcomes import Outcome, Stage
from cockpit.edits.model import EditFormat, ParsedAnswer
from cockpit.edits.parse import parse_answer
from cockpit.engine.context import TaskContext
from cockpit.guards.registry import run_patch_guards
from cockpit.journal.codec import from_json, to_json
from cockpit.journal.files import write_atomic
from cockpit.workspace.repository import record_tree
from cockpit.workspace.taking import Taken, take_answer
from cockpit.workspace.worktree import restore

READABLE_ENDS = frozenset({"stop", "length", "cut"})


async def harvest_answer(ctx: TaskContext) -> None:
    """Turn the round's answer into a harvested patch with evidence; repeated it comes to the same."""
    attempt, now = ctx.attempt, ctx.round
    assert now.step is not None and now.answer is not None  # noqa: S101, PT018  # next_move comes here after the answer
    started = time.monotonic()
    folder = ctx.folder.step(attempt.number, now.step.step)
    answer = folder.answer.read_bytes().decode("utf-8", "surrogatepass")
    parsed = _parsed(answer, now.step, now.answer)
    taken, outcomes = await asyncio.to_thread(_take, ctx, parsed, now.step.shown)
    if now.harvest is None:
        ctx.record(_entry(ctx, parsed, taken, answer, time.monotonic() - started))
    judge(ctx, Stage.PATCH, outcomes)
    if ctx.round.is_blocked:
        await asyncio.to_thread(restore, ctx.folder.repo_git, ctx.worktree, attempt.tree)


def _parsed(answer: str, step: StepStarted, ended: StepEnded) -> ParsedAnswer:
    """Read the answer; one that a watchdog ended is not read at all."""
    if ended.finish in READABLE_ENDS:
        return parse_answer(answer, edit_format=_format(step.edit_format), finish=ended.finish, in_play=step.shown)
    reason = ended.reason or f"the answer was stopped: {ended.finish}"
    return ParsedAnswer(problem_label=ended.finish, problem_reason=reason)


def _take(ctx: TaskContext, parsed: ParsedAnswer, shown: tuple[str, ...]) -> tuple[Taken, tuple[Outcome, ...]]:
    """Apply the answer to the last tree that no guard blocked, keep what came of it, and judge it."""
    taken = take_answer(
        ctx.folder.repo_git,
        ctx.worktree,
        parsed,
        in_play=shown,
        tree=ctx.attempt.tree,
        base_tree=ctx.attempt.base_tree,
        scratch=ctx.scratch("harvest"),
        issue=ctx.state.ask.issue,
    )
    _keep(ctx, taken)
    return taken, run_patch_guards(taken.evidence, ctx.limits)


def judge(ctx: TaskContext, stage: Stage, outcomes: tuple[Outcome, ...]) -> None:
    """Write all outcomes of the round so far into its folder, then those of this stage into the journal."""
    path = ctx.folder.round(ctx.attempt.number, ctx.round.number).outcomes
    write_atomic(path, to_json((*ctx.round.outcomes, *outcomes)))
    ctx.record(GuardsJudged(ctx.attempt.number, ctx.round.number, stage.value, outcomes))


def load_evidence(ctx: TaskContext) -> PatchEvidence:
    """Read the evidence of the round's patch stage."""
    folder = ctx.folder.round(ctx.attempt.number, ctx.round.number)
    return from_json(PatchEvidence, folder.evidence.read_bytes())


def load_tested(ctx: TaskContext) -> TestedEvidence | None:
    """Read the evidence of the round's tested stage; None when nothing was tested in it."""
    path = ctx.folder.round(ctx.attempt.number, ctx.round.number).tested
    if "tested" not in ctx.round.stages or not path.exists():
        return None
    return from_json(TestedEvidence, path.read_bytes())


def _format(name: str) -> EditFormat:
    match name:
        case "whole_file" | "search_replace":
            return name
        case _:
            return "auto"


def _keep(ctx: TaskContext, taken: Taken) -> None:
    attempt, now = ctx.attempt.number, ctx.round.number
    record_tree(ctx.folder.repo_git, f"rounds/{attempt}/{now}", taken.harvested.tree)
    folder = ctx.folder.round(attempt, now)
    folder.root.mkdir(parents=True, exist_ok=True)
    write_atomic(folder.patch, taken.harvested.patch)
    write_atomic(folder.refusals, to_json(taken.refusals))
    write_atomic(folder.evidence, to_json(_lean(taken.evidence)))


def _lean(evidence: PatchEvidence) -> PatchEvidence:
    """Leave the bytes of files out: they stand in the tree, and later stages judge by tests."""
    changes = evidence.changes and tuple(replace(change, old=None, new=None) for change in evidence.changes)
    return replace(evidence, changes=changes, written=())


def _entry(ctx: TaskContext, parsed: ParsedAnswer, taken: Taken, answer: str, elapsed_s: float) -> PatchHarvested:
    harvested = taken.harvested
    asked = repr(parsed.edits) if parsed.edits else answer
    return PatchHarvested(
        attempt=ctx.attempt.number,
        round=ctx.round.number,
        tree=harvested.tree,
        from_tree=ctx.attempt.tree,
        patch_sha256=hashlib.sha256(harvested.patch).hexdigest(),
        files=tuple((change.path, change.added, change.deleted) for change in harvested.changes),
        edits=len(parsed.edits),
        signature=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        elapsed_s=elapsed_s,
        no_change=parsed.no_change or "",
    )
