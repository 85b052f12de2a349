"""Speaks HTTP to a model server, and llama.cpp's own dialect on it; nothing here ever asks twice by itself."""

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from posixpath import basename
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from cockpit.adapters import llama_wire, server_errors
from cockpit.adapters.sse import PING, SseEvent, SseReader
from cockpit.domain.errors import ServerError, UsageError
from cockpit.domain.serving import CompletionRequest, Finished, ServerFacts, StreamEvent, Turn

SHORT_S = 120.0
"""Seconds to wait for a short answer; on a CPU /slots and /metrics wait for the batch that is being evaluated."""
Field = TypeVar("Field", str, list[Any], dict[str, Any])
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Transport:
    """One server's address, key and connections; foreign exceptions end here as ``ServerError``."""

    def __init__(self, url: str, api_key: str = "", *, model: str = "", connect_timeout_s: float = 10.0) -> None:
        self.url = normal_url(url)
        self.model = model
        """Model to ask for on a router; empty = whatever is loaded."""
        if not api_key.isascii():
            raise UsageError("the API key holds characters other than ASCII", hint="check server.api_key_file")
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={"Content-Type": "application/json"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {}),
            timeout=httpx.Timeout(SHORT_S, connect=connect_timeout_s),
            # A proxy of the environment is for the outside, and must not see a local server's key.
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,
            # A server that restarts leaves dead connections behind; a fresh one costs under a millisecond here.
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON object of a GET; on a router it is about ``model``."""
        return self.parsed(path, await self.text(path), dict)

    async def text(self, path: str) -> str:
        """Return the text of a GET."""
        return (await self._send("GET", path)).text

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON object of a POST."""
        return self.parsed(path, (await self._send("POST", path, body)).text, dict)

    async def has(self, path: str) -> bool:
        """Tell whether a GET of this path is served; an unknown or disabled path is a plain no."""
        response = await self._send("GET", path, accept=frozenset({404, 405, 501}))
        return response.status_code == 200

    async def events(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[SseEvent]:
        """Yield what a streaming POST sends, keep-alives included; closing this generator closes the connection.

        There is no time limit on reading: prompts may take long, and ``domain.watchdog`` knows what is too long.
        """
        timeout = httpx.Timeout(None, connect=self._http.timeout.connect)
        reader = SseReader()
        try:
            async with self._http.stream("POST", path, content=self._encode(body), timeout=timeout) as response:
                if response.status_code != 200:
                    raise server_errors.status_error(self.url, path, response.status_code, await response.aread())
                async for chunk in response.aiter_bytes():
                    for event in reader.feed(chunk):
                        yield event
        except httpx.HTTPError as error:
            raise self._away(error) from error
        for event in reader.close():
            yield event

    def field(self, answer: Mapping[str, Any], path: str, name: str, kind: type[Field]) -> Field:
        """Return one field of an answer that must have it."""
        value = answer.get(name)
        if isinstance(value, kind):
            return value
        raise server_errors.unreadable(self.url, path, str(answer))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, accept: frozenset[int] = frozenset()
    ) -> httpx.Response:
        params = {"model": self.model} if self.model and method == "GET" else None
        content = self._encode(body) if body is not None else None
        try:
            response = await self._http.request(method, path, content=content, params=params)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if response.status_code not in {200, *accept}:
            raise server_errors.status_error(self.url, path, response.status_code, response.content)
        return response

    def _encode(self, body: Mapping[str, Any]) -> bytes:
        """Write JSON in ASCII: half a surrogate pair in foreign text is then the server's to refuse."""
        return json.dumps({"model": self.model, **body} if self.model else dict(body)).encode()

    def parsed(self, path: str, text: str, kind: type[Field]) -> Field:
        """Return the JSON in an answer; raises when it is anything else than ``kind``."""
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if isinstance(answer, kind):
            return answer
        raise server_errors.unreadable(self.url, path, text)

    def _away(self, error: httpx.HTTPError) -> ServerError:
        if isinstance(error, httpx.UnsupportedProtocol | httpx.ConnectError | httpx.ConnectTimeout):
            return ServerError(
                f"no model server answers at {self.url}: {error or type(error).__name__}",
                hint="start it, or correct server.url",
            )
        if isinstance(error, httpx.TimeoutException):
            return ServerError(f"{self.url} did not answer within {SHORT_S:.0f} s", hint="look into the server's log")
        return server_errors.ended_early(self.url)


