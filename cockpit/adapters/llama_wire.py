"""Writes llama.cpp's ``/completion`` requests and reads the chunks of its answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cockpit.adapters.server_errors import ended_early, stream_error
from cockpit.adapters.sse import ERROR, SseEvent
from cockpit.domain.serving import CompletionRequest, Finish, Finished, Piece, Progress, StreamEvent, Usage

END_MARK = "[DONE]"


@dataclass(frozen=True, slots=True)
class Gap:
    """A piece whose ids may be incomplete.

    Measured: a character spread over several tokens is sent when it is whole, with the id of its last token only
    (the ids of U+200D in Qwen are 378, 235; the server names 235). Only text beyond ASCII can hide tokens.
    """

    text: str
    ids: tuple[int, ...]
    held: tuple[int, ...]
    """Tokens named before whose text was held back until now."""
    is_certain: bool
    """True when the server's count of tokens went up by more than it named."""

    def filled(self, spelled: tuple[int, ...]) -> Piece:
        """Return the piece with every id, given the tokens its text is spelled with."""
        if self.held and spelled[: len(self.held)] == self.held:
            spelled = spelled[len(self.held) :]
        ends_alike = bool(self.ids) and spelled[-len(self.ids) :] == self.ids
        return Piece(self.text, spelled if ends_alike or self.is_certain else self.ids)


class ChunkReader:
    """Reads one answer, chunk by chunk."""

    def __init__(self, prompt_tokens: int, max_tokens: int) -> None:
        self._prompt_tokens = prompt_tokens
        self._max_tokens = max_tokens
        self._named = 0
        """Tokens whose ids are known or made up for."""
        self._held: tuple[int, ...] = ()

    def read(self, url: str, sent: SseEvent) -> list[StreamEvent | Gap]:
        """Return what one event of the stream means; raises ``ServerError`` when the server reports an error."""
        if sent.field == ERROR:
            raise stream_error(url, sent.data)
        if sent.data == END_MARK:
            return []
        chunk = parse_chunk(url, sent.data)
        if "prompt_progress" in chunk:  # these chunks name a token 0 that does not exist
            return [_progress(chunk["prompt_progress"])]
        events = self._piece(chunk)
        if chunk.get("stop"):
            events.append(Finished(self._finish(chunk), self._usage(chunk)))
        return events

    def _piece(self, chunk: Mapping[str, Any]) -> list[StreamEvent | Gap]:
        text, ids = chunk.get("content") or "", tuple(chunk.get("tokens") or ())
        if not text and not ids:
            return []
        generated = int(chunk.get("tokens_predicted") or 0)
        is_certain = bool(text) and (generated > self._named + len(ids) or not ids)
        self._named = max(generated, self._named + len(ids))
        held, self._held = self._held, () if text else self._held + ids
        if text and (not text.isascii() or not ids):
            return [Gap(text, ids, held, is_certain)]
        return [Piece(text, ids)]

    def _finish(self, chunk: Mapping[str, Any]) -> Finish:
        return Finish.LENGTH if chunk.get("stop_type") == "limit" else Finish.STOP

    def _usage(self, chunk: Mapping[str, Any]) -> Usage:
        timings = chunk.get("timings") or {}
        generated = int(chunk.get("tokens_predicted") or 0)
        return Usage(
            prompt_tokens=int(timings.get("prompt_n") or 0),
            cached_tokens=int(timings.get("cache_n") or 0),
            generated_tokens=generated,
            prompt_ms=float(timings.get("prompt_ms") or 0.0),
            generated_ms=float(timings.get("predicted_ms") or 0.0),
            truncated=self._is_prompt_cut(chunk, generated),
        )

    def _is_prompt_cut(self, chunk: Mapping[str, Any], generated: int) -> bool:
        """Tell whether the server read less than was sent, or shifted the start of the prompt away.

        It also says ``truncated`` when the context was full: then the answer is cut (``LENGTH``), the prompt is not.
        """
        if int(chunk.get("tokens_evaluated") or self._prompt_tokens) < self._prompt_tokens:
            return True
        context_full = chunk.get("stop_type") == "limit" and generated < self._max_tokens
        return bool(chunk.get("truncated")) and not context_full


def body_of(request: CompletionRequest) -> dict[str, Any]:
    """Return the body of ``/completion`` for one call."""
    sampler = request.sampler
    body: dict[str, Any] = {
        "prompt": list(request.prompt_ids),
        "stream": True,
        "return_tokens": True,
        "cache_prompt": True,
        "timings_per_token": True,
        "return_progress": True,
        "n_predict": request.max_tokens,
        "temperature": sampler.temperature,
        "top_p": sampler.top_p,
        "top_k": sampler.top_k,
        "min_p": sampler.min_p,
        "repeat_penalty": sampler.repeat_penalty,
        "seed": sampler.seed,
    }
    if request.slot is not None:
        body["id_slot"] = request.slot
    if request.json_schema is not None:
        body["json_schema"] = dict(request.json_schema)
    if request.stop:
        body["stop"] = list(request.stop)
    return body


def parse_chunk(url: str, data: str) -> dict[str, Any]:
    """Return the JSON object of one ``data`` event; raises when it is broken off or reports an error."""
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise ended_early(url) from error
    if not isinstance(chunk, dict):
        raise stream_error(url, data)
    if chunk.get("error"):
        raise stream_error(url, data)
    return chunk


def read_metrics(text: str) -> dict[str, float]:
    """Read Prometheus text as llama.cpp writes it: one value a line, no labels."""
    found: dict[str, float] = {}
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        if name and not name.startswith("#"):
            try:
                found[name.removeprefix("llamacpp:")] = float(value)
            except ValueError:
                continue
    return found


def _progress(said: Mapping[str, Any]) -> Progress:
    return Progress(
        total=int(said.get("total") or 0),
        cached=int(said.get("cache") or 0),
        processed=int(said.get("processed") or 0),
        elapsed_ms=float(said.get("time_ms") or 0.0),
    )
