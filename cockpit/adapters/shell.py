"""Runs commands of repositories, in a sandbox where there is one; the only door to subprocesses beside git's.

Every command has a reaper as its parent (``reaper.py``), so that a time limit, a kill or the end of the engine
leaves no process behind. At the level ``plain`` a command that fights back (kills its reaper, or has a service of
the system do its work) can still get away; the level ``bubblewrap`` closes that, too.
"""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cockpit.adapters import confinement as confining
from cockpit.adapters import probing, results
from cockpit.adapters.confinement import Confinement, Level
from cockpit.adapters.control import RunControl
from cockpit.adapters.probing import Probe
from cockpit.adapters.processes import MARK, sweep
from cockpit.adapters.results import CommandResult
from cockpit.adapters.surroundings import base_environment
from cockpit.adapters.toolchains import toolchain_roots
from cockpit.domain.errors import SandboxError

__all__ = [
    "CommandResult", "Confinement", "Level", "Probe", "RunControl", "base_environment", "capture", "probe", "run",
    "spawn_detached", "sweep", "toolchain_roots",
]  # fmt: skip

BOOT = "import sys; sys.path.append(sys.argv[1]); from cockpit.adapters.reaper import main; main()"
PACKAGE_ROOT = str(Path(__file__).parents[2])
PROBE_S = 10.0
PATIENCE_S = 20.0
"""Seconds beyond its limit before a reaper that does not answer is taken for dead."""
SCOPES = (
    ("systemd-run", "--user", "--scope", "--quiet", "--collect", "--property=OOMPolicy=continue"),
    ("systemd-run", "--user", "--scope", "--quiet", "--collect"),
)
"""Ways into a unit of one's own, best first: with the policy, a test that eats all memory does not end the engine."""


@functools.cache
def probe() -> Probe:
    """Find out, by doing it, whether commands can be isolated here; answered once per process."""
    return probing.examine(shutil.which("bwrap"), _attempt)


def _attempt(argv: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[int, str]:
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(argv, check=False, timeout=PROBE_S, env=env or {"LC_ALL": "C"}, **quiet)  # noqa: S603  # ours
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    confinement: Confinement,
    log: Path,
    level: Level | None = None,
    control: RunControl | None = None,
    token: str = "",
) -> CommandResult:
    """Run a command to the end of its last process and return the facts; cancelling ends it, too.

    ``level`` None takes the best that works here. ``token`` goes into COCKPIT_RUN, by which ``sweep`` finds what a
    crash left. Raises SandboxError when the directory, a writable path or the level asked for is missing.
    """
    _check_paths(argv, cwd, confinement)
    found = await asyncio.to_thread(probe)
    level = level or found.level
    _check_level(level, found)
    control = control or RunControl()
    if not await control.may_start():
        return results.killed_before_start(log, level)
    token = token or f"run-{uuid.uuid4().hex}"
    plan = await asyncio.to_thread(_plan, argv, cwd, {**env, MARK: token}, confinement, log, level)
    facts = await _reap(plan, control, token)
    return await asyncio.to_thread(results.read_result, facts, argv, log, level)


def _check_paths(argv: Sequence[str], cwd: Path, confinement: Confinement) -> None:
    if not argv or not argv[0]:
        raise SandboxError("there is no command to run", hint="name a program and its arguments")
    if not cwd.is_dir():
        raise SandboxError(f"cannot run {argv[0]}: {cwd} is not a directory", hint="was the worktree removed?")
    for path in confinement.writable:
        if not path.exists():
            raise SandboxError(f"cannot run {argv[0]}: {path} does not exist", hint="create it before the run")


def _check_level(level: Level, found: Probe) -> None:
    if level is Level.BUBBLEWRAP and found.level is not Level.BUBBLEWRAP:
        raise SandboxError(f"commands cannot be isolated: {found.reason}", hint='or set [sandbox] mode = "plain"')


def _plan(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], limits: Confinement, log: Path, level: Level
) -> dict[str, Any]:
    """Write down all a reaper has to know."""
    log.parent.mkdir(parents=True, exist_ok=True)
    cwd = cwd.resolve()
    sandbox = _sandbox(argv, cwd, env, limits) if level is Level.BUBBLEWRAP else {"bwrap": [], "files": {}}
    return sandbox | {
        "argv": list(argv),
        "cwd": str(cwd),
        "env": env,
        "log": str(log.absolute()),
        "log_bytes": limits.output_mib * confining.MIB,
        "memory_bytes": limits.memory_mib * confining.MIB,
        "file_bytes": limits.file_mib * confining.MIB,
        "processes": limits.processes,
        "wall_s": limits.wall_s,
    }


