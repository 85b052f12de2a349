"""Runs a stream under a watchdog: the stream may be silent for minutes, the watchdog is asked all the same."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable

from cockpit.domain.serving import StreamEvent
from cockpit.domain.watchdog import Alarm, Watchdog

TICK_S = 0.25


async def watched(
    events: AsyncIterator[StreamEvent],
    watchdog: Watchdog,
    *,
    clock: Callable[[], float] = time.monotonic,
    tick_s: float = TICK_S,
    on_tick: Callable[[], None] = lambda: None,
) -> AsyncGenerator[StreamEvent | Alarm]:
    """Yield the events; the last one is ``Finished``, or an ``Alarm`` after which the call has been cancelled.

    ``on_tick`` is called before every event and at least every ``tick_s``; what it raises ends the call and comes
    through. Closing this generator, or cancelling the job that waits for it, cancels the call too. The wait for the
    next event is one job that is kept over many ticks: ``asyncio.wait_for`` around ``anext`` would kill the stream at
    each tick.
    """
    job: asyncio.Task[StreamEvent | None] | None = None
    try:
        while True:
            on_tick()
            job = asyncio.ensure_future(_next(events))
            while not await _is_there(job, tick_s):
                on_tick()
                if alarm := watchdog.check(clock()):
                    yield alarm
                    return
            event = job.result()
            if event is None:
                return
            watchdog.feed(clock(), event)
            yield event
            if alarm := watchdog.check(clock()):
                yield alarm
                return
    finally:
        await _stop(job, events)


async def _next(events: AsyncIterator[StreamEvent]) -> StreamEvent | None:
    return await anext(events, None)


async def _is_there(job: "asyncio.Task[StreamEvent | None]", tick_s: float) -> bool:
    done, _ = await asyncio.wait({job}, timeout=tick_s)
    return bool(done)


async def _stop(job: "asyncio.Task[StreamEvent | None] | None", events: AsyncIterator[StreamEvent]) -> None:
    """Cancel what is under way, then close the stream, in this order: a running generator cannot be closed."""
    if job and not job.done():
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)  # how a call ends that nobody wants any more is no news
    if isinstance(events, AsyncGenerator):
        await events.aclose()
