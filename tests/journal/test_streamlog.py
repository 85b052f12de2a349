from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.errors import JournalError
from cockpit.domain.stream import Cut, Delta, End, Open, answer_of
from cockpit.journal.streamlog import StreamWriter, read_stream

OPEN = Open(1_800_000_000.0, "hunter", 1, 1, (1, 2, 3), 3, 100, sampler={"seed": 7})


@dataclass
class Clock:
    """A clock that is turned by hand, in seconds."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stream.jsonl"


def deltas(path: Path) -> list[Delta]:
    return [line for line in read_stream(path)[0] if isinstance(line, Delta)]


def test_tokens_of_forty_milliseconds_share_a_line(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.open(OPEN)
        for token in range(8):
            clock.now_s += 1 / 64
            writer.delta(chr(97 + token), (token,))
    assert [(line.ms, line.index, line.text, line.ids) for line in deltas(path)] == [
        (62, 0, "abcd", (0, 1, 2, 3)),
        (125, 4, "efgh", (4, 5, 6, 7)),
    ]


def test_a_lone_token_is_written_when_its_time_has_come(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.delta("a", (1,))
        assert not writer.flush_if_due(clock.now_s + 0.039)
        assert deltas(path) == []
        assert writer.index == 1
        assert writer.flush_if_due(clock.now_s + 0.041)
        assert not writer.flush_if_due(clock.now_s + 9)
        assert [line.text for line in deltas(path)] == ["a"]


def test_reasoning_and_content_never_share_a_line(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.delta("hm", (1,), "reasoning")
        writer.delta("yes", (2,))
        writer.delta("!", (3,))
    assert [(line.channel, line.text) for line in deltas(path)] == [("reasoning", "hm"), ("content", "yes!")]


def test_a_cut_falls_on_the_edge_of_a_line_and_says_where(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.open(OPEN)
        writer.delta("one ", (1, 2))
        writer.flush()
        writer.delta("two ", (3, 4, 5))
        assert writer.cut("edit", 4) == Cut(0, "edit", 2)
        assert writer.index == 2
        writer.insert("operator", "three ", (9,))
        writer.resume(3)
        writer.delta("four", (6,))
        assert writer.cut("pause") == Cut(0, "pause", 4)
        writer.end("stop", {"n": 4})
    answer = answer_of(read_stream(path)[0])
    assert (answer.text, answer.ids, answer.finish) == ("one three four", (1, 2, 9, 6), "stop")


Call = tuple[Any, ...]
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("delta"), st.text(max_size=3), st.lists(st.integers(0, 9), max_size=3).map(tuple)),
        st.tuples(st.just("cut"), st.just("pause"), st.none() | st.integers(0, 9)),
        st.tuples(
            st.just("insert"), st.just("me"), st.text(max_size=3), st.lists(st.integers(0, 9), max_size=2).map(tuple)
        ),
        st.tuples(st.just("flush")),
    ),
    max_size=12,
)


@given(CALLS, st.data())
@settings(max_examples=60)
def test_after_a_crash_at_any_byte_the_writer_knows_how_many_tokens_stand(
    calls: list[Call], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path, clock = Path(folder) / "stream.jsonl", Clock()
        with StreamWriter(path, clock) as writer:
            for name, *arguments in calls:
                clock.now_s += 0.025
                getattr(writer, name)(*arguments)
            writer.flush()
            assert writer.index == len(answer_of(read_stream(path)[0]).ids)
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        kept = answer_of(read_stream(path)[0])
        with StreamWriter(path, Clock(5.0)) as writer:
            assert writer.index == len(kept.ids)
            writer.delta("!", (99,))
        assert answer_of(read_stream(path)[0]).ids == (*kept.ids, 99)


def test_time_goes_on_after_a_crash(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.open(OPEN)
        clock.now_s += 2.0
        writer.delta("a", (1,))
    path.write_bytes(path.read_bytes() + b'{"ms":2100,"torn')
    restarted = Clock(3.0)
    with StreamWriter(path, restarted) as writer:
        restarted.now_s += 0.5
        writer.cut("crash")
        restarted.now_s -= 1.0
        writer.end("stop")
    assert [line.ms for line in read_stream(path)[0] if not isinstance(line, Open)] == [2000, 2500, 2500]


def test_a_reader_goes_on_from_its_offset(path: Path, clock: Clock) -> None:
    with StreamWriter(path, clock) as writer:
        writer.open(OPEN)
        lines, offset = read_stream(path)
        writer.end("stop")
    assert lines == [OPEN]
    assert read_stream(path, offset)[0] == [End(0, "stop", {})]


def test_a_damaged_line_is_named(path: Path) -> None:
    path.write_bytes(b'{"kind":"resume","ms":1,"kept":0}\n{"kind":"rewind"}\n')
    with pytest.raises(JournalError, match=r"stream\.jsonl, line 2: 'rewind' is unknown"):
        read_stream(path)


def test_a_stream_that_did_not_begin_is_empty(path: Path) -> None:
    assert read_stream(path) == ([], 0)
