"""Finds out which dialect a model server speaks and returns the server to talk to."""

from cockpit.adapters.llama import LlamaServer, Transport
from cockpit.adapters.openai import OpenAIServer
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionServer
from cockpit.settings import Settings


async def connect(settings: Settings, url: str, api_key: str = "") -> CompletionServer:
    """Return a server for ``url``; with the dialect ``auto`` it is asked once, and must be there.

    Raises ``ServerError`` when it is away, loading or refuses the key.
    """
    transport = Transport(
        url, api_key, model=settings.server.model, connect_timeout_s=settings.server.connect_timeout_s
    )
    try:
        dialect = settings.server.dialect
        if dialect == "auto":
            dialect = "llama" if await _speaks_llama(transport) else "openai"
    except ServerError:
        await transport.aclose()
        raise
    return LlamaServer(transport) if dialect == "llama" else OpenAIServer(transport)


async def _speaks_llama(transport: Transport) -> bool:
    """Ask for something only llama.cpp's own dialect has: an empty text in tokens."""
    try:
        answer = await transport.post("/tokenize", {"content": ""})
    except ServerError as error:
        if error.label == "auth_error" or not error.is_final:
            raise
        return False
    return isinstance(answer.get("tokens"), list)
