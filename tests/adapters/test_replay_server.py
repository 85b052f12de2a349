"""A recorded session is said again call by call, with the recorded counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from cockpit.adapters.replay import ReplayServer
from cockpit.domain.errors import ServerError
from cockpit.domain.labels import Layer, layer_of
from cockpit.domain.serving import CompletionRequest, Finish, Finished, Piece, Progress, Role, StreamEvent, Turn
from cockpit.domain.stream import Cut, Delta, End, Insert, Open, Resume
from cockpit.journal.codec import encode_stream_line

OPEN = Open(
    1.0, "hunter", 1, 1, (1, 2, 3), prompt_tokens=3, max_tokens=64, server={"model": "m", "context_tokens": 4096}
)
USAGE = {"prompt_tokens": 2, "cached_tokens": 1, "generated_tokens": 4, "prompt_ms": 5.0, "truncated": False}
END = End(90, "stop", USAGE)


def record(task: Path, *lines: Any, attempt: int = 1, step: int = 1, tail: bytes = b"") -> Path:  # noqa: ANN401
    path = task / "attempts" / str(attempt) / "steps" / str(step) / "stream.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(encode_stream_line(line) + b"\n" for line in lines) + tail)
    return path


def asked(ordinal: int = 1, *, skip: int = 0, role: Role = Role.HUNTER, attempt: int = 1) -> CompletionRequest:
    return CompletionRequest((), (), 64, role=role, attempt=attempt, ordinal=ordinal, skip_tokens=skip)


async def said(task: Path, request: CompletionRequest) -> list[StreamEvent]:
    return [event async for event in ReplayServer(task).stream(request)]


async def test_a_call_is_said_again_with_its_ids_and_counts(tmp_path: Path) -> None:
    record(tmp_path, OPEN, Delta(10, 0, "one ", (11, 12)), Delta(20, 2, "hm", (13,), "reasoning"), END)
    events = await said(tmp_path, asked())
    assert events[:-1] == [Progress(3, 0, 3, 0.0), Piece("one ", (11, 12)), Piece("hm", (13,), is_reasoning=True)]
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.finish, last.usage.cached_tokens, last.usage.generated_tokens) == (Finish.STOP, 1, 4)


async def test_calls_are_found_by_role_attempt_and_ordinal(tmp_path: Path) -> None:
    record(tmp_path, OPEN, Delta(1, 0, "first", (1,)), END)
    second = Open(1.0, "hunter", 1, 2, (), 0, 64)
    record(tmp_path, second, Delta(1, 0, "second", (1,)), END, step=2)
    judge = Open(1.0, "verifier", 2, 1, (), 0, 64)
    record(tmp_path, judge, Delta(1, 0, "judge", (1,)), END, attempt=2, step=10)
    assert (await said(tmp_path, asked(2)))[1] == Piece("second", (1,))
    assert (await said(tmp_path, asked(1, role=Role.VERIFIER, attempt=2)))[1] == Piece("judge", (1,))


async def test_what_is_not_recorded_is_exhausted_for_good(tmp_path: Path) -> None:
    record(tmp_path, OPEN, END)
    with pytest.raises(ServerError, match="no step 2 of the hunter is recorded for attempt 1") as caught:
        await said(tmp_path, asked(2))
    assert (caught.value.label, caught.value.is_final) == ("replay_exhausted", True)
    assert layer_of("replay_exhausted") is Layer.STOP


@pytest.mark.parametrize("tail", [b"", b'{"kind":"end","ms":9,"fin'])
async def test_a_recording_that_breaks_off_ends_like_a_server_that_went_away(tmp_path: Path, tail: bytes) -> None:
    record(tmp_path, OPEN, Delta(10, 0, "half", (11,)), tail=tail)
    seen: list[StreamEvent] = []
    with pytest.raises(ServerError, match="in the middle of the answer") as caught:
        seen.extend([event async for event in ReplayServer(tmp_path).stream(asked())])
    assert (caught.value.label, caught.value.is_final) == ("server_unavailable", False)


async def test_a_resume_goes_on_after_the_tokens_that_are_there(tmp_path: Path) -> None:
    record(tmp_path, OPEN, Delta(1, 0, "ab", (1, 2)), Delta(2, 2, "c", (3,)), Delta(3, 3, "d", (4,)), END)
    events = await said(tmp_path, asked(skip=3))
    assert [event for event in events if isinstance(event, Piece)] == [Piece("d", (4,))]


async def test_pieces_without_ids_get_stable_ones_and_can_be_skipped(tmp_path: Path) -> None:
    record(tmp_path, OPEN, Delta(1, 0, "a"), Delta(2, 0, "b"), END)
    first = [event for event in await said(tmp_path, asked()) if isinstance(event, Piece)]
    again = [event for event in await said(tmp_path, asked(skip=1)) if isinstance(event, Piece)]
    assert len({piece.ids for piece in first}) == 2
    assert again == first[1:]


async def test_what_stood_in_the_end_is_said_cuts_and_insertions_done(tmp_path: Path) -> None:
    lines = (
        Delta(1, 0, "good ", (1,)),
        Delta(2, 1, "bad", (2,)),
        Cut(3, "steer", 1),
        Insert(4, "operator", "better ", (7, 8)),
    )
    record(tmp_path, OPEN, *lines, Resume(5, 3), Delta(6, 3, "end", (9,)), END)
    pieces = [event for event in await said(tmp_path, asked()) if isinstance(event, Piece)]
    assert "".join(piece.text for piece in pieces) == "good better end"
    assert [token for piece in pieces for token in piece.ids] == [1, 7, 8, 9]


async def test_the_recorded_server_is_named_and_an_empty_folder_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "task", OPEN, END)
    facts = await ReplayServer(tmp_path / "task").facts()
    assert (facts.model, facts.context_tokens) == ("m", None), "stand-in counts do not compare with a real context"
    with pytest.raises(ServerError, match="holds no recorded model calls"):
        await ReplayServer(tmp_path / "other").facts()


async def test_stand_in_tokens_are_the_same_for_the_same_text_and_prompts_only_grow() -> None:
    server = ReplayServer(Path("nowhere"))
    assert await server.tokenize("price é", special=True) == await server.tokenize("price é", special=False)
    assert len(await server.tokenize("x" * 400, special=False)) == 100
    turns = (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c"))
    assert (await server.render(turns)).startswith((await server.render(turns[:1])).rstrip("\n"))


async def test_a_file_that_is_no_recording_is_passed_over(tmp_path: Path) -> None:
    record(tmp_path, OPEN, END)
    stray = tmp_path / "attempts" / "1" / "steps" / "2" / "stream.jsonl"
    stray.parent.mkdir()
    stray.write_text(json.dumps([1, 2]) + "\n")
    assert (await ReplayServer(tmp_path).facts()).model == "m"
