"""Keeps the task list in one file and the live figures in another, both read without pydantic.

Plain ``json`` and a dataclass per row: ten thousand tasks open in one read.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cockpit.domain.errors import JournalError
from cockpit.domain.states import State
from cockpit.domain.summary import TaskSummary
from cockpit.journal.files import write_atomic
from cockpit.journal.layout import FORMAT, Home

_FIELDS = tuple(field.name for field in dataclasses.fields(TaskSummary))
_STATES = {state.value: state for state in State}


def write_tasks(home: Home, summaries: Iterable[TaskSummary]) -> None:
    """Write the task list; raises ``HoldError`` when the disk is full."""
    rows = [{name: getattr(summary, name) for name in _FIELDS} for summary in summaries]
    write_atomic(home.tasks_json, _dump({"format": FORMAT, "tasks": rows}), durable=False)


def read_tasks(home: Home) -> tuple[TaskSummary, ...]:
    """Return the task list, empty when none was written yet; raises ``JournalError`` for a damaged file."""
    try:
        rows = json.loads(home.tasks_json.read_bytes())["tasks"]
        return tuple([_summary(row) for row in rows])
    except FileNotFoundError:
        return ()
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise JournalError(
            f"{home.tasks_json} is damaged: {error}", hint="delete it; the engine writes it anew when it starts"
        ) from error


def write_live(home: Home, live: Mapping[str, Any]) -> None:
    """Write what changes all the time; meant for 2 Hz, so it does not wait for the disk."""
    write_atomic(home.live_json, _dump(live), durable=False)


def read_live(home: Home) -> dict[str, Any]:
    """Return the live figures; empty when there are none, or none that can be read."""
    return read_object(home.live_json)


def read_object(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file; empty when it is absent or no such thing."""
    try:
        loaded = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _summary(row: dict[str, Any]) -> TaskSummary:
    row["state"] = _STATES[row["state"]]
    row["guards"] = tuple([(guard, status) for guard, status in row["guards"]])
    try:
        return TaskSummary(**row)
    except TypeError:  # a newer version wrote more than this one knows
        return TaskSummary(**{name: row[name] for name in _FIELDS if name in row})


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
