"""Draws entries, commands and whole task journals that an engine could have written."""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from hypothesis import strategies as st

from cockpit.domain.commands import Command
from cockpit.domain.entries import (
    AttemptStarted,
    BaselineMeasured,
    CommandDone,
    CommandRefused,
    CommandTaken,
    Entry,
    EnvironmentPrepared,
    GuardsJudged,
    Localised,
    PatchHarvested,
    PauseChanged,
    Record,
    RepositoryPrepared,
    StateChanged,
    StepEnded,
    StepStarted,
    TaskAdded,
    TestsRan,
    Trouble,
    VerdictReached,
)
from cockpit.domain.stream import StreamLine

TEXT = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(
    ["", "a\r\nb", "\ud800", "x\udcff\n", "\x00", "\u2028", "\x1b[31m", '"\\', "ü\u200f"]
)
"""Text as files and models give it: lone surrogates, controls and line separators included."""
JSON = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT


@cache
def of(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401  # a type, a union or a generic alias
    """Return a strategy for a type that appears in our dataclasses."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, types.UnionType):
        return st.one_of([of(one) for one in typing.get_args(kind)])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)
    return _generic(kind)


_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(0, 2**40),
    float: st.floats(0, 2e9, allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: JSON,
}


def _dataclass(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: of(hints[field.name]) for field in dataclasses.fields(kind)})


def _generic(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if origin is tuple and inner[-1] is Ellipsis:
        return st.lists(of(inner[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[of(one) for one in inner])
    assert origin is Mapping, kind
    return st.dictionaries(TEXT, of(inner[1]), max_size=3)


ENTRIES = of(Entry)
COMMANDS = of(Command)
STREAM_LINES = of(StreamLine)

ASIDES = (CommandTaken, CommandDone, CommandRefused, StateChanged, PauseChanged, Trouble)
PREPARING = (RepositoryPrepared, EnvironmentPrepared, BaselineMeasured)
ROUND = (StepStarted, StepEnded, PatchHarvested, GuardsJudged, TestsRan, GuardsJudged, VerdictReached)


@st.composite
def entry_lists(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Entry]:
    """Draw the entries of one task: added, prepared, attempts of rounds, and now and then an aside."""
    entries: list[Any] = [draw(of(TaskAdded))]
    entries += [draw(of(kind)) for kind in PREPARING[: draw(st.integers(0, 3))]]
    for attempt in range(1, draw(st.integers(0, 2)) + 1):
        entries += [dataclasses.replace(draw(of(kind)), attempt=attempt) for kind in (AttemptStarted, Localised)]
        for number in range(1, draw(st.integers(0, 2)) + 1):
            done = ROUND[: draw(st.integers(1, len(ROUND)))]
            entries += [dataclasses.replace(draw(of(kind)), attempt=attempt, round=number) for kind in done]
    for kind in draw(st.lists(st.sampled_from(ASIDES), max_size=3)):
        entries.insert(draw(st.integers(1, len(entries))), draw(of(kind)))
    return entries


def numbered(entries: list[Entry]) -> list[Record]:
    """Give entries their place and a time."""
    return [Record(place, 1_800_000_000.0 + place / 8, entry) for place, entry in enumerate(entries, 1)]


JOURNALS = entry_lists().map(numbered)
