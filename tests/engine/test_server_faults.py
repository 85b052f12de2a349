"""A model server fails in every way it can; the task waits and goes on at its token, or ends with the right name."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.domain.commands import Kill
from cockpit.domain.states import State
from cockpit.domain.stream import Cut, answer_of
from cockpit.journal.log import read_records
from cockpit.journal.streamlog import read_stream
from tests.engine.faulty import Call, Chunk, Faulty, faulty
from tests.engine.house import House
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project

pytestmark = pytest.mark.e2e

QUICK = {
    "COCKPIT_ENGINE_RETRY_S": "0.3",
    "COCKPIT_WATCHDOG_DECODE_STALL_S": "1.5",
    "COCKPIT_WATCHDOG_PREFILL_STALL_S": "1.5",
}
GOOD = 60
"""Tokens a faulty server says before it fails."""


@pytest.fixture(scope="module")
def server() -> Iterator[Faulty]:
    with faulty(answer=RIGHT_ANSWER) as made:
        yield made


@pytest.fixture(scope="module")
def engine(root: Path, server: Faulty) -> Iterator[House]:
    made = House(root, {**QUICK, "COCKPIT_SERVER_URL": server.url})
    made.start()
    yield made
    made.stop()


@pytest.fixture
def healthy(server: Faulty) -> Faulty:
    """The server as it was before the last test broke it."""
    server.calls.clear()
    server.set(fault=None, answer=RIGHT_ANSWER, context=16384)
    return server


def breaks_off(call: Call) -> Iterator[Chunk] | None:
    return call.pieces(stop=GOOD) if call.number == 1 else None


def breaks_in_an_event(call: Call) -> Iterator[Chunk] | None:
    return itertools.chain(call.pieces(stop=GOOD), [b'data: {"content": "x", "tok']) if call.number == 1 else None


def reports_an_error(call: Call) -> Iterator[Chunk] | None:
    error: Chunk = {"error": {"code": 500, "message": "out of memory", "type": "server_error"}}
    return itertools.chain(call.pieces(stop=GOOD), [error]) if call.number == 1 else None


def only_pings(call: Call) -> Iterator[Chunk] | None:
    pings: list[Chunk] = [0.2, b": keep-alive\n\n"] * 40
    return itertools.chain(call.pieces(stop=GOOD), pings) if call.number == 1 else None


def never_begins(call: Call) -> Iterator[Chunk] | None:
    pings: list[Chunk] = [0.2, b": keep-alive\n\n"] * 40
    return iter(pings) if call.number == 1 else None


PASSING = {
    "the stream breaks off": (breaks_off, "server_unavailable", GOOD),
    "an event is cut in two": (breaks_in_an_event, "server_unavailable", GOOD),
    "an error in the stream": (reports_an_error, "server_unavailable", GOOD),
    "only keep-alives come": (only_pings, "decode_timeout", GOOD),
    "the prompt is never read": (never_begins, "prefill_timeout", 0),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_costs_no_token(name: str, engine: House, healthy: Faulty, tmp_path: Path) -> None:
    fault, label, kept = PASSING[name]
    healthy.set(fault=fault)
    task = engine.add(make_project(tmp_path / "repo"), ISSUE, "")
    state = engine.wait(task)
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    records, _ = read_records(engine.home.task(task).journal)
    waits = [item.entry for item in records if item.entry.kind == "state_changed" and item.entry.state is State.WAITING]
    assert [(wait.label, wait.by_key) for wait in waits] == [(label, False)]
    first, second = healthy.calls
    assert second.prompt == first.prompt + [ord(letter) for letter in RIGHT_ANSWER[:kept]], "it goes on at the token"
    assert answer_of(read_stream(engine.home.task(task).step(1, 1).stream)[0]).text == RIGHT_ANSWER
    assert len(state.attempts) == len(state.attempts[0].rounds) == 1, "nothing counts against the model"


def in_circles(call: Call) -> Iterator[Chunk]:
    line = "    result += price  # and once more\n"
    for index in range(20_000):
        letter = line[index % len(line)]
        yield {"content": letter, "tokens": [ord(letter)], "stop": False, "tokens_predicted": index + 1}
    yield call.last(20_000)


def test_an_answer_in_circles_is_stopped_and_named(engine: House, healthy: Faulty, tmp_path: Path) -> None:
    healthy.set(fault=in_circles)
    state = engine.wait(engine.add(make_project(tmp_path / "repo"), ISSUE, "", rounds=1, attempts=1))
    assert (state.state, state.label) == (State.FAILED, "gen_repetition"), state.reason
    assert state.generated_tokens < 8000


def reads_a_part(call: Call) -> Iterator[Chunk]:
    size = len(call.prompt) // 2
    timings = {"cache_n": 0, "prompt_n": size, "predicted_n": len(call.left)}
    yield from call.pieces()
    yield call.last(len(call.left), truncated=True, tokens_evaluated=size, timings=timings)


def test_a_prompt_the_server_cut_proves_nothing(engine: House, healthy: Faulty, tmp_path: Path) -> None:
    healthy.set(fault=reads_a_part)
    task = engine.add(make_project(tmp_path / "repo"), ISSUE, "")
    state = engine.wait(task, State.WAITING, State.REVIEW, State.FAILED)
    assert (state.state, state.label, state.by_key) == (State.WAITING, "ctx_truncated", True)
    lines, _ = read_stream(engine.home.task(task).step(1, 1).stream)
    assert isinstance(lines[-1], Cut)
    assert answer_of(lines).ids == (), "the answer to half a prompt is no answer"
    engine.command(Kill(f"k-{task}", task))


def context_is_full(call: Call) -> Iterator[Chunk]:
    yield from call.pieces(stop=GOOD)
    error = {"code": 400, "message": "too long", "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}
    yield {"error": error}


def test_a_context_exceeded_in_mid_stream_is_asked_for_once(engine: House, healthy: Faulty, tmp_path: Path) -> None:
    healthy.set(fault=context_is_full)
    task = engine.add(make_project(tmp_path / "repo"), ISSUE, "")
    state = engine.wait(task, State.WAITING, State.REVIEW, State.FAILED)
    assert (state.state, state.label, state.by_key) == (State.WAITING, "ctx_overflow", True)
    fine = engine.add(make_project(tmp_path / "other"), ISSUE, "", test="none")
    engine.wait(fine, State.WAITING)
    assert len([call for call in healthy.calls if call.left == RIGHT_ANSWER]) == 2, "one call a task"
    for item in (task, fine):
        engine.command(Kill(f"k-{item}", item))