def _sandbox(argv: Sequence[str], cwd: Path, env: Mapping[str, str], limits: Confinement) -> dict[str, Any]:
    roots = toolchain_roots(argv, env)
    arguments = confining.bwrap_arguments(limits, roots, cwd=cwd, env=env, version=probe().features)
    return {"bwrap": [probe().bwrap, *arguments], "files": confining.account_files(env.get("HOME", ""))}


async def _reap(plan: Mapping[str, Any], control: RunControl, token: str) -> dict[str, Any]:
    """Have a reaper carry out the plan; however this ends, nothing of the command is left."""
    process = None
    try:
        with control.link() as orders:
            process = await _start_reaper(plan, orders, token)
            answer = await _answer(process, control, plan["wall_s"] + PATIENCE_S)
    finally:
        await asyncio.shield(_end_reaper(process, token))
    return results.read_facts(answer)


async def _start_reaper(plan: Mapping[str, Any], orders: int, token: str) -> asyncio.subprocess.Process:
    """Start a reaper that finds its plan on standard input and its orders on a pipe."""
    page = os.memfd_create("cockpit-plan")
    try:
        os.write(page, json.dumps(plan).encode())
        os.lseek(page, 0, os.SEEK_SET)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", BOOT, PACKAGE_ROOT, str(orders)),
            stdin=page,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={MARK: token, "LANG": "C.UTF-8"},
            pass_fds=(orders,),
            start_new_session=True,
        )
    finally:
        os.close(page)
        os.close(orders)


async def _answer(process: asyncio.subprocess.Process, control: RunControl, patience_s: float) -> bytes:
    """Return what the reaper says at its end; nothing when it is long overdue."""
    if process.stdout is None:
        return b""
    deadline = control.running_clock_s + patience_s
    reading = asyncio.ensure_future(process.stdout.read())
    try:
        while not reading.done() and control.running_clock_s < deadline:
            await asyncio.wait({reading}, timeout=1.0)
        return reading.result() if reading.done() else b""
    finally:
        reading.cancel()


async def _end_reaper(process: asyncio.subprocess.Process | None, token: str) -> None:
    """See a reaper leave, and clean up in its place when it could not."""
    if process is not None:
        try:
            await asyncio.wait_for(process.wait(), PATIENCE_S)
        except TimeoutError:
            process.kill()
            await process.wait()
    if process is None or process.returncode != 0:
        await asyncio.to_thread(sweep, token)


async def capture(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
    """Run a small trusted program without isolation; returns its exit code, stdout and stderr.

    Raises SandboxError when it cannot be started or takes longer than ``timeout_s``.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(f"cannot run {argv[0]}: {error.strerror}", hint="is it installed and on PATH?") from error
    try:
        out, err = await asyncio.wait_for(process.communicate(), timeout_s)
    except TimeoutError as error:
        raise SandboxError(f"{argv[0]} did not answer within {timeout_s:g} s", hint="try it by hand") from error
    finally:
        await _end_group(process)
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


async def _end_group(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.communicate())


def spawn_detached(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> int:
    """Start a background process in a session of its own, and a systemd scope where there is one; returns its pid.

    It reads nothing and appends what it says to ``log``. Raises SandboxError when it cannot be started.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [*_scope(env.get("XDG_RUNTIME_DIR", "")), *argv]
    try:
        with log.open("ab") as sink:
            process = subprocess.Popen(  # noqa: S603  # our own programs; no shell
                command,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
    except OSError as error:
        raise SandboxError(f"cannot start {argv[0]}: {error.strerror}", hint=f"look at {log}") from error
    # Somebody has to take the exit status as long as we live, or its pid would look alive after its end.
    threading.Thread(target=process.wait, daemon=True).start()
    return process.pid


@functools.cache
def _scope(runtime_dir: str) -> tuple[str, ...]:
    """Return the words that put a command into a scope of the user's systemd; none where that does not work."""
    if not runtime_dir or not shutil.which("systemd-run"):
        return ()
    working = (scope for scope in SCOPES if _attempt([*scope, "true"], os.environ)[0] == 0)
    return next(working, ())
