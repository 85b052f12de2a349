"""Checks of the embedded model and its server for ``cockpit doctor``; contacts nothing."""

import os
from pathlib import Path

from cockpit.adapters.model_parts import DEMO
from cockpit.cli.checks import Mark, Row
from cockpit.cli.serving import PIP, find_server, missing_extras
from cockpit.journal.layout import Home
from cockpit.settings import Settings
from cockpit.settings.paths import model_dir

MIB = 1024 * 1024


def model_rows(settings: Settings, home: Home) -> list[Row]:
    """Check extras, the demo model on disk, and whether there is any server at all."""
    is_embedded = not settings.server.url
    missing = missing_extras()
    rows = [_extras(missing, is_embedded=is_embedded), _demo_model()]
    if is_embedded and find_server(settings, home) is None:
        rows.append(_no_server(can_start=not missing))
    return rows


def _extras(missing: tuple[str, ...], *, is_embedded: bool) -> Row:
    if not missing:
        return Row(Mark.OK, "extras", "installed: all that the embedded server needs")
    if not is_embedded:
        return Row(Mark.OK, "extras", "not needed: server.url names a server")
    return Row(Mark.WARN, "extras", f"not installed: {', '.join(missing)}", PIP)


def _demo_model() -> Row:
    chosen = os.environ.get("COCKPIT_MODEL_FILE")
    path = Path(chosen).expanduser() if chosen else model_dir() / DEMO.file_name
    if path.is_file():
        return Row(Mark.OK, "demo model", f"{path}, {path.stat().st_size // MIB} MiB")
    if chosen:
        return Row(
            Mark.BAD, "demo model", f"COCKPIT_MODEL_FILE names {path}, which is not there", "correct or unset it"
        )
    return Row(Mark.OK, "demo model", "not assembled yet (happens when the embedded server is first started)")


def _no_server(*, can_start: bool) -> Row:
    if can_start:
        return Row(Mark.OK, "server", "not running; the embedded one starts by itself with a task")
    return Row(Mark.BAD, "server", "server.url is not set, and the embedded server is not installed",
               f"set server.url in config.toml to your llama.cpp server, or: {PIP}")  # fmt: skip
