"""Runs one model call to its end, or to the token where somebody stops it, and writes every token down."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace

from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, CompletionServer, Finished, Piece, Progress, StreamEvent, Usage
from cockpit.domain.stream import Answer, End, Open, answer_of
from cockpit.domain.watchdog import Alarm, Watchdog, WatchLimits
from cockpit.engine.context import TaskContext
from cockpit.engine.signals import Interrupted
from cockpit.journal.layout import StepFolder
from cockpit.journal.streamlog import StreamWriter, read_stream

POLL_S = 0.2
"""How often the watchdog looks while nothing arrives."""
TRUNCATED_SHARE = 0.99
"""A server that read less of the prompt than this has dropped part of it."""
FINAL_ALARMS = frozenset({"gen_repetition"})
"""Alarms that end the answer; all others are the server's fault and the task waits."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What one call came to."""

    answer: Answer
    finish: str
    usage: Usage
    reason: str = ""


class Generation:
    """One call on one slot, resumable from its ``stream.jsonl``."""

    def __init__(self, ctx: TaskContext, folder: StepFolder, opened: Open, *, counts: bool = True) -> None:
        """Prepare the call; ``counts`` tells that the server's token counts speak of this very prompt."""
        self._ctx = ctx
        self._counts = counts
        self._folder = folder
        self._opened = opened
        wished = ctx.settings.watchdog
        limits = WatchLimits(wished.prefill_stall_s, wished.decode_stall_s, wished.call_s, wished.repeated_lines)
        self._watchdog = Watchdog(limits, time.monotonic())
        self._writer = StreamWriter(folder.stream, time.monotonic)
        self._first_piece_s: float | None = None
        self._tokens = 0

    async def run(self, server: CompletionServer, request: CompletionRequest) -> Generated:
        """Stream until the end; raises ``Interrupted`` when stopped and ``ServerError`` when the server fails."""
        try:
            done = self._done_before()
            return done or await self._stream(server, self._resume(request))
        except ServerError:
            self._cut("server")
            raise
        except asyncio.CancelledError:
            self._cut("shutdown")
            raise
        finally:
            self._writer.close()
            self._ctx.live.pop("stream", None)

    def _done_before(self) -> Generated | None:
        """Return the call's result when a crash came between its end and the journal."""
        lines, _ = read_stream(self._folder.stream)
        answer, last = answer_of(lines), lines[-1]
        if answer.finish is None or not isinstance(last, End):
            return None
        return Generated(answer, answer.finish, Usage(**last.usage))

    def _resume(self, request: CompletionRequest) -> CompletionRequest:
        """Go on from the tokens on disk; without ids (a plain chat server) the call starts over."""
        lines, _ = read_stream(self._folder.stream)
        kept = answer_of(lines)
        self._tokens = len(kept.ids)
        if len(lines) <= 1:
            return request
        exact = bool(request.prompt_ids) and bool(kept.ids)
        count = len(kept.ids) if exact else 0
        self._tokens = count
        if lines[-1].kind in {"delta", "insert", "resume"} or not exact:
            self._writer.cut("crash", at=count)
        self._resumed = count
        return replace(
            request,
            prompt_ids=(*request.prompt_ids, *kept.ids) if exact else request.prompt_ids,
            skip_tokens=count,
            max_tokens=max(1, request.max_tokens - count),
        )

    _resumed: int | None = None
    """Tokens kept by a resume that is not written down yet."""

    async def _stream(self, server: CompletionServer, request: CompletionRequest) -> Generated:
        async with aclosing(server.stream(request)) as events:
            while True:
                event = await self._next(events)
                if isinstance(event, Alarm):
                    return self._alarmed(event)
                self._watchdog.feed(time.monotonic(), event)
                if isinstance(event, Finished):
                    return self._finished(event, request)
                self._take(event, request)
                alarm = self._watchdog.check(time.monotonic())
                if alarm is not None:
                    return self._alarmed(alarm)

    async def _next(self, events: AsyncIterator[StreamEvent]) -> StreamEvent | Alarm:
        arriving = asyncio.ensure_future(anext(events))
        stopping = asyncio.ensure_future(self._ctx.stop.wait())
        try:
            while True:
                await asyncio.wait({arriving, stopping}, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
                if stopping.done():
                    self._cut(self._ctx.stop.why)
                    raise Interrupted(self._ctx.stop.why)
                if arriving.done():
                    return _arrived(arriving)
                self._writer.flush_if_due(time.monotonic())
                alarm = self._watchdog.check(time.monotonic())
                if alarm is not None:
                    return alarm
        finally:
            stopping.cancel()
            if not arriving.done():
                arriving.cancel()
                await asyncio.gather(arriving, return_exceptions=True)

    def _take(self, event: Progress | Piece, request: CompletionRequest) -> None:
        if self._resumed is not None:
            prefilled = event.total - event.cached if isinstance(event, Progress) else None
            self._writer.resume(kept=self._resumed, prefilled=prefilled)
            self._resumed = None
        if isinstance(event, Progress):
            self._show(prefill_total=event.total, prefill_done=event.processed, prefill_cached=event.cached)
            return
        self._first_piece_s = self._first_piece_s or time.monotonic()
        self._tokens += len(event.ids) if request.prompt_ids else 1
        self._writer.delta(event.text, event.ids, "reasoning" if event.is_reasoning else "content")
        elapsed = time.monotonic() - self._first_piece_s
        rate = (self._tokens - request.skip_tokens) / elapsed if elapsed > 0.5 else None
        self._show(tokens=self._tokens, tokens_per_s=rate, context_used=len(self._opened.prompt_ids) + self._tokens)

    def _show(self, **facts: float | None) -> None:
        self._ctx.live["stream"] = {**self._ctx.live.get("stream", {}), **facts}

    def _finished(self, event: Finished, request: CompletionRequest) -> Generated:
        self._check_whole(event.usage, len(request.prompt_ids))
        self._writer.end(event.finish.value, asdict(event.usage))
        return Generated(self._answer(), event.finish.value, event.usage)

    def _check_whole(self, usage: Usage, sent: int) -> None:
        """Compare what was sent with what the server read: a prompt cut in silence makes every answer worthless."""
        read = usage.prompt_tokens + usage.cached_tokens
        is_short = self._counts and 0 < read < sent * TRUNCATED_SHARE
        if not usage.truncated and not is_short:
            return
        self._writer.cut("truncated", at=0)
        raise ServerError(
            f"the server read {read} of the prompt's {sent} tokens",
            hint="start it with a larger --ctx-size and without context shift",
            label="ctx_truncated",
            is_final=True,
        )

    def _alarmed(self, alarm: Alarm) -> Generated:
        self._cut(alarm.label)
        if alarm.label not in FINAL_ALARMS:
            raise ServerError(
                alarm.reason, hint="look at the server's log; the task goes on by itself", label=alarm.label
            )
        usage = Usage(generated_tokens=self._tokens)
        self._writer.end(alarm.label, asdict(usage))
        return Generated(self._answer(), alarm.label, usage, alarm.reason)

    def _cut(self, why: str) -> None:
        self._writer.cut(why)

    def _answer(self) -> Answer:
        self._writer.flush()
        return answer_of(read_stream(self._folder.stream)[0])


def _arrived(arriving: "asyncio.Future[StreamEvent]") -> StreamEvent:
    try:
        return arriving.result()
    except StopAsyncIteration:
        raise ServerError("the server's stream ended without a last word", hint="look at the server's log") from None
