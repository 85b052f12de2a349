"""A private place to run commands in, for the tests of the shell."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pytest

from cockpit.adapters.shell import CommandResult, Confinement, Level, RunControl, base_environment, probe, run, sweep

PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
needs_bubblewrap = pytest.mark.skipif(probe().level is not Level.BUBBLEWRAP, reason=probe().reason)
both_levels = pytest.mark.parametrize(
    "level", [pytest.param(Level.BUBBLEWRAP, marks=needs_bubblewrap), pytest.param(Level.PLAIN)]
)


class Options(TypedDict, total=False):
    """What a test may ask for: the parameters of ``run`` and the fields of ``Confinement``."""

    cwd: Path
    level: Level | None
    control: RunControl | None
    token: str
    writable: tuple[Path, ...]
    readable: tuple[Path, ...]
    network: bool
    memory_mib: int
    processes: int
    wall_s: float
    file_mib: int
    output_mib: int


@dataclass
class Room:
    """A worktree, a home and a log below one directory."""

    base: Path
    extra: dict[str, str] = field(default_factory=dict)
    log_path: Path | None = None

    def __post_init__(self) -> None:
        for directory in (self.work, self.home / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)

    @property
    def work(self) -> Path:
        return self.base / "work"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def log(self) -> Path:
        return self.log_path or self.base / "logs" / "run.log"

    def write(self, name: str, text: str) -> Path:
        path = self.work / name
        path.write_text(text)
        return path

    async def run(self, *argv: str, **options: Unpack[Options]) -> CommandResult:
        limits: dict[str, Any] = {
            key: value for key, value in options.items() if key not in {"level", "control", "token", "cwd"}
        }
        return await run(
            argv,
            cwd=options.get("cwd", self.work),
            env=base_environment(self.home, self.extra),
            confinement=replace(Confinement(writable=(self.work, self.home), wall_s=120), **limits),
            log=self.log,
            level=options.get("level"),
            control=options.get("control"),
            token=options.get("token", ""),
        )

    async def python(self, code: str, **options: Unpack[Options]) -> CommandResult:
        return await self.run(PYTHON, "-c", code, **options)

    async def shell(self, code: str, **options: Unpack[Options]) -> CommandResult:
        return await self.run("sh", "-c", code, **options)


async def until(condition: Callable[[], bool], patience_s: float = 60) -> None:
    """Wait for something that happens in another process; the test fails when it never does."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)


def is_alive(marker: str) -> bool:
    """Tell whether a process with this word on its command line runs anywhere."""
    return any(marker.encode() in line for line in _command_lines())


def _command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


@contextlib.contextmanager
def swept(token: str) -> Iterator[str]:
    """Leave nothing of a token's runs behind, whatever the test found."""
    try:
        yield token
    finally:
        sweep(token)
