"""Turns what a model server answers when it refuses into one ``ServerError`` that says what happened and what helps."""

import json
from typing import Any

from cockpit.domain.errors import ServerError

OVERFLOW = "exceed_context_size_error"


def status_error(url: str, path: str, status: int, body: bytes) -> ServerError:
    """Describe an answer with another status than 200."""
    error = _error_object(body)
    said = message_of(error) or f"HTTP {status}"
    if status in {401, 403}:
        return ServerError(
            f"{url} refuses the API key: {said}",
            hint="set COCKPIT_API_KEY or server.api_key_file to the key the server was started with",
            label="auth_error",
            is_final=True,
        )
    if isinstance(error, dict) and error.get("type") == OVERFLOW:
        return _overflow(error)
    if status == 503:
        return _not_ready(url, said)
    if status in {404, 405, 501}:
        return ServerError(
            f"{url} has no {path}: {said}",
            hint="check server.url and server.dialect, and the flags the server was started with",
            is_final=True,
        )
    is_final = 400 <= status < 500 and status not in {408, 425, 429}
    hint = "the request itself is refused" if is_final else "look into the server's log"
    return ServerError(f"{url} answers {status} to {path}: {said}", hint=hint, is_final=is_final)


def stream_error(url: str, data: str) -> ServerError:
    """Describe an error the server sent in the middle of an answer."""
    error = _error_object(data.encode())
    if isinstance(error, dict) and error.get("type") == OVERFLOW:
        return _overflow(error)
    said = message_of(error) or data.strip() or "no reason given"
    return ServerError(
        f"{url} broke off the answer: {said}",
        hint="what came before is no complete answer; look into the server's log",
        is_final=isinstance(error, dict) and error.get("code") in {400, 401, 403},
    )


def ended_early(url: str) -> ServerError:
    """Describe a stream that stopped without saying that it is complete."""
    return ServerError(
        f"{url} ended the connection in the middle of the answer",
        hint="what came before is no complete answer; look whether the server still runs",
    )


def unreadable(url: str, path: str, body: str) -> ServerError:
    """Describe an answer that is not the JSON it should be."""
    return ServerError(
        f"{url} answers {path} with something that is no model server's: {body[:80]!r}",
        hint="check server.url; another program may listen there",
    )


def message_of(error: object) -> str:
    """Return the server's own sentence; empty when there is none."""
    if isinstance(error, dict):
        return str(error.get("message") or error.get("detail") or error.get("type") or "").strip()
    return str(error).strip() if error else ""


def _error_object(body: bytes) -> object:
    """Find the ``error`` in a body; a plain text is taken as it stands."""
    text = body.decode("utf-8", errors="replace").strip()
    try:
        loaded = json.loads(text)
    except ValueError:
        return text[:300]
    return loaded.get("error", loaded) if isinstance(loaded, dict) else loaded


def _overflow(error: dict[str, Any]) -> ServerError:
    return ServerError(
        f"the prompt has {error.get('n_prompt_tokens', '?')} tokens, "
        f"a slot of the server holds {error.get('n_ctx', '?')}",
        hint="start the server with more context per slot (--ctx-size is divided by --parallel), or ask for less",
        label="ctx_overflow",
        is_final=True,
    )


def _not_ready(url: str, said: str) -> ServerError:
    if "load" in said.lower():
        return ServerError(f"the model is loading at {url}", hint="wait; the work goes on by itself when it is in")
    return ServerError(f"{url} is not ready: {said}", hint="wait, or look into the server's log")
