"""Carries out what the operator decided: approve, discard, undo, kill."""

import asyncio
from pathlib import Path

from cockpit import __version__
from cockpit.domain.ask import title_of
from cockpit.domain.entries import (
    CommandDone,
    CommandRefused,
    Decided,
    DecisionUndone,
    PatchHarvested,
    StateChanged,
    Trouble,
)
from cockpit.domain.errors import CockpitError, HoldError
from cockpit.domain.plan import CarryOut
from cockpit.domain.states import State
from cockpit.engine.context import TaskContext
from cockpit.workspace.decisions import approve, commit_message, discard, undo_approve, undo_discard
from cockpit.workspace.repository import Base
from cockpit.workspace.worktree import add_worktree, remove_worktree


async def carry_out(ctx: TaskContext, move: CarryOut) -> None:
    """Do it, or say why it cannot be done; repeated after a crash it comes to the same."""
    command = move.command
    try:
        detail = await _do(ctx, command.verb, int(command.at_s))
    except HoldError:
        raise  # no refusal: part of it may be done, and the rest is done as soon as it can be written down
    except CockpitError as error:
        ctx.record(CommandRefused(command.id, command.verb, error.message, error.hint))
        return
    ctx.record(CommandDone(command.id, command.verb, detail))


async def _do(ctx: TaskContext, verb: str, when_s: int) -> str:
    match verb:
        case "kill":
            return await _kill(ctx)
        case "approve":
            return await _approve(ctx, when_s)
        case "discard":
            return await _discard(ctx, when_s)
        case _:
            return await _undo(ctx)


async def _kill(ctx: TaskContext) -> str:
    kept = _kept(ctx)
    if ctx.state.state is not State.KILLED:
        ctx.record(StateChanged(State.KILLED, "killed by the operator", label="human_stop"))
    await drop_worktrees(ctx)
    return f"killed; the last patch is kept in {kept}" if kept else "killed; there was no patch yet"


def _kept(ctx: TaskContext) -> str:
    for attempt in reversed(ctx.state.attempts):
        for item in reversed(attempt.rounds):
            if item.harvest is not None and item.harvest.files:
                return str(ctx.folder.round(attempt.number, item.number).patch)
    return ""


async def _approve(ctx: TaskContext, when_s: int) -> str:
    source, base, harvest = _decidable(ctx)
    branch = f"cockpit/{ctx.task}"
    decided = ctx.state.decision
    if decided is None:
        done = await asyncio.to_thread(
            approve,
            source,
            ctx.folder.repo_git,
            base=base,
            tree=harvest.tree,
            branch=branch,
            message=_message(ctx),
            when_s=when_s,
        )
        decided = Decided("approve", done.ref, done.commit, branch)
        ctx.record(decided)
    if ctx.state.state is not State.APPROVED:
        ctx.record(StateChanged(State.APPROVED, f"committed on {branch}", grade=ctx.state.grade))
    await drop_worktrees(ctx)
    return f"committed {decided.commit[:12]} on branch {branch} of {source}; nothing was pushed"


async def _discard(ctx: TaskContext, when_s: int) -> str:
    source, base, harvest = _decidable(ctx)
    decided = ctx.state.decision
    if decided is None:
        done = await asyncio.to_thread(
            discard,
            source,
            ctx.folder.repo_git,
            base=base,
            tree=harvest.tree,
            task=ctx.task,
            message=_message(ctx),
            when_s=when_s,
        )
        if done is None:
            raise CockpitError("there is nothing to keep: the patch is empty", hint=f"cockpit show {ctx.task}")
        decided = Decided("discard", done.ref, done.commit)
        ctx.record(decided)
    if ctx.state.state is not State.DISCARDED:
        ctx.record(StateChanged(State.DISCARDED, f"kept as {decided.ref}", grade=ctx.state.grade))
    await drop_worktrees(ctx)
    return f"put aside as {decided.ref} in {source}; undo brings it back"


async def _undo(ctx: TaskContext) -> str:
    decision, repository = ctx.state.decision, ctx.state.repository
    if decision is not None and repository is not None:
        source = Path(repository.source)
        if decision.decision == "approve":
            ref = await asyncio.to_thread(undo_approve, source, decision.branch, decision.commit, task=ctx.task)
        else:
            ref = await asyncio.to_thread(undo_discard, source, ctx.task, decision.commit)
        harvest = ctx.round.harvest
        assert harvest is not None  # noqa: S101  # a decided task has a patch
        await asyncio.to_thread(add_worktree, ctx.folder.repo_git, ctx.worktree, harvest.tree)
        ctx.record(DecisionUndone(decision.decision, ref))
    if ctx.state.state is not State.REVIEW:
        ctx.record(StateChanged(State.REVIEW, "the decision was taken back", grade=ctx.state.grade))
    return "back in review"


def _decidable(ctx: TaskContext) -> tuple[Path, Base, PatchHarvested]:
    repository, now = ctx.state.repository, ctx.state.round
    if repository is None or now is None or now.harvest is None:
        raise CockpitError("there is no patch to decide on", hint=f"cockpit show {ctx.task} tells where it stands")
    base = Base(repository.commit, repository.tree, repository.branch or None, repository.commit[:10])
    return Path(repository.source), base, now.harvest


def _message(ctx: TaskContext) -> str:
    now = ctx.round
    answer = now.answer
    trailers = [("Cockpit-Task", ctx.task), ("Cockpit-Grade", ctx.state.grade), ("Cockpit-Version", __version__)]
    if answer is not None:
        trailers += [("Cockpit-Model", answer.model), ("Cockpit-Server", answer.build or answer.server)]
    title = title_of(ctx.state.ask)
    return commit_message(title, "", tuple((key, value) for key, value in trailers if value))


async def drop_worktrees(ctx: TaskContext) -> None:
    """Remove the worktrees of all attempts; the refs keep what was in them.

    One that cannot be removed is noted: the decision stands all the same.
    """
    for attempt in ctx.state.attempts:
        worktree = ctx.home.worktree(ctx.task, attempt.number)
        try:
            await asyncio.to_thread(remove_worktree, ctx.folder.repo_git, worktree)
        except OSError as error:
            ctx.record(Trouble(f"cannot remove the worktree {worktree}: {error.strerror}"))
