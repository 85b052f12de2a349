"""Loads settings from file, environment and flags, and names the place of every mistake."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cockpit.domain.errors import UsageError
from cockpit.settings.paths import config_file
from cockpit.settings.schema import Settings

SHORTHANDS = {"COCKPIT_API_KEY": ("server", "api_key"), "COCKPIT_SERVER": ("server", "url")}
"""Variables that do not follow the pattern ``COCKPIT_<TABLE>_<KEY>``."""


def load_settings(flags: Mapping[str, Mapping[str, Any]] | None = None, path: Path | None = None) -> Settings:
    """Merge ``config.toml``, ``COCKPIT_<TABLE>_<KEY>`` and flags (the later wins).

    Raises ``UsageError`` that names the file or variable, the key and what is wrong.
    """
    source = path or config_file()
    merged = _read_file(source)
    _merge(merged, _read_environment(os.environ))
    _merge(merged, flags or {})
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        got = "" if first["loc"][-1] == "api_key" else f" (got {first['input']!r})"
        raise UsageError(
            f"setting {where}: {first['msg'].lower()}{got}",
            hint=f"look at {source}, at COCKPIT_* variables and at the flags you gave",
        ) from error


def api_key_of(settings: Settings) -> str:
    """Return the API key from the setting or the key file; empty when there is none."""
    if settings.server.api_key or not settings.server.api_key_file:
        return settings.server.api_key
    path = Path(settings.server.api_key_file).expanduser()
    try:
        return path.read_text("utf-8").split("\n", 1)[0].strip()
    except OSError as error:
        raise UsageError(
            f"cannot read the API key file {path}: {error.strerror}", hint="check server.api_key_file"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the API key file {path} is not text", hint="check server.api_key_file") from error


def _read_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        loaded = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}", hint="correct that line, or move the file away"
        ) from error
    wrong = [key for key, value in loaded.items() if not isinstance(value, dict)]
    if wrong:
        raise UsageError(f"{path}: {wrong[0]} stands outside a table", hint="every key belongs below a [table]")
    return loaded


def _read_environment(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table, field in Settings.model_fields.items():
        for key in field.annotation.model_fields:  # type: ignore[union-attr]  # every field of Settings is a Section
            value = environ.get(f"COCKPIT_{table}_{key}".upper())
            if value is not None:
                found.setdefault(table, {})[key] = value
    for name, (table, key) in SHORTHANDS.items():
        if environ.get(name):
            found.setdefault(table, {})[key] = environ[name]
    return found


def _merge(into: dict[str, dict[str, Any]], update: Mapping[str, Mapping[str, Any]]) -> None:
    for table, values in update.items():
        into.setdefault(table, {}).update(values)
