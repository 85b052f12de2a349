"""Runs a task's tests on throw-away checkouts, so that what is tested is exactly a tree."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cockpit.domain.entries import StateChanged
from cockpit.domain.errors import CockpitError
from cockpit.domain.states import State
from cockpit.domain.testing import Baseline, RunReport
from cockpit.engine.context import TaskContext
from cockpit.engine.signals import Interrupted
from cockpit.journal.codec import from_json, to_json
from cockpit.journal.files import write_atomic
from cockpit.workspace.baseline import measure_baseline
from cockpit.workspace.environment import Environment
from cockpit.workspace.selection import select
from cockpit.workspace.testplan import TestPlan, plan_tests
from cockpit.workspace.testrun import run_tests
from cockpit.workspace.worktree import add_worktree, remove_tree, remove_worktree

ATTEMPT_WORKTREE = re.compile(r"[0-9a-f]{8}-\d+")
FLOOR_S = 60.0
"""A test run gets three times the baseline, at least this many seconds."""


@asynccontextmanager
async def scratch_checkout(ctx: TaskContext, name: str, tree: str) -> AsyncIterator[Path]:
    """Lend a fresh worktree of exactly ``tree``; gone afterwards, whatever ran inside."""
    checkout = ctx.home.worktrees / f"{ctx.task}-{name}"
    await asyncio.to_thread(remove_worktree, ctx.folder.repo_git, checkout)
    await asyncio.to_thread(add_worktree, ctx.folder.repo_git, checkout, tree)
    try:
        yield checkout
    finally:
        await asyncio.to_thread(remove_worktree, ctx.folder.repo_git, checkout)


def save_environment(ctx: TaskContext, environment: Environment) -> None:
    """Keep what was prepared beside the task, for the runs after a restart."""
    write_atomic(ctx.folder.root / "environment.json", to_json(environment))


def load_environment(ctx: TaskContext) -> Environment:
    """Read what was prepared; raises when the environment is gone from the disk."""
    environment = from_json(Environment, (ctx.folder.root / "environment.json").read_bytes())
    if environment.path is not None and not environment.path.exists():
        raise CockpitError(
            f"the environment {environment.path} was removed while the task needs it",
            hint="add the task again; the environment is built anew",
            label="env_broken",
        )
    return environment


def load_baseline(ctx: TaskContext) -> Baseline | None:
    """Read the baseline; None when nothing could be run."""
    path = ctx.folder.baseline
    return from_json(Baseline, path.read_bytes()) if path.exists() else None


class TestBench:
    """The test command of one task in its environment."""

    __test__ = False  # keeps pytest from collecting this class

    def __init__(self, ctx: TaskContext, environment: Environment) -> None:
        self._ctx = ctx
        self._environment = environment
        self.overhead_s = 0.0
        """Seconds spent on checkouts, not on tests."""

    async def baseline(self, tree: str) -> tuple[TestPlan, Baseline, bool, float]:
        """Measure the untouched tree; returns plan, baseline, whether it was cached, and seconds."""
        ctx = self._ctx
        started = time.monotonic()
        async with scratch_checkout(ctx, "plan", tree) as checkout:
            plan = await asyncio.to_thread(plan_tests, checkout, ctx.state.ask.test or None, self._environment)
        ctx.record(StateChanged(State.PREPARING, f"the tests, twice on the untouched tree: {plan.shown} ({plan.why})"))
        baseline, cached = await measure_baseline(
            plan,
            self._environment,
            repo_git=ctx.folder.repo_git,
            tree=tree,
            envs=ctx.home.envs,
            worktrees=ctx.home.worktrees,
            level=ctx.level,
            settings=ctx.settings.sandbox,
            wall_s=ctx.settings.sandbox.test_s,
            log=ctx.folder.root / "baseline.log",
            control=ctx.new_control(),
            token=ctx.token,
        )
        self._check_stopped()
        return plan, baseline, cached, time.monotonic() - started

    async def run(
        self, tree: str, log: Path, wall_s: float, touched: tuple[str, ...] | None = None
    ) -> RunReport | None:
        """Run the tests on a tree: all, or those that ``touched`` paths concern; None when these cannot be told."""
        ctx = self._ctx
        started = time.monotonic()
        async with scratch_checkout(ctx, "tests", tree) as checkout:
            plan = await asyncio.to_thread(plan_tests, checkout, ctx.state.ask.test or None, self._environment)
            chosen = plan if touched is None else await asyncio.to_thread(select, plan, touched, checkout=checkout)
            if chosen is None:
                return None
            began = time.monotonic()
            report = await run_tests(
                chosen,
                self._environment,
                repo_git=ctx.folder.repo_git,
                checkout=checkout,
                tree=tree,
                level=ctx.level,
                settings=ctx.settings.sandbox,
                wall_s=wall_s,
                log=log,
                control=ctx.new_control(),
                token=ctx.token,
            )
            ended = time.monotonic()
        self.overhead_s = time.monotonic() - started - (ended - began)
        self._check_stopped()
        return report

    def _check_stopped(self) -> None:
        control, self._ctx.control = self._ctx.control, None
        if control is not None and control.is_killed:
            raise Interrupted(self._ctx.stop.why or "kill")
        self._ctx.stop.check()


def wall_limit_s(ctx: TaskContext, baseline: Baseline) -> float:
    """Three times the baseline, at least a minute, at most what the settings allow."""
    longest = max(baseline.first.elapsed_s, baseline.second.elapsed_s)
    return min(ctx.settings.sandbox.test_s, max(FLOOR_S, 3 * longest))


def clear_leftovers(worktrees: Path) -> None:
    """Remove throw-away checkouts that a crash left; the worktrees of attempts stay."""
    for folder in worktrees.iterdir():
        if not ATTEMPT_WORKTREE.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            remove_tree(folder)
