"""Yields the text of a task's model calls as it grows, across steps and attempts."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cockpit.client.client import Client
from cockpit.client.tail import TaskTail
from cockpit.client.vigil import Vigil
from cockpit.domain.entries import Record, StepStarted
from cockpit.domain.states import AT_REST, State
from cockpit.domain.stream import Cut, Delta, End, Insert, Open, Resume, StreamLine
from cockpit.journal.streamlog import read_stream

POLL_S = 0.07


@dataclass(frozen=True, slots=True)
class StepMarker:
    """A model call begins."""

    attempt: int
    round: int
    step: int
    role: str


@dataclass(frozen=True, slots=True)
class CutMarker:
    """The stream was stopped; of the text before, only ``at`` answer tokens stand."""

    why: str
    at: int


@dataclass(frozen=True, slots=True)
class EndMarker:
    """The task came to rest."""

    state: State
    reason: str
    label: str


Piece = str | StepMarker | CutMarker | EndMarker


def follow(client: Client, task: str, *, from_start: bool = False) -> Iterator[Piece]:
    """Yield text, reasoning included, and markers until the task is at rest.

    Begins with the step under way, or the last one; ``from_start`` with the first. Text is as the model gave it:
    whoever shows it makes it harmless. Raises ``CockpitError`` when no engine runs any more.
    """
    folder = client.folder(task)
    tail, vigil = TaskTail(folder), Vigil(client.home)
    steps, seen = _begin(client, task, from_start=from_start)
    stream: _StreamText | None = None
    while True:
        is_over = tail.state.state in AT_REST
        if stream is not None:
            yield from stream.read()
        for step in steps:
            path = folder.step(step.attempt, step.step).stream
            if stream is not None and stream.path == path:
                continue  # taken up again after a crash
            stream = _StreamText(path)
            yield StepMarker(step.attempt, step.round, step.step, step.role)
            yield from stream.read()
        if is_over:
            yield EndMarker(tail.state.state, tail.state.reason, tail.state.label)
            return
        vigil.check()
        time.sleep(POLL_S)
        # The journal before the stream: when it says that a step is over, all of its text is there.
        steps = _steps(record for record in tail.advance() if record.seq > seen)


class _StreamText:
    """What is new in one stream file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def read(self) -> Iterator[str | CutMarker]:
        lines, self._offset = read_stream(self.path, self._offset)
        for line in lines:
            yield from _pieces(line)


def _begin(client: Client, task: str, *, from_start: bool) -> tuple[list[StepStarted], int]:
    """Return the steps to show first, and the number of the last record looked at."""
    records, _ = client.records(task)
    steps = _steps(records)
    return (steps if from_start else steps[-1:]), (records[-1].seq if records else 0)


def _steps(records: Iterable[Record]) -> list[StepStarted]:
    return [record.entry for record in records if isinstance(record.entry, StepStarted)]


def _pieces(line: StreamLine) -> Iterator[str | CutMarker]:
    match line:
        case Delta() | Insert():
            yield line.text
        case Cut():
            yield CutMarker(line.why, line.at)
        case Open() | Resume() | End():
            pass
