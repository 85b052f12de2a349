"""Keeps the task list in one file and the live figures in another, both read without pydantic.

Plain ``json`` and a dataclass per row: ten thousand tasks open in one read.
"""

import dataclasses
import gc
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from cockpit.domain.errors import JournalError
from cockpit.domain.states import State
from cockpit.domain.summary import TaskSummary
from cockpit.journal.files import write_atomic
from cockpit.journal.layout import FORMAT, Home

_FIELDS = tuple(field.name for field in dataclasses.fields(TaskSummary))
_values = itemgetter(*_FIELDS)
_STATES = {state.value: state for state in State}


def write_tasks(home: Home, summaries: Iterable[TaskSummary]) -> None:
    """Write the task list; raises ``HoldError`` when the disk is full."""
    write_rows(home, map(encode_row, summaries))


def encode_row(summary: TaskSummary) -> bytes:
    """Return one row of the task list as it stands in the file; 40 us each, so a writer keeps those unchanged."""
    row = {name: getattr(summary, name) for name in _FIELDS}
    row["guards"] = " ".join(f"{guard}:{status}" for guard, status in summary.guards)
    return _dump(row)


def write_rows(home: Home, rows: Iterable[bytes]) -> None:
    """Write the task list from rows that are encoded already; raises ``HoldError`` when the disk is full."""
    head = b'{"format":%d,"tasks":[' % FORMAT
    write_atomic(home.tasks_json, head + b",".join(rows) + b"]}", durable=False)


def read_tasks(home: Home) -> tuple[TaskSummary, ...]:
    """Return the task list, empty when none was written yet; raises ``JournalError`` for a damaged file."""
    try:
        with _no_collection():
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
    row["guards"] = _guards(row["guards"])
    try:
        return TaskSummary(*_values(row))
    except KeyError:  # another version wrote less than this one knows
        return TaskSummary(**{name: row[name] for name in _FIELDS if name in row})


@lru_cache(maxsize=4096)
def _guards(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``bloat:pass scope:warn``; most rows say the same, and one text per row is four times faster than lists."""
    pairs = (pair.rpartition(":") for pair in text.split())
    return tuple([(guard, status) for guard, _, status in pairs])


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold the garbage collector back: nothing here is garbage, and looking for it doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _dump(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
