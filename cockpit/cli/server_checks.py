"""Checks of the model server for ``cockpit doctor``: what the engine asks of it, tried one by one."""

import json
import time
from collections.abc import AsyncIterator

from cockpit.adapters.connect import connect
from cockpit.adapters.llama import LlamaServer
from cockpit.cli.checks import Mark, Row
from cockpit.cli.serving import Address
from cockpit.domain.errors import CockpitError, ServerError
from cockpit.domain.serving import CompletionRequest, CompletionServer, Finished, Piece, Sampler, ServerFacts, Turn
from cockpit.settings import Settings

LEAST_CONTEXT = 4096
"""Tokens of one slot below which prompts of real repositories do not fit."""
CANARY = {
    "type": "object",
    "properties": {"canary": {"type": "string", "const": "zx81"}},
    "required": ["canary"],
    "additionalProperties": False,
}
"""An answer that no model gives by chance: only a server that binds its output to a schema writes it."""
HELLO = (Turn("user", "Say hello."),)
TODO = {
    "auth_error": "put the server's key into server.api_key_file, or set COCKPIT_API_KEY",
    "model_mismatch": "correct server.model, or load that model",
}


async def server_rows(settings: Settings, address: Address) -> AsyncIterator[Row]:
    """Yield what the server can do; ends early when it cannot be talked to."""
    try:
        server = await connect(settings, address.url, address.key)
    except CockpitError as error:
        yield _away(address, error)
        return
    try:
        async for row in _rows_of(server, address):
            yield row
    finally:
        await server.aclose()


async def _rows_of(server: CompletionServer, address: Address) -> AsyncIterator[Row]:
    try:
        facts = await server.facts()
    except ServerError as error:
        yield _away(address, error)
        return
    yield Row(Mark.OK, "server", f"{facts.url} ({address.owner}), key accepted" if address.key else facts.url)
    for row in _fact_rows(facts, is_llama=isinstance(server, LlamaServer)):
        yield row
    yield await _try_template(server)
    ids, row = await _try_tokenize(server)
    yield row
    yield await _try_schema(server, ids)
    yield await _try_token(server, ids)


def _away(address: Address, error: CockpitError) -> Row:
    return Row(Mark.BAD, "server", error.message, TODO.get(error.label, error.hint))


def _fact_rows(facts: ServerFacts, *, is_llama: bool) -> list[Row]:
    build = f", build {facts.build}" if facts.build else ""
    rows = [Row(Mark.OK, "model", f"{facts.model or 'unnamed'}{build}, {facts.slots or 1} slots"), _context(facts)]
    if not is_llama:
        rows.append(Row(Mark.WARN, "dialect", "speaks OpenAI's chat only: no exact resume, no counted prompts",
                        "use llama.cpp's own server where you can"))  # fmt: skip
    for missing in facts.missing:
        what, _, todo = missing.partition(": ")
        rows.append(Row(Mark.WARN, what, "not available", todo or "see the server's manual"))
    return rows


def _context(facts: ServerFacts) -> Row:
    tokens = facts.context_tokens
    if tokens is None:
        return Row(Mark.WARN, "context", "the server does not say how much one slot holds", "look at its /props")
    if tokens < LEAST_CONTEXT:
        todo = "start the server with a larger -c, a smaller -np, or --kv-unified"
        return Row(Mark.WARN, "context", f"{tokens} tokens per slot, {LEAST_CONTEXT} are wanted", todo)
    return Row(Mark.OK, "context", f"{tokens} tokens per slot")


async def _try_template(server: CompletionServer) -> Row:
    try:
        prompt = await server.render(HELLO)
    except CockpitError as error:
        return Row(Mark.BAD, "template", error.message, "start it with --jinja; use a model with a template")
    return Row(Mark.OK, "template", f"/apply-template makes {len(prompt)} characters of a greeting")


async def _try_tokenize(server: CompletionServer) -> tuple[tuple[int, ...], Row]:
    try:
        ids = await server.tokenize(await server.render(HELLO), special=True)
    except CockpitError as error:
        return (), Row(Mark.BAD, "tokenizer", error.message, error.hint or "update the server")
    return ids, Row(Mark.OK, "tokenizer", f"/tokenize counts {len(ids)} tokens in it")


async def _try_schema(server: CompletionServer, ids: tuple[int, ...]) -> Row:
    request = CompletionRequest(HELLO, ids, max_tokens=32, sampler=Sampler(), json_schema=CANARY)
    todo = "update the server; without it the model's choices are only asked for, not bound"
    try:
        text, _ = await _answer(server, request)
        is_obeyed = json.loads(text) == {"canary": "zx81"}
    except ValueError:
        return Row(Mark.WARN, "schema", f"a JSON schema was not obeyed: {text[:60]!r}", todo)
    except CockpitError as error:
        return Row(Mark.WARN, "schema", error.message, todo)
    if not is_obeyed:
        return Row(Mark.WARN, "schema", f"a JSON schema was not obeyed: {text[:60]!r}", todo)
    return Row(Mark.OK, "schema", "output is bound to a JSON schema")


async def _try_token(server: CompletionServer, ids: tuple[int, ...]) -> Row:
    started_s = time.monotonic()
    try:
        _, finished = await _answer(server, CompletionRequest(HELLO, ids, max_tokens=1))
    except CockpitError as error:
        return Row(Mark.BAD, "one token", error.message, error.hint)
    usage, took_s = finished.usage, time.monotonic() - started_s
    sent = usage.prompt_tokens
    speed = f", {sent} prompt tokens at {sent * 1000 / usage.prompt_ms:.0f}/s" if sent and usage.prompt_ms else ""
    return Row(Mark.OK, "one token", f"came after {took_s:.2f} s{speed}")


async def _answer(server: CompletionServer, request: CompletionRequest) -> tuple[str, Finished]:
    text = ""
    async for event in server.stream(request):
        if isinstance(event, Piece):
            text += event.text
        elif isinstance(event, Finished):
            return text, event
    raise ServerError("the stream ended without a last word", hint="look into the server's log")
