"""Measures the tests on the untouched tree, twice, and remembers the answer for the same tree, command and runner."""

import asyncio
import hashlib
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cockpit.adapters.shell import Level, RunControl
from cockpit.domain.testing import Baseline, RunReport
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.environment import Environment
from cockpit.workspace.layout import read_text
from cockpit.workspace.reporting import reporter_version
from cockpit.workspace.testplan import TestPlan
from cockpit.workspace.testrun import run_tests
from cockpit.workspace.worktree import add_worktree, remove_worktree

ADAPTER = TypeAdapter(Baseline)


async def measure_baseline(
    plan: TestPlan,
    environment: Environment,
    *,
    repo_git: Path,
    tree: str,
    envs: Path,
    worktrees: Path,
    level: Level,
    settings: SandboxSettings,
    wall_s: float,
    log: Path,
    control: RunControl | None = None,
    token: str = "",
) -> tuple[Baseline, bool]:
    """Return the baseline of ``tree`` and whether it was remembered.

    Each run has a fresh checkout below ``worktrees``; the second one writes ``<log>-2``. A first run with a problem
    stands for both, and such a baseline is not remembered.
    """
    remembered = _place(envs, environment, plan, tree, level)
    if found := _read(remembered):
        return found, True

    async def measure(run_log: Path) -> RunReport:
        checkout = Path(await asyncio.to_thread(_fresh, repo_git, worktrees, tree))
        try:
            return await run_tests(
                plan, environment, repo_git=repo_git, checkout=checkout, tree=tree, level=level, settings=settings,
                wall_s=wall_s, log=run_log, control=control, token=token,
            )  # fmt: skip
        finally:
            await asyncio.to_thread(remove_worktree, repo_git, checkout)

    first = await measure(log)
    if first.problem:
        return Baseline(first, first), False
    second = await measure(log.with_name(f"{log.stem}-2{log.suffix}"))
    baseline = Baseline(first, second)
    if not second.problem:
        await asyncio.to_thread(_write, remembered, baseline)
    return baseline, False


def _fresh(repo_git: Path, worktrees: Path, tree: str) -> str:
    """Make a checkout in a folder of its own; two tasks may measure the same tree at once."""
    worktrees.mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="baseline-", dir=worktrees.absolute())
    add_worktree(repo_git, Path(folder), tree)
    return folder


def _place(envs: Path, environment: Environment, plan: TestPlan, tree: str, level: Level) -> Path:
    facts = [tree, plan.argv, plan.variables, str(plan.runner), reporter_version(), str(level)]
    name = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]
    return envs / (environment.key or "none") / "baselines" / f"{name}.json"


def _read(path: Path) -> Baseline | None:
    """Read a remembered baseline; None when there is none, or its file is damaged."""
    try:
        return ADAPTER.validate_python(json.loads(read_text(path)))
    except (ValueError, ValidationError):
        return None


def _write(path: Path, baseline: Baseline) -> None:
    """Remember a baseline for other tasks, whose folders do not hold its logs."""
    kept = Baseline(replace(baseline.first, log=""), replace(baseline.second, log=""))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
        # not pydantic's own JSON, which refuses the file names that are no UTF-8
        part.write(json.dumps(ADAPTER.dump_python(kept)).encode("ascii"))
    Path(part.name).replace(path)
