"""Writes what was asked into ``task.toml`` and reads it back, character for character."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from cockpit.domain.ask import Ask
from cockpit.domain.errors import JournalError
from cockpit.journal.codec import from_plain
from cockpit.journal.files import write_atomic

TWIN = "the task's journal holds the same facts"


def write_ask(path: Path, task: str, ask: Ask, added_at_s: float) -> None:
    """Write the file; it is never edited again."""
    asked = {name: value for name, value in dataclasses.asdict(ask).items() if name != "budget"}
    budget = {name: value for name, value in dataclasses.asdict(ask.budget).items() if value is not None}
    table = {"task": task, "added_at_s": added_at_s, "ask": {**asked, "budget": budget}}
    write_atomic(path, _dump(table).encode("utf-8", "surrogatepass"))


def read_ask(path: Path) -> Ask:
    """Read the file; raises ``JournalError`` that names it."""
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        return from_plain(Ask, table["ask"])
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}", hint=TWIN) from error
    except (ValueError, KeyError) as error:
        raise JournalError(f"{path} is damaged: {error}", hint=TWIN) from error
    except JournalError as error:
        raise JournalError(f"{path}: {error.message}", hint=TWIN) from error


def _dump(table: dict[str, Any]) -> str:
    """Use readable multi-line strings unless a carriage return is among the text: TOML would not give it back."""
    escaped = tomli_w.dumps(table)
    return escaped if "\\r" in escaped else tomli_w.dumps(table, multiline_strings=True)
