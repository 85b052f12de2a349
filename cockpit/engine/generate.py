"""Runs one model call to its end, or to the token where somebody stops it, and writes every token down."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace

from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, CompletionServer, Finished, Piece, Progress, StreamEvent, Usage
from cockpit.domain.stream import Answer, Cut, End, Insert, Open, StreamLine, answer_of
from cockpit.domain.watchdog import Alarm, Watchdog, WatchLimits
from cockpit.engine.context import TaskContext
from cockpit.engine.signals import Interrupted
from cockpit.journal.layout import StepFolder
from cockpit.journal.streamlog import StreamWriter, read_stream

WHO = "cockpit"
"""Who put in text that neither the model nor the operator wrote."""
LEAD_TOKENS = 160
"""Most tokens of a first line that says what the bug is."""
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
        self._resumed: int | None = None
        """Tokens kept by a resume that is not written down yet."""
        self._read: Progress | None = None
        """What the server said of the prompt when this call was first sent."""

    async def run(self, server: CompletionServer, request: CompletionRequest) -> Generated:
        """Stream until the end; raises ``Interrupted`` when stopped and ``ServerError`` when the server fails."""
        try:
            done = self._done_before()
            if done is not None:
                return done
            self._note_resume(request)
            if self._opened.bridge:
                await self._lead(server, request)
            return await self._stream(server, self._from_here(request))
        except ServerError:
            self._cut("server")
            raise
        except asyncio.CancelledError:
            self._cut("shutdown")
            raise
        finally:
            self._writer.close()
            self._ctx.live.pop("stream", None)

    def _lines(self) -> list[StreamLine]:
        return read_stream(self._folder.stream)[0]

    def _done_before(self) -> Generated | None:
        """Return the call's result when a crash came between its end and the journal."""
        lines = self._lines()
        answer, last = answer_of(lines), lines[-1]
        if answer.finish is None or not isinstance(last, End):
            return None
        return Generated(answer, answer.finish, Usage(**last.usage))

    def _note_resume(self, request: CompletionRequest) -> None:
        """Note that the call goes on from the tokens on disk; without ids (a plain chat server) it starts over."""
        lines = self._lines()
        if isinstance(lines[-1], Open | Insert):
            return
        if not request.prompt_ids:
            self._writer.cut("restart", at=0)
        elif not isinstance(lines[-1], Cut):
            self._writer.cut("crash")
        self._resumed = len(answer_of(self._lines()).ids)

    def _from_here(self, request: CompletionRequest) -> CompletionRequest:
        """Return the request that makes the server go on behind the tokens on disk."""
        kept = answer_of(self._lines()).ids if request.prompt_ids else ()
        self._tokens = len(kept)
        return replace(
            request,
            prompt_ids=(*request.prompt_ids, *kept),
            skip_tokens=len(kept),
            max_tokens=max(1, request.max_tokens - len(kept)),
        )

    async def _lead(self, server: CompletionServer, request: CompletionRequest) -> None:
        """Hold a small model to the form: our opening, its first line, our path and fence, then the rest is its own.

        A 1.5B model asked for a complete file often writes only the function it changed, or forgets the path.
        """
        inserted = sum(isinstance(line, Insert) and line.who == WHO for line in self._lines())
        if inserted == 0:
            await self._insert(server, self._opened.opening)
        if inserted < 2:
            rest = await self._first_line(server, replace(self._from_here(request), max_tokens=LEAD_TOKENS))
            await self._insert(server, rest + self._opened.bridge)

    async def _insert(self, server: CompletionServer, text: str) -> None:
        self._writer.insert(WHO, text, await server.tokenize(text, special=False))

    async def _first_line(self, server: CompletionServer, request: CompletionRequest) -> str:
        """Stream up to the first line end; returns what of the last piece stands before it."""
        async with aclosing(server.stream(request)) as events:
            while True:
                event = await self._next(events)
                if isinstance(event, Alarm):
                    raise ServerError(event.reason, hint="look at the server's log", label=event.label)
                self._watchdog.feed(time.monotonic(), event)
                if isinstance(event, Finished):
                    return ""
                if isinstance(event, Piece) and "\n" in event.text:
                    return event.text.split("\n", 1)[0]
                self._take(event, request)

    async def _stream(self, server: CompletionServer, request: CompletionRequest) -> Generated:
        async with aclosing(server.stream(request)) as events:
            while True:
                event = await self._next(events)
                if isinstance(event, Alarm):
                    return self._alarmed(event)
                if isinstance(event, Finished):
                    return self._finished(event, request)
                self._watchdog.feed(time.monotonic(), event)
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
            self._read = self._read or event
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
        usage = self._whole_usage(event.usage)
        self._writer.end(event.finish.value, asdict(usage))
        return Generated(self._answer(), event.finish.value, usage)

    def _whole_usage(self, last: Usage) -> Usage:
        """Return the price of the whole call: its prompt as first read, though a lead sends it twice."""
        if self._read is None:
            return last
        return replace(last, prompt_tokens=self._read.total - self._read.cached, cached_tokens=self._read.cached)

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
