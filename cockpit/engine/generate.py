"""Runs one model call to its end, or to the token where somebody stops it, and writes every token down."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace

from cockpit.adapters.watched import watched
from cockpit.domain.errors import HoldError, ServerError
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
TICK_S = 0.05
"""How soon a pause is noticed, and waiting tokens reach the file, while nothing arrives."""
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
            with suppress(HoldError):  # a full disk must not hide why the call ended; lost tokens are asked for again
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
        return Generated(answer, answer.finish, Usage(**last.usage), last.reason)

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
        standing = answer_of(self._lines()).text
        if not standing.startswith(self._opened.opening):
            await self._insert(server, self._opened.opening)
        if self._opened.bridge not in standing:
            rest = await self._first_line(server, replace(self._from_here(request), max_tokens=LEAD_TOKENS))
            await self._insert(server, rest + self._opened.bridge)

    async def _insert(self, server: CompletionServer, text: str) -> None:
        self._writer.insert(WHO, text, await server.tokenize(text, special=False))

    async def _first_line(self, server: CompletionServer, request: CompletionRequest) -> str:
        """Stream up to the first line end; returns what of the last piece stands before it."""
        async with aclosing(self._watched(server, request)) as events:
            async for event in events:
                match event:
                    case Alarm() if event.label in FINAL_ALARMS:
                        return ""
                    case Alarm():
                        raise _stalled(event)
                    case Finished():
                        return ""
                    case Piece() if "\n" in event.text:
                        return event.text.split("\n", 1)[0]
                    case _:
                        self._take(event, request)
        raise _broken_off()

    async def _stream(self, server: CompletionServer, request: CompletionRequest) -> Generated:
        async with aclosing(self._watched(server, request)) as events:
            async for event in events:
                match event:
                    case Alarm():
                        return self._alarmed(event)
                    case Finished():
                        return self._finished(event, request)
                    case _:
                        self._take(event, request)
        raise _broken_off()

    def _watched(
        self, server: CompletionServer, request: CompletionRequest
    ) -> AsyncGenerator[StreamEvent | Alarm, None]:
        wished = self._ctx.settings.watchdog
        limits = WatchLimits(wished.prefill_stall_s, wished.decode_stall_s, wished.call_s, wished.repeated_lines)
        watchdog = Watchdog(limits, time.monotonic())
        return watched(server.stream(request), watchdog, tick_s=TICK_S, on_tick=self._tick)

    def _tick(self) -> None:
        """Stop when somebody asked for it; else let waiting tokens reach the file."""
        stop = self._ctx.stop
        if stop.is_asked:
            self._cut(stop.why)
            raise Interrupted(stop.why)
        self._writer.flush_if_due(time.monotonic())

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
            raise _stalled(alarm)
        usage = Usage(generated_tokens=self._tokens)
        self._writer.end(alarm.label, asdict(usage), alarm.reason)
        return Generated(self._answer(), alarm.label, usage, alarm.reason)

    def _cut(self, why: str) -> None:
        with suppress(HoldError):  # a stream without this line reads as one that a crash cut: it goes on all the same
            self._writer.cut(why)

    def _answer(self) -> Answer:
        return answer_of(self._lines())


def _stalled(alarm: Alarm) -> ServerError:
    return ServerError(alarm.reason, hint="look at the server's log; the task goes on by itself", label=alarm.label)


def _broken_off() -> ServerError:
    return ServerError("the server's stream ended without a last word", hint="look at the server's log")
