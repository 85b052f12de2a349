"""Makes the private folder and the environment variables of one test run."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cockpit.adapters.shell import base_environment
from cockpit.workspace.environment import Environment
from cockpit.workspace.layout import source_roots
from cockpit.workspace.testplan import TestPlan
from cockpit.workspace.worktree import remove_tree


@asynccontextmanager
async def private_folder(parent: Path) -> AsyncIterator[Path]:
    """Lend a folder for home, caches and result files of one run, outside its checkout; gone afterwards."""
    private = await asyncio.to_thread(_make, parent)
    try:
        yield private
    finally:
        with contextlib.suppress(OSError):
            await asyncio.to_thread(remove_tree, private)


def run_variables(plan: TestPlan, environment: Environment, checkout: Path, private: Path) -> dict[str, str]:
    """Return the environment of a run: the checkout's sources precede whatever is installed."""
    given = dict(plan.variables)
    roots = dict.fromkeys((*environment.roots, *source_roots(checkout)))
    search = [os.path.normpath(checkout / root) for root in roots]
    search += [entry for entry in given.get("PYTHONPATH", "").split(os.pathsep) if entry]
    extra = {
        **environment.variables,
        "PYTHONHASHSEED": "0",
        "COVERAGE_FILE": str(private / "coverage"),
        **given,
        "PYTHONPATH": os.pathsep.join([*search, str(private / "plugin")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return base_environment(private / "home", extra)


def _make(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    private = Path(tempfile.mkdtemp(prefix=".run-", dir=parent.absolute()))
    (private / "home" / "tmp").mkdir(parents=True)
    (private / "plugin").mkdir()
    return private
