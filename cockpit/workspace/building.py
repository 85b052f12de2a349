"""Builds one environment: a virtual environment, the setup commands, and what the project's own build made."""

import asyncio
import errno
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.shell import CommandResult, Confinement, Level, RunControl, base_environment, run
from cockpit.domain.errors import CockpitError, HoldError
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.installed import Reduced, reduce_installed
from cockpit.workspace.manifests import SetupPlan
from cockpit.workspace.pip_settings import named_paths, network_variables, pip_variables, redact

PRETENDED = "999.0"
"""Version of a project whose version is read from git, which a copy has not."""
FULL_DISK = os.strerror(errno.ENOSPC)
NOISE = re.compile(r"^\s*note: |\[end of output\]|See above for output")
EDITABLE = re.compile(r"^(\s*)(?:-e|--editable)[\s=]+")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how one environment is built."""

    plan: SetupPlan
    checkout: Path
    target: Path
    level: Level
    network: bool
    settings: SandboxSettings
    log: Path
    """Log of the first command; the following ones get a number before the suffix."""
    control: RunControl | None
    token: str

    @property
    def copy(self) -> Path:
        """The throw-away copy of the checkout."""
        return self.target / "build" / "project"

    @property
    def python(self) -> Path | None:
        """The environment's own interpreter."""
        return self.target / "venv" / "bin" / "python" if self.plan.interpreter else None


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it."""

    commands: tuple[tuple[str, ...], ...]
    reduced: Reduced


async def build(bench: Bench) -> Built:
    """Run the plan's commands in a copy of the checkout; raises ``CockpitError`` (``env_broken``) when one fails."""
    started = time.monotonic()
    await asyncio.to_thread(_prepare_copy, bench)
    commands = [_fill(command, bench) for command in _all_commands(bench.plan)]
    try:
        for number, command in enumerate(commands, 1):
            left_s = max(1.0, bench.settings.setup_s - (time.monotonic() - started))
            log = bench.log if number == 1 else bench.log.with_name(f"{bench.log.stem}-{number}{bench.log.suffix}")
            _raise_if_failed(await _run(bench, command, log, left_s), command, bench)
        return Built(tuple(commands), await asyncio.to_thread(_reduce, bench))
    finally:
        await asyncio.to_thread(shutil.rmtree, bench.copy.parent, ignore_errors=True)


def variables_of(target: Path, python: Path | None) -> dict[str, str]:
    """Return what a command needs to find an environment's programs first."""
    if python is None:
        return {"COCKPIT_ENV": str(target)}
    return {
        "COCKPIT_ENV": str(target),
        "VIRTUAL_ENV": str(target / "venv"),
        "PATH": f"{python.parent}{os.pathsep}{base_environment(target)['PATH']}",
        "PYTHONNOUSERSITE": "1",
    }


def _prepare_copy(bench: Bench) -> None:
    """Copy the checkout without its git link; the build may write into the copy."""
    (bench.copy.parent / "home" / "tmp").mkdir(parents=True)
    (bench.target / "generated").mkdir()
    shutil.copytree(bench.checkout, bench.copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for path in [*bench.copy.glob("*.txt"), *bench.copy.glob("requirements/*.txt")]:
        if path.is_file() and not path.is_symlink():
            _never_editable(path)


def _never_editable(path: Path) -> None:
    """Rewrite ``-e .`` as ``.``: an editable install would point at the copy, which is thrown away."""
    lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    path.write_bytes("".join(EDITABLE.sub(r"\1", line) for line in lines).encode("utf-8", "surrogateescape"))


def _all_commands(plan: SetupPlan) -> tuple[tuple[str, ...], ...]:
    venv = ((str(plan.interpreter), "-m", "venv", "{venv}"),) if plan.interpreter else ()
    return (*venv, *plan.commands)


def _fill(command: tuple[str, ...], bench: Bench) -> tuple[str, ...]:
    """Put real paths in place; the operator's own command is left as it was given."""
    if command[:2] == ("sh", "-c"):
        return command
    names = {"{python}": str(bench.python), "{project}": str(bench.copy), "{venv}": str(bench.target / "venv")}
    return tuple(re.sub(r"^\{(?:python|project|venv)\}", lambda found: names[found[0]], word) for word in command)


async def _run(bench: Bench, command: tuple[str, ...], log: Path, wall_s: float) -> CommandResult:
    foreign = pip_variables(os.environ) | network_variables(os.environ)
    cache = bench.target.parent / ".pip-cache"
    cache.mkdir(exist_ok=True)
    variables = foreign | variables_of(bench.target, bench.python) | {"PIP_CACHE_DIR": str(cache)}
    variables |= {"SETUPTOOLS_SCM_PRETEND_VERSION": PRETENDED, "PBR_VERSION": PRETENDED}
    confinement = Confinement(
        writable=(bench.target, bench.copy, cache, *_existing(bench.target / "venv")),
        readable=named_paths(foreign),
        network=bench.network,
        memory_mib=bench.settings.memory_mib,
        processes=bench.settings.processes,
        wall_s=wall_s,
        output_mib=bench.settings.output_mib,
    )
    home = bench.copy.parent / "home"
    return await run(
        command, cwd=bench.copy, env=base_environment(home, variables), confinement=confinement, log=log,
        level=bench.level, control=bench.control, token=bench.token,
    )  # fmt: skip


def _existing(path: Path) -> tuple[Path, ...]:
    """Name a folder that must be writable itself: where programs lie is shown read-only, inside what is not, too."""
    return (path,) if path.exists() else ()


def _raise_if_failed(result: CommandResult, command: tuple[str, ...], bench: Bench) -> None:
    if result.exit_code == 0 and not result.problem:
        return
    if FULL_DISK in result.problem or FULL_DISK in result.tail:
        raise HoldError(
            f"the disk of {bench.target.parent} is full: the environment cannot be built there",
            hint="make room; the task goes on by itself",
            label="disk_full",
        )
    how = result.problem or ("killed" if result.exit_code is None else f"exit code {result.exit_code}")
    how = f"ran longer than {bench.settings.setup_s:.0f} s" if result.timed_out else how
    shown = command[2] if command[:2] == ("sh", "-c") else " ".join(command)
    lines = [line for line in result.tail.splitlines() if line.strip() and not NOISE.search(line)][-8:]
    raise CockpitError(
        redact("\n  ".join([f"setting up the environment failed ({how}): {shown}", *lines])),
        hint="give the command that works for this project with --setup, for example --setup 'pip install .[test]'",
        label="env_broken",
    )


def _reduce(bench: Bench) -> Reduced:
    found = (bench.target / "venv").glob("lib*/python*/site-packages")
    site_packages = [path for path in found if not path.parents[1].is_symlink()]  # lib64 is a second name of lib
    if not site_packages:
        return Reduced()
    return reduce_installed(site_packages[0], bench.copy, bench.checkout, bench.target / "generated")
