"""Prepares a task: its repository one commit deep, its environment, the baseline of its tests."""

import asyncio
import sys
import time
from pathlib import Path

from cockpit.adapters.shell import Level
from cockpit.domain.entries import BaselineMeasured, EnvironmentPrepared, RepositoryPrepared, StateChanged
from cockpit.domain.errors import CockpitError, HoldError
from cockpit.domain.states import State
from cockpit.engine.context import TaskContext
from cockpit.engine.runs import TestBench, load_environment, save_environment, scratch_checkout
from cockpit.journal.codec import to_json
from cockpit.journal.files import write_atomic
from cockpit.journal.trust import remember_trust, trusts
from cockpit.localise.named_tests import named_tests
from cockpit.sources.resolve import Source, ensure_mirror, resolve
from cockpit.workspace.environment import SetupPlan, plan_setup, prepare_environment
from cockpit.workspace.repository import create_task_repository, inspect_source


async def prepare_repository(ctx: TaskContext) -> None:
    """Make the task repository at the recorded base."""
    ctx.record(StateChanged(State.PREPARING, "making the task repository"))
    started = time.monotonic()
    source = resolve(ctx.state.ask.repo, ctx.home.mirrors)
    _need_consent(ctx, source)
    if source.kind == "url":
        await asyncio.to_thread(ensure_mirror, source)
    base = await asyncio.to_thread(
        inspect_source, source.path, ctx.state.ask.base or None, is_mirror=source.kind == "url"
    )
    await asyncio.to_thread(create_task_repository, base.root, base, ctx.folder.repo_git)
    ctx.record(
        RepositoryPrepared(
            source=str(base.root),
            commit=base.commit,
            tree=base.tree,
            branch=base.branch or "",
            name=source.name,
            elapsed_s=time.monotonic() - started,
        )
    )


def _need_consent(ctx: TaskContext, source: Source) -> None:
    """Strangers' commands run only after a consent; without a sandbox that is all there is between them and us."""
    if source.kind == "path":
        return
    ask = ctx.state.ask
    if ask.trust:
        remember_trust(ctx.home, ask.repo, time.time())
    if trusts(ctx.home, ask.repo):
        return
    danger = "without a sandbox on this machine" if ctx.level is Level.PLAIN else "with network while setting up"
    raise HoldError(
        f"{ask.repo} is not yours as far as Cockpit knows: its commands would run {danger}",
        hint="look at the repository, then add it again with --trust; the consent is remembered",
        label="consent_wanted",
    )


async def prepare_test_environment(ctx: TaskContext) -> None:
    """Install what the tests need, or find it installed."""
    repository = ctx.state.repository
    assert repository is not None  # noqa: S101  # next_move comes here after the repository only
    async with scratch_checkout(ctx, "setup", repository.tree) as checkout:
        plan = await asyncio.to_thread(plan_setup, checkout, ctx.state.ask.setup or None, Path(sys.executable))
        ctx.record(StateChanged(State.PREPARING, _announced(plan)))
        environment = await prepare_environment(
            plan,
            checkout=checkout,
            envs=ctx.home.envs,
            level=ctx.level,
            network=True,
            settings=ctx.settings.sandbox,
            log=ctx.folder.root / "setup.log",
            control=ctx.new_control(),
            token=ctx.token,
        )
    ctx.control = None
    ctx.stop.check()
    save_environment(ctx, environment)
    ctx.record(
        EnvironmentPrepared(
            key=environment.key,
            path=str(environment.path or ""),
            python=str(environment.python or ""),
            variables=dict(environment.variables),
            commands=environment.commands,
            cached=environment.cached,
            level=str(environment.level),
            elapsed_s=0.0 if environment.cached else environment.elapsed_s,
        )
    )


def _announced(plan: SetupPlan) -> str:
    """Say what will be run, before it is run, with the places as a person in the checkout would write them."""
    commands = "; ".join(" ".join(command) for command in plan.commands)
    commands = commands.replace("{python}", "python").replace("{project}", ".").replace("{venv}", "venv")
    return f"{plan.why}: {commands}" if commands else plan.why


async def measure_tests(ctx: TaskContext) -> None:
    """Run the tests twice on the untouched tree."""
    repository = ctx.state.repository
    assert repository is not None  # noqa: S101  # next_move comes here after the repository only
    if ctx.state.ask.test == "none":
        ctx.record(_untested("the operator asked for no tests"))
        return
    bench = TestBench(ctx, load_environment(ctx))
    plan, baseline, cached, elapsed_s = await bench.baseline(repository.tree)
    first = baseline.first
    if first.problem and not first.results:
        raise CockpitError(
            f"the tests cannot run on the untouched tree ({plan.shown}): {first.problem}",
            hint="give the test command with --test and the setup with --setup, or --test none to go without",
            label="env_broken",
        )
    write_atomic(ctx.folder.baseline, to_json(baseline))
    targets = {*named_tests(ctx.state.ask.issue, baseline.ids), *ctx.state.ask.expect}
    _check_targets(ctx.state.ask.expect, baseline.ids)
    ctx.record(
        BaselineMeasured(
            command=plan.argv,
            runner=str(plan.runner),
            why=plan.why,
            passing=len(baseline.passing),
            failing=len(baseline.failing),
            flaky=len(baseline.flaky),
            exit_code=first.exit_code,
            cached=cached,
            level=str(first.level),
            elapsed_s=0.0 if cached else elapsed_s,
            targets=tuple(sorted(targets)),
            file=ctx.folder.baseline.name,
        )
    )


def _check_targets(expected: tuple[str, ...], known: frozenset[str]) -> None:
    unknown = [test for test in expected if test not in known]
    if unknown and known:
        raise CockpitError(
            f"the test {unknown[0]} does not exist at the base ({len(known)} tests do)",
            hint="write the id as the runner prints it, for example tests/test_x.py::test_y",
            label="env_broken",
        )


def _untested(why: str) -> BaselineMeasured:
    return BaselineMeasured(
        command=(), runner="none", why=why, passing=0, failing=0, flaky=0, exit_code=None, cached=False, level="",
        elapsed_s=0.0, problem=why,
    )  # fmt: skip
