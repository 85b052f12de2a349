"""Server-sent events: any split of the bytes gives the same events."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.adapters.sse import DATA, ERROR, PING, SseEvent, SseReader

CASES = Path(__file__).parents[1] / "cases" / "llama_server"

LINES = st.one_of(
    st.text(max_size=12).map(lambda text: f"data: {text}"),
    st.text(max_size=12).map(lambda text: f"data:{text}"),
    st.sampled_from(
        [":", ": keepalive", "", "", "data:", "data", "event: error", "error: {}", "id: 7", "data: \u2028\x85é🦙"]
    ),
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\r"])), max_size=12).map(
    lambda pairs: "".join(line + end for line, end in pairs).encode()
)


def read(*chunks: bytes) -> list[SseEvent]:
    reader = SseReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def split(whole: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    return [whole[start:end] for start, end in pairwise(edges)]


@given(STREAMS, st.lists(st.integers(0, 500), max_size=8))
def test_any_split_of_the_bytes_gives_the_same_events(whole: bytes, cuts: list[int]) -> None:
    assert read(*split(whole, cuts)) == read(whole)


@given(STREAMS)
def test_one_byte_at_a_time_gives_the_same_events(whole: bytes) -> None:
    assert read(*(whole[index : index + 1] for index in range(len(whole)))) == read(whole)


def test_a_real_awkward_stream_reads_the_same_byte_by_byte() -> None:
    whole = (CASES / "C04-legal-but-awkward-stream" / "stream.bin").read_bytes()
    one_by_one = read(*(bytes([byte]) for byte in whole))
    assert one_by_one == read(whole)
    assert [event.field for event in one_by_one].count(PING) == 4
    assert one_by_one[-1] == SseEvent(DATA, "[DONE]")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_line_end_of_the_standard_ends_a_line(end: str) -> None:
    assert read(f"data: a{end}data: b{end}{end}data: c{end}{end}".encode()) == [
        SseEvent(DATA, "a\nb"),
        SseEvent(DATA, "c"),
    ]


def test_a_line_end_split_between_two_chunks_is_one_line_end() -> None:
    assert read(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [SseEvent(DATA, "a\nb")]


def test_unicode_separators_stay_inside_the_data() -> None:
    text = '{"content":"5\u2028done\x85\u2029\x0b\x0c\x1c"}'
    assert read(f"data: {text}\n\n".encode()) == [SseEvent(DATA, text)]


def test_a_character_split_between_two_chunks_is_whole() -> None:
    whole = "data: 🦙\n\n".encode()
    assert read(whole[:8], whole[8:]) == [SseEvent(DATA, "🦙")]


def test_only_one_space_after_the_colon_is_eaten() -> None:
    assert read(b"data:x\n\ndata: x\n\ndata:  x\n\n") == [
        SseEvent(DATA, "x"),
        SseEvent(DATA, "x"),
        SseEvent(DATA, " x"),
    ]


def test_comments_are_reported_at_once_as_keep_alive() -> None:
    assert SseReader().feed(b": keepalive\n") == [SseEvent(PING, "keepalive")]


def test_an_error_field_and_an_error_event_are_errors() -> None:
    assert read(b'error: {"code": 500}\n\n') == [SseEvent(ERROR, '{"code": 500}')]
    assert read(b'event: error\ndata: {"code": 500}\n\ndata: x\n\n') == [
        SseEvent(ERROR, '{"code": 500}'),
        SseEvent(DATA, "x"),
    ]


def test_empty_data_is_no_event_and_a_last_event_needs_no_blank_line() -> None:
    assert read(b"data:\n\n\n\ndata: [DONE]") == [SseEvent(DATA, "[DONE]")]


def test_a_byte_order_mark_is_eaten_once() -> None:
    assert read(b"\xef\xbb\xbfdata: x\n\n") == [SseEvent(DATA, "x")]
