"""Starts an attempt in a fresh worktree and finds the files to look at."""

import asyncio
import time

from cockpit.domain.entries import AttemptEnded, AttemptStarted, Localised, StateChanged
from cockpit.domain.plan import EndAttempt, StartAttempt
from cockpit.domain.states import State
from cockpit.engine.context import TaskContext
from cockpit.engine.reading import TreeFiles
from cockpit.localise import shortlist
from cockpit.workspace.worktree import add_worktree

SHORTLIST = 10


async def start_attempt(ctx: TaskContext, move: StartAttempt) -> None:
    """Make the worktree at the base; what a crash left half-made is replaced."""
    repository = ctx.state.repository
    assert repository is not None  # noqa: S101  # next_move comes here after the repository only
    worktree = ctx.home.worktree(ctx.task, move.number)
    await asyncio.to_thread(add_worktree, ctx.folder.repo_git, worktree, repository.tree)
    ctx.record(StateChanged(State.WORKING, f"attempt {move.number}"))
    ctx.record(AttemptStarted(move.number, str(worktree), repository.tree, move.lessons))


async def localise(ctx: TaskContext) -> None:
    """Make the shortlist on the CPU, before the first token is asked for."""
    started = time.monotonic()
    files = TreeFiles(ctx.folder.repo_git, ctx.attempt.base_tree, ctx.worktree)
    found = await asyncio.to_thread(shortlist, ctx.state.ask.issue, files, SHORTLIST)
    ctx.record(
        Localised(
            attempt=ctx.attempt.number,
            shortlist=tuple((item.path, "; ".join(item.reasons)) for item in found),
            in_play=tuple(item.path for item in found),
            elapsed_s=time.monotonic() - started,
        )
    )


async def end_attempt(ctx: TaskContext, move: EndAttempt) -> None:
    """Write down why this attempt is given up."""
    ctx.record(AttemptEnded(ctx.attempt.number, move.label, move.reason))
