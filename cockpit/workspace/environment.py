"""Prepares what a project's tests need, once for the same manifests, beside every checkout and never inside one."""

import asyncio
import fcntl
import json
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cockpit.adapters.shell import Level, RunControl
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.building import Bench, build, variables_of
from cockpit.workspace.installed import compiled_digest
from cockpit.workspace.layout import read_text
from cockpit.workspace.manifests import FORMAT, SetupPlan, plan_setup

__all__ = ["Environment", "SetupPlan", "plan_setup", "prepare_environment"]

MARKER = "environment.json"
"""Written last: a folder without it is half-made."""
LOCK_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Environment:
    """What was prepared for running a project's tests; shared by its tasks and only read."""

    key: str
    """Name of its folder; ``none`` when nothing had to be prepared."""
    path: Path | None
    """Folder of the environment; None when nothing had to be prepared."""
    python: Path | None
    """Interpreter of its virtual environment; None when there is none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False
    elapsed_s: float = 0.0
    """Seconds it took to build, also when it was found ready."""
    commands: tuple[tuple[str, ...], ...] = ()
    level: Level = Level.PLAIN
    roots: tuple[str, ...] = ()
    """Folders of a checkout that imports start from, beyond those its layout names."""
    modules: tuple[str, ...] = ()
    """Top-level names the project itself installs."""
    compiled: str = ""
    """Digest of the sources behind compiled modules that are laid over a checkout; empty when there are none."""

    @property
    def generated(self) -> Path | None:
        """Folder of files a build made, to be laid over a checkout."""
        return self.path / "generated" if self.path else None


async def prepare_environment(
    plan: SetupPlan,
    *,
    checkout: Path,
    envs: Path,
    level: Level,
    network: bool,
    settings: SandboxSettings,
    log: Path,
    control: RunControl | None = None,
    token: str = "",
) -> Environment:
    """Return the environment of a plan: found ready, or built from a copy of the checkout.

    Two tasks at once build it once. Raises ``CockpitError`` (``env_broken``) that names the command that failed, its
    exit code and its last lines.
    """
    if plan.kind == "none":
        return Environment("none", None, None, level=level)
    target = _made(envs) / plan.key
    bench = Bench(plan, _absolute(checkout), target, level, network, settings, log, control, token)
    async with _locked(target.with_name(f".{plan.key}.lock")):
        return _read(target, level) or await _make(bench)


async def _make(bench: Bench) -> Environment:
    started = time.monotonic()
    await asyncio.to_thread(shutil.rmtree, bench.target, ignore_errors=True)
    try:
        built = await build(bench)
        reduced = built.reduced
        digest = await asyncio.to_thread(compiled_digest, bench.checkout) if reduced.has_binaries else ""
        made = Environment(
            bench.plan.key, bench.target, bench.python, variables_of(bench.target, bench.python),
            elapsed_s=round(time.monotonic() - started, 3), commands=built.commands, level=bench.level,
            roots=reduced.roots, modules=reduced.modules, compiled=digest,
        )  # fmt: skip
        _write(made, bench.target)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, bench.target, ignore_errors=True)
        raise
    return made


def _absolute(path: Path) -> Path:
    return path.absolute()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder.absolute()


def _write(made: Environment, target: Path) -> None:
    data = {
        "format": FORMAT,
        "path": str(target),
        "python": str(made.python or ""),
        "elapsed_s": made.elapsed_s,
        "commands": made.commands,
        "roots": made.roots,
        "modules": made.modules,
        "compiled": made.compiled,
    }
    part = target / f"{MARKER}.part"
    part.write_text(json.dumps(data, indent=1), "utf-8")
    part.replace(target / MARKER)


def _read(target: Path, level: Level) -> Environment | None:
    """Return a finished environment; None when it is absent, half-made, moved, of another format or broken."""
    try:
        data: dict[str, Any] = json.loads(read_text(target / MARKER))
        python = Path(data["python"]) if data["python"] else None
        is_usable = data["format"] == FORMAT and data["path"] == str(target) and (python is None or python.exists())
        found = Environment(
            target.name, target, python, variables_of(target, python), cached=True, elapsed_s=data["elapsed_s"],
            commands=tuple(tuple(command) for command in data["commands"]), level=level, roots=tuple(data["roots"]),
            modules=tuple(data["modules"]), compiled=data["compiled"],
        )  # fmt: skip
    except (ValueError, KeyError, TypeError):
        return None
    return found if is_usable else None


@asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    """Hold a lock file, also against other tasks of this process; freed by the kernel when we die."""
    with path.open("ab") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(LOCK_POLL_S)
        yield
