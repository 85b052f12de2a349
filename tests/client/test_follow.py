import dataclasses
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.client.client import Client
from cockpit.client.follow import CutMarker, EndMarker, Piece, StepMarker, follow
from cockpit.domain.ask import Ask
from cockpit.domain.entries import StateChanged, StepStarted, TaskAdded
from cockpit.domain.errors import NotFoundError
from cockpit.domain.states import State
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock
from cockpit.journal.log import JournalWriter
from cockpit.journal.streamlog import StreamWriter

TASK = "0123abcd"
END = EndMarker(State.REVIEW, "", "")


@dataclasses.dataclass
class Engine:
    """Writes what an engine would write."""

    home: Home
    journal: JournalWriter

    def step(self, attempt: int, step: int) -> StreamWriter:
        self.journal.append(StepStarted(attempt, step, step, "hunter", 1, "search_replace", 0.0), 1.0)
        path = self.home.task(TASK).step(attempt, step).stream
        path.parent.mkdir(parents=True, exist_ok=True)
        return StreamWriter(path, time.monotonic)

    def rest(self) -> None:
        self.journal.append(StateChanged(State.REVIEW), 2.0)


@pytest.fixture
def engine(home: Home) -> Iterator[Engine]:
    lock = EngineLock(home)
    assert lock.acquire()
    home.task(TASK).root.mkdir()
    with JournalWriter(home.task(TASK).journal) as journal:
        journal.append(TaskAdded(TASK, Ask("/r", "i")), 1.0)
        yield Engine(home, journal)
    lock.release()


def joined(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring text: how it was cut into pieces is a matter of luck."""
    result: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and result and isinstance(result[-1], str):
            result[-1] += piece
        else:
            result.append(piece)
    return result


def two_steps(engine: Engine) -> None:
    with engine.step(1, 1) as stream:
        stream.delta("hm, ", (1,), "reasoning")
        stream.delta("one", (2,))
    with engine.step(1, 2) as stream:
        stream.delta("tw", (1,))
        stream.cut("pause")
        stream.resume(1)
        stream.insert("operator", "o", (3,))
        stream.end("stop")


FIRST = [StepMarker(1, 1, 1, "hunter"), "hm, one"]
SECOND = [StepMarker(1, 2, 2, "hunter"), "tw", CutMarker("pause", 1), "o"]


def test_a_finished_task_shows_its_last_step(engine: Engine, client: Client) -> None:
    two_steps(engine)
    engine.rest()
    assert joined(list(follow(client, TASK))) == [*SECOND, END]


def test_a_finished_task_can_be_read_from_the_start(engine: Engine, client: Client) -> None:
    two_steps(engine)
    engine.rest()
    assert joined(list(follow(client, TASK, from_start=True))) == [*FIRST, *SECOND, END]


def test_a_task_that_never_asked_a_model_has_an_end_only(engine: Engine, client: Client) -> None:
    engine.rest()
    assert list(follow(client, TASK)) == [END]


def test_text_is_followed_as_it_grows_across_steps_and_attempts(engine: Engine, client: Client) -> None:
    pieces: list[Piece] = []
    follower = threading.Thread(target=lambda: pieces.extend(follow(client, TASK)))
    follower.start()
    words = [f"{number} " for number in range(20)]
    for attempt in (1, 2):
        with engine.step(attempt, 1) as stream:
            for place, word in enumerate(words):
                stream.delta(word, (place,))
                stream.flush()
                time.sleep(0.002)
    engine.rest()
    follower.join()
    text = "".join(words)
    assert joined(pieces) == [StepMarker(1, 1, 1, "hunter"), text, StepMarker(2, 1, 1, "hunter"), text, END]


def test_a_step_taken_up_again_after_a_crash_is_shown_once(engine: Engine, client: Client) -> None:
    pieces = follow(client, TASK)
    with engine.step(1, 1) as stream:
        stream.delta("before ", (1,))
    assert [next(pieces), next(pieces)] == [StepMarker(1, 1, 1, "hunter"), "before "]
    with engine.step(1, 1) as stream:
        stream.delta("after", (2,))
    engine.rest()
    assert joined(list(pieces)) == ["after", END]


def test_steps_that_begin_while_one_looks_are_not_missed(engine: Engine, client: Client) -> None:
    pieces = follow(client, TASK, from_start=True)
    with engine.step(1, 1) as stream:
        stream.delta("one", (1,))
    assert next(pieces) == StepMarker(1, 1, 1, "hunter")
    for step in (2, 3):
        with engine.step(1, step) as stream:
            stream.delta(str(step), (1,))
    engine.rest()
    assert joined(list(pieces)) == [
        "one",
        StepMarker(1, 2, 2, "hunter"),
        "2",
        StepMarker(1, 3, 3, "hunter"),
        "3",
        END,
    ]


def test_a_task_there_is_not_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        next(follow(Client(Home(tmp_path)), TASK))
