"""Builds the environment variables of a command from nothing, so that no token of the user's leaks into it."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT_ROOTS = {"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm"}
"""Toolchains that look below HOME for themselves, which is a private one for a command."""


def base_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a command with ``home`` as its private home; ``extra`` is laid over it.

    Name ``home`` among the writable paths, and create ``home/tmp``. At the level bubblewrap a home that is not
    shown is replaced by an empty one that is gone afterwards.
    """
    environment = {
        "PATH": search_path(),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return environment | _toolchain_homes() | dict(extra or {})


def search_path() -> str:
    """Return PATH without relative entries and without the environment this program itself runs in."""
    own = Path(sys.prefix, "bin") if sys.prefix != sys.base_prefix else None
    entries = os.environ.get("PATH", DEFAULT_PATH).split(os.pathsep)
    kept = [entry for entry in entries if Path(entry).is_absolute() and Path(entry) != own]
    return os.pathsep.join(dict.fromkeys(kept)) or DEFAULT_PATH


def _toolchain_homes() -> dict[str, str]:
    user_home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    places = {name: Path(os.environ.get(name) or user_home / folder) for name, folder in KEPT_ROOTS.items()}
    return {name: str(place) for name, place in places.items() if os.access(place, os.R_OK | os.X_OK)}
