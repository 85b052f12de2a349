"""Calls the command line as a person does: another process, its own home, its exit code and its words."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit.client.engine_process import engine_environment
from cockpit.journal.layout import Home

PATIENCE_S = 120.0
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "UV_", "PIP_", "PYTHON", "XDG_CACHE_HOME")
"""Variables a call inherits: nothing that names a server or a model of this machine."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a call came to."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output."""
        return self.out.decode("utf-8", "replace")


def cockpit(
    root: Path,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = PATIENCE_S,
) -> Said:
    """Call ``cockpit`` on a home; an engine it starts inherits the same settings."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cockpit", *map(str, args)],
        env=environment(root, env),
        input=stdin,
        capture_output=True,
        timeout=timeout_s,
        cwd="/",
    )
    return Said(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def environment(root: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the surroundings of a call."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    package = engine_environment(Home(root)).get("PYTHONPATH", "")
    ours = {"COCKPIT_HOME": str(root), "PYTHONPATH": package, "XDG_CONFIG_HOME": "/nowhere/config"}
    return kept | ours | dict(extra or {})
