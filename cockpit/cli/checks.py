"""Checks of this machine for ``cockpit doctor``: each is a row that says what is there and what to do."""

import ctypes
import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cockpit.adapters.shell import Level, capture, probe
from cockpit.client.engine_process import engine_status
from cockpit.domain.errors import CockpitError
from cockpit.journal.layout import FORMAT, Home

OLDEST_GIT = (2, 36)
GIB = 1024**3
SCARCE_GIB, USUAL_GIB = 0.5, 5.0
"""Free disk below which nothing works, and below which environments and the demo model may not fit."""
QUICK_S = 10.0


class Mark(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    """Tasks run, but something is missing."""
    BAD = "bad"
    """No task could run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One check."""

    mark: Mark
    name: str
    found: str
    """What is there; foreign parts are raw."""
    todo: str = ""
    """What to do about it."""


async def machine_rows(home: Home) -> list[Row]:
    """Check programs, isolation, home and engine."""
    return [
        _python(),
        await _git(),
        _sandbox(),
        _tmux(),
        _home(home),
        _disk(home),
        _engine(home),
        await _lingering(),
        _nvml(),
    ]


def _python() -> Row:
    return Row(Mark.OK, "python", f"{platform.python_version()} ({platform.machine()})")


async def _git() -> Row:
    install = "install git 2.36 or newer, for example: apt install git"
    try:
        _, out, _ = await capture(["git", "--version"], cwd=Path("/"), env=os.environ, timeout_s=QUICK_S)
    except CockpitError as error:
        return Row(Mark.BAD, "git", error.message, install)
    numbers = re.search(r"(\d+)\.(\d+)", out)
    if not numbers or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        return Row(Mark.BAD, "git", out.strip() or "no version", install)
    return Row(Mark.OK, "git", out.strip().removeprefix("git version "))


def _sandbox() -> Row:
    found = probe()
    if found.level is Level.BUBBLEWRAP:
        return Row(Mark.OK, "sandbox", f"bubblewrap {found.bwrap_version}")
    return Row(Mark.WARN, "sandbox", f"plain: commands of a repository run as you, unconfined; {found.reason}",
               "apt install bubblewrap, then look here again")  # fmt: skip


def _tmux() -> Row:
    path = shutil.which("tmux")
    if path:
        return Row(Mark.OK, "tmux", path)
    return Row(Mark.WARN, "tmux", "not installed", "apt install tmux: screens outlive an SSH line (tasks do anyway)")


def _home(home: Home) -> Row:
    if not home.root.exists():
        return Row(Mark.OK, "home", f"{home.root} (made with the first task)")
    try:
        home.create()
    except CockpitError as error:
        return Row(Mark.BAD, "home", error.message, error.hint)
    return Row(Mark.OK, "home", f"{home.root}, format {FORMAT}")


def _disk(home: Home) -> Row:
    place = next(path for path in (home.root, *home.root.parents) if path.exists())
    free_gib = shutil.disk_usage(place).free / GIB
    found = f"{free_gib:.1f} GiB free at {place}"
    if free_gib < SCARCE_GIB:
        return Row(Mark.BAD, "disk", found, "make room, or set COCKPIT_HOME to a larger disk")
    if free_gib < USUAL_GIB:
        return Row(Mark.WARN, "disk", found, "environments and the demo model may not fit: make room")
    return Row(Mark.OK, "disk", found)


def _engine(home: Home) -> Row:
    found = engine_status(home)
    if not found.is_running:
        return Row(Mark.OK, "engine", "not running (starts by itself with the next task)")
    pid = found.record.pid if found.record else "unknown"
    if not found.is_fresh:
        return Row(Mark.WARN, "engine", f"process {pid} gives no sign", f"look into {home.engine_log}, or kill it")
    return Row(Mark.OK, "engine", f"running as process {pid}")


async def _lingering() -> Row:
    """Without lingering, systemd ends a user's background processes at the last logout."""
    user = str(os.environ.get("USER") or os.getuid())
    asked = ["loginctl", "show-user", user, "--property=Linger", "--value"]
    try:
        code, out, _ = await capture(asked, cwd=Path("/"), env=os.environ, timeout_s=QUICK_S)
    except CockpitError:
        return Row(Mark.OK, "lingering", "no systemd here: background processes outlive a logout")
    if code == 0 and out.strip() == "yes":
        return Row(Mark.OK, "lingering", "on: the engine outlives a logout")
    if code == 0 and out.strip() == "no":
        return Row(Mark.WARN, "lingering", "off: the engine may be ended at logout", f"loginctl enable-linger {user}")
    return Row(Mark.OK, "lingering", "systemd does not manage this login")


def _nvml() -> Row:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return Row(Mark.OK, "gpu library", "libnvidia-ml.so.1 is not here: no GPU figures of this machine")
    return Row(Mark.OK, "gpu library", "libnvidia-ml.so.1")


def is_ready(rows: list[Row]) -> bool:
    """Tell whether a task could run."""
    return not any(row.mark is Mark.BAD for row in rows)


def row_lines(row: Row, width: int, *, ascii_only: bool = False) -> Iterator[str]:
    """Yield a row for a person: mark, name, what was found; below it what to do."""
    from cockpit.domain.receipt_text import wrap
    from cockpit.domain.text import pad_cells, visible

    front = f"{row.mark.value:5}{pad_cells(row.name, 14)}"
    for text, lead in ((row.found, ""), (row.todo, "-> ")):
        if text:
            for line in wrap(lead + visible(text, ascii_only=ascii_only), width - 19):
                yield front + line
                front = " " * 19