def normal_url(url: str) -> str:
    """Return the address without a final slash or ``/v1``; a missing scheme becomes ``http``."""
    address = url.strip() if "://" in url else f"http://{url.strip()}"
    address = address.rstrip("/").removesuffix("/v1")
    try:
        if httpx.URL(address).host:
            return address
    except httpx.InvalidURL as error:
        raise UsageError(f"server.url {url!r} is no address: {error}", hint="write http://HOST:PORT") from error
    raise UsageError(f"server.url {url!r} names no host", hint="write http://HOST:PORT")


async def check_model(transport: Transport) -> dict[str, Any]:
    """Return the entry of ``/v1/models`` that is meant, empty when there is none.

    Raises ``ServerError`` ``model_mismatch`` when a model was asked for and the server does not know it.
    """
    listed = await transport.get("/v1/models")
    entries = [entry for entry in listed.get("data") or [] if isinstance(entry, dict)]
    wanted = transport.model
    if not wanted:
        return entries[0] if entries else {}
    for entry in entries:
        names = {str(entry.get("id")), *(str(alias) for alias in entry.get("aliases") or [])}
        if wanted in names | {basename(name) for name in names}:
            return entry
    offered = ", ".join(str(entry.get("id")) for entry in entries[:5]) or "none"
    raise ServerError(
        f"{transport.url} does not know the model {wanted}; it offers {offered}",
        hint="correct server.model, or load that model",
        label="model_mismatch",
        is_final=True,
    )


class LlamaServer:
    """A llama.cpp server in its own dialect: exact tokens in, exact tokens out.

    Measured with two slots: a prompt is found again in the slot it is pinned to, and in memory once it was pushed out
    of its slot; pinned to another slot while it still lies in its own, it is read anew (3 of 231 tokens cached).
    Without a pin the server looks for it in both. The end-of-turn token was generated but not read: the next turn
    costs one token more than it adds.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def facts(self) -> ServerFacts:
        """Read what the server says of itself; asks a guarded endpoint, because ``/health`` is open to everybody."""
        props = await self._transport.get("/props")
        settings = self._transport.field(props, "/props", "default_generation_settings", dict)
        if self._transport.model:
            await check_model(self._transport)
        template = props.get("chat_template")
        return ServerFacts(
            url=self._transport.url,
            dialect="llama",
            model=self._transport.model or basename(str(props.get("model_path") or props.get("model_alias") or "")),
            build=props.get("build_info"),
            context_tokens=settings.get("n_ctx"),
            slots=props.get("total_slots"),
            template_sha256=hashlib.sha256(template.encode()).hexdigest() if template else None,
            missing=await self._missing(),
        )

    async def _missing(self) -> tuple[str, ...]:
        optional = {
            "/slots": "live slots: start the server with --slots",
            "/metrics": "live token rates: start the server with --metrics",
        }
        return tuple([sentence for path, sentence in optional.items() if not await self._transport.has(path)])

    async def render(self, turns: tuple[Turn, ...]) -> str:
        """Return the exact prompt string for these turns, open for an answer."""
        messages = [{"role": turn.speaker, "content": turn.text} for turn in turns]
        answer = await self._transport.post("/apply-template", {"messages": messages})
        return self._transport.field(answer, "/apply-template", "prompt", str)

    async def tokenize(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Return token ids without a start token; with ``special`` the template's marks become control tokens."""
        body = {"content": text, "add_special": False, "parse_special": special}
        answer = await self._transport.post("/tokenize", body)
        return tuple(self._transport.field(answer, "/tokenize", "tokens", list))

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamEvent]:
        """Yield progress, pieces and at last ``Finished``.

        The pieces' ids are exactly the tokens generated, the end-of-turn token included when the model ended its
        turn (as a piece without text); ``max_tokens`` counts from here, not from the start of a resumed answer.
        """
        reader = llama_wire.ChunkReader(len(request.prompt_ids), request.max_tokens)
        async with aclosing(self._transport.events("/completion", llama_wire.body_of(request))) as events:
            async for sent in events:
                if sent.field == PING:
                    continue
                for event in reader.read(self._transport.url, sent):
                    if isinstance(event, llama_wire.Gap):
                        yield event.filled(await self.tokenize(event.text, special=False))
                        continue
                    yield event
                    if isinstance(event, Finished):
                        return
        raise server_errors.ended_early(self._transport.url)

    async def slots(self) -> list[dict[str, Any]]:
        """Return what each slot does, as the server reports it."""
        return self._transport.parsed("/slots", await self._transport.text("/slots"), list)

    async def metrics(self) -> dict[str, float]:
        """Return the server's counters by name, without their prefix."""
        return llama_wire.read_metrics(await self._transport.text("/metrics"))

    async def aclose(self) -> None:
        """Close connections."""
        await self._transport.aclose()
