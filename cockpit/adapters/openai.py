"""Speaks OpenAI's chat dialect, the plainer one: text in, text out, and it says what it cannot do."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from cockpit.adapters import server_errors
from cockpit.adapters.llama import Transport, check_model
from cockpit.adapters.llama_wire import END_MARK, parse_chunk
from cockpit.adapters.sse import ERROR, PING, SseEvent
from cockpit.adapters.tool_calls import ToolCalls
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, Finish, Finished, Piece, ServerFacts, StreamEvent, Turn, Usage

MISSING = (
    "pausing and resuming inside an answer: needs llama.cpp's /completion",
    "token ids and counting before a call: needs llama.cpp's /tokenize",
    "the progress of reading the prompt: needs llama.cpp's return_progress",
    "pinning to a slot: needs llama.cpp's id_slot",
)
FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH, "tool_calls": Finish.STOP, "function_call": Finish.STOP}
CONTEXT_KEYS = ("n_ctx", "max_model_len", "context_length")


class OpenAIServer:
    """Any server with ``/v1/chat/completions``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._model = transport.model

    async def facts(self) -> ServerFacts:
        """Read the model and, where the server says, its context."""
        entry = await check_model(self._transport)
        props = await self._props()
        self._model = self._transport.model or str(entry.get("id") or "")
        generation = props.get("default_generation_settings") or {}
        return ServerFacts(
            url=self._transport.url,
            dialect="openai",
            model=self._model,
            build=props.get("build_info"),
            context_tokens=generation.get("n_ctx") or _context_of(entry),
            slots=props.get("total_slots"),
            missing=MISSING,
        )

    async def _props(self) -> dict[str, Any]:
        """Read ``/props`` where there is one; a list of models may be open to all where this asks for the key."""
        try:
            return await self._transport.get("/props")
        except ServerError as error:
            if error.label == "auth_error":
                raise
            return {}

    async def render(self, turns: tuple[Turn, ...]) -> str:
        """Refuse: the template is the server's own affair in this dialect."""
        raise self._cannot("show the exact prompt")

    async def tokenize(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Refuse: this dialect knows no token ids."""
        raise self._cannot("count tokens")

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamEvent]:
        """Yield pieces and at last ``Finished``; tool calls come as one line of JSON each at the end."""
        if request.skip_tokens:
            raise self._cannot("go on in the middle of an answer")
        if not self._model:
            self._model = str((await check_model(self._transport)).get("id") or "")
        reader = ChatReader(self._transport.url)
        async with aclosing(self._transport.events("/v1/chat/completions", self._body(request))) as events:
            async for sent in events:
                for piece in reader.read(sent):
                    yield piece
                if reader.is_over:
                    break
        for event in reader.close():
            yield event

    def _body(self, request: CompletionRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": [{"role": turn.speaker, "content": turn.text} for turn in request.turns],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": request.max_tokens,
            "temperature": request.sampler.temperature,
            "top_p": request.sampler.top_p,
            "seed": request.sampler.seed,
        }
        if self._model:
            body["model"] = self._model
        if request.stop:
            body["stop"] = list(request.stop)
        if request.json_schema is not None:
            schema = {"name": "answer", "strict": True, "schema": dict(request.json_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _cannot(self, what: str) -> ServerError:
        return ServerError(
            f"{self._transport.url} speaks OpenAI's chat dialect, which cannot {what}",
            hint="use a llama.cpp server with server.dialect = 'llama' for that",
            is_final=True,
        )

    async def aclose(self) -> None:
        """Close connections."""
        await self._transport.aclose()


class ChatReader:
    """Reads one chat answer, chunk by chunk."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reason = ""
        self._usage = Usage()
        self._calls = ToolCalls()
        self.is_over = False
        """True once the server said that nothing follows."""

    def read(self, sent: SseEvent) -> list[Piece]:
        """Return the text in one event; raises ``ServerError`` when the server reports an error."""
        if sent.field == PING:
            return []
        if sent.field == ERROR:
            raise server_errors.stream_error(self._url, sent.data)
        if sent.data == END_MARK:
            self.is_over = True
            return []
        chunk = parse_chunk(self._url, sent.data)
        self._usage = usage_of(chunk, self._usage)
        choices = chunk.get("choices") or [{}]
        self._reason = choices[0].get("finish_reason") or self._reason
        return self._pieces(choices[0].get("delta") or {})

    def close(self) -> list[StreamEvent]:
        """Return what stands at the end; raises when the server never said that the answer is complete."""
        if not self._reason:
            raise server_errors.ended_early(self._url)
        finish = FINISHES.get(self._reason)
        if finish is None:
            raise ServerError(
                f"{self._url} ended the answer with {self._reason!r}", hint="it is not complete; see the server's log"
            )
        calls = "".join(call.line() for call in self._calls.done())
        return [*([Piece(calls)] if calls else []), Finished(finish, self._usage)]

    def _pieces(self, delta: Mapping[str, Any]) -> list[Piece]:
        for fragment in delta.get("tool_calls") or []:
            self._calls.add(fragment)
        thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
        spoken = delta.get("content") or ""
        pieces = [Piece(thought, is_reasoning=True)] if thought else []
        return [*pieces, Piece(spoken)] if spoken else pieces


def usage_of(chunk: Mapping[str, Any], before: Usage) -> Usage:
    """Return the usage a chunk tells, or what was known before."""
    said = chunk.get("usage")
    if not said:
        return before
    timings = chunk.get("timings") or {}
    total = int(said.get("prompt_tokens") or 0)
    cached = int(timings.get("cache_n") or (said.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    return Usage(
        prompt_tokens=max(total - cached, 0),
        cached_tokens=cached,
        generated_tokens=int(said.get("completion_tokens") or 0),
        prompt_ms=float(timings.get("prompt_ms") or 0.0),
        generated_ms=float(timings.get("predicted_ms") or 0.0),
    )


def _context_of(entry: Mapping[str, Any]) -> int | None:
    """Find the context in a model's entry; ``n_ctx_train`` is what it was trained for, not what the server gives."""
    for source in (entry.get("meta") or {}, entry):
        for key in CONTEXT_KEYS:
            if isinstance(source.get(key), int):
                return int(source[key])
    return None
