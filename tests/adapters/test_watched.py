"""The watchdog is asked while the stream is silent, and an alarm ends the call."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from cockpit.adapters.watched import watched
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import Finish, Finished, Piece, StreamEvent, Usage
from cockpit.domain.watchdog import Alarm, Watchdog, WatchLimits


class Clock:
    """Moves on by one second each time it is looked at."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


class Script:
    """A stream that says some pieces, then waits for ever; notes that it was closed."""

    def __init__(self, *events: StreamEvent, is_endless: bool = True) -> None:
        self.events = events
        self.is_endless = is_endless
        self.is_closed = False

    async def play(self) -> AsyncGenerator[StreamEvent]:
        try:
            for event in self.events:
                await asyncio.sleep(0)
                yield event
            if self.is_endless:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


def still() -> float:
    """A clock that stands: these streams are judged by what they say."""
    return 0.0


def dog(**limits: float) -> Watchdog:
    return Watchdog(WatchLimits(**limits), started_s=0.0)  # type: ignore[arg-type]


async def test_a_complete_stream_passes_unchanged_over_many_ticks() -> None:
    events = (Piece("a"), Piece("b"), Finished(Finish.STOP, Usage()))
    script = Script(*events, is_endless=False)
    assert [event async for event in watched(script.play(), dog(), clock=still, tick_s=0.001)] == list(events)
    assert script.is_closed


async def test_silence_after_a_token_ends_in_an_alarm_and_a_closed_stream() -> None:
    script = Script(Piece("a"))
    seen = [event async for event in watched(script.play(), dog(decode_stall_s=20), clock=Clock(), tick_s=0.001)]
    assert seen[0] == Piece("a")
    assert isinstance(seen[-1], Alarm)
    assert seen[-1].label == "decode_timeout"
    assert script.is_closed


async def test_a_loop_ends_in_an_alarm_while_tokens_keep_coming() -> None:
    script = Script(*[Piece("again and again\n")] * 500)
    seen = [event async for event in watched(script.play(), dog(), clock=still)]
    assert isinstance(seen[-1], Alarm)
    assert len(seen) == 81
    assert script.is_closed


async def test_closing_the_watched_stream_closes_the_one_below() -> None:
    script = Script(Piece("a"))
    async with aclosing(watched(script.play(), dog(), clock=still)) as events:
        assert await anext(events) == Piece("a")
    assert script.is_closed


async def test_cancelling_the_job_that_waits_closes_the_one_below() -> None:
    script = Script(Piece("a"))
    has_begun = asyncio.Event()

    async def consume() -> None:
        async for _ in watched(script.play(), dog(), clock=still, tick_s=0.001):
            has_begun.set()

    job = asyncio.ensure_future(consume())
    await has_begun.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await asyncio.sleep(0)
    assert script.is_closed


async def test_an_error_of_the_stream_comes_through() -> None:
    async def broken() -> AsyncGenerator[StreamEvent]:
        yield Piece("a")
        raise ServerError("gone")

    with pytest.raises(ServerError, match="gone"):
        _ = [event async for event in watched(broken(), dog(), clock=still)]
