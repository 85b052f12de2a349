import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.commands import Command
from cockpit.domain.entries import Entry, Record
from cockpit.domain.errors import JournalError
from cockpit.domain.state import TaskState, fold
from cockpit.domain.stream import StreamLine
from cockpit.journal.codec import (
    decode_command,
    decode_record,
    decode_stream_line,
    encode_command,
    encode_record,
    encode_stream_line,
    from_json,
    to_json,
)
from tests.journal.strategies import COMMANDS, ENTRIES, JOURNALS, STREAM_LINES


@given(ENTRIES, st.integers(1, 2**40), st.floats(0, 4e9))
def test_a_record_comes_back_as_it_was(entry: Entry, seq: int, at_s: float) -> None:
    record = Record(seq, at_s, entry)
    assert decode_record(encode_record(record)) == record


@given(COMMANDS)
def test_a_command_comes_back_as_it_was(command: Command) -> None:
    assert decode_command(encode_command(command)) == command


@given(STREAM_LINES)
def test_a_stream_line_comes_back_as_it_was(line: StreamLine) -> None:
    assert decode_stream_line(encode_stream_line(line)) == line


@given(JOURNALS)
def test_a_state_comes_back_as_it_was(records: list[Record]) -> None:
    state = fold(records)
    assert from_json(TaskState, to_json(state)) == state


@given(ENTRIES)
def test_no_text_can_break_a_line_in_two(entry: Entry) -> None:
    encoded = encode_record(Record(1, 0.0, entry))
    assert encoded.isascii()
    assert len(encoded.decode().splitlines()) == 1


def test_a_record_is_one_flat_object_a_person_can_grep() -> None:
    from cockpit.domain.entries import PauseChanged

    row = json.loads(encode_record(Record(7, 1.5, PauseChanged(paused=True))))
    assert row == {"seq": 7, "at_s": 1.5, "paused": True, "kind": "pause_changed"}


def test_a_field_of_a_newer_version_is_left_out() -> None:
    line = b'{"seq":1,"at_s":2.0,"kind":"pause_changed","paused":true,"by":"somebody"}'
    assert decode_record(line).seq == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"seq":1,"at_s":2,"kind":"teleported"}', "'teleported' is unknown to this version"),
        (b'{"seq":1,"at_s":2,"kind":"trouble"}', "message: field required"),
        (b'{"seq":1,"at_s":2}', "discriminator"),
        (b'{"kind":"trouble","message":""}', "without seq and at_s"),
        (b'{"seq":"x","at_s":2,"kind":"trouble"}', "without seq and at_s"),
        (b"[1]", "not a JSON object"),
        (b'{"seq":1', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_record_is_named(line: bytes, words: str) -> None:
    with pytest.raises(JournalError, match=words):
        decode_record(line)


def test_a_value_without_a_form_in_json_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="object has no place"):
        to_json(object())
