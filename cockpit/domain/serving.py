"""What a model server is asked for and what comes back, whatever dialect it speaks."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Role(StrEnum):
    """Who asks."""

    SCOUT = "scout"
    ROUTER = "router"
    HUNTER = "hunter"
    HUNTER_PRO = "hunter-pro"
    VERIFIER = "verifier"
    REWORKER = "reworker"


class Finish(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    """The model ended its turn."""
    LENGTH = "length"
    """The token limit cut it."""
    CUT = "cut"
    """We closed the connection: pause, kill, watchdog."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    speaker: str
    """``system``, ``user`` or ``assistant``."""
    text: str


@dataclass(frozen=True, slots=True)
class Sampler:
    """How tokens are chosen. Temperature 0 is greedy."""

    temperature: float = 0.0
    top_p: float = 0.95
    top_k: int = 40
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One model call."""

    turns: tuple[Turn, ...]
    """The conversation as text; what an OpenAI-style server is sent."""
    prompt_ids: tuple[int, ...]
    """The exact prompt in tokens, answer so far included when resuming; what a llama.cpp server is sent."""
    max_tokens: int
    sampler: Sampler = Sampler()
    slot: int | None = None
    json_schema: Mapping[str, Any] | None = None
    stop: tuple[str, ...] = ()
    role: Role = Role.HUNTER
    attempt: int = 1
    ordinal: int = 1
    """Which step of this role in this attempt, from 1; with role and attempt the key of a replay."""
    skip_tokens: int = 0
    """Tokens of the answer that are already in ``prompt_ids`` (a resume)."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Prefill is under way."""

    total: int
    cached: int
    processed: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Piece:
    """Some more of the answer."""

    text: str
    ids: tuple[int, ...] = ()
    is_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call cost, by the server's own count; 0 where it does not say."""

    prompt_tokens: int = 0
    """Tokens of the prompt that were evaluated in this call."""
    cached_tokens: int = 0
    """Tokens of the prompt that came from the cache."""
    generated_tokens: int = 0
    prompt_ms: float = 0.0
    generated_ms: float = 0.0
    truncated: bool = False
    """The server says that it dropped part of the prompt."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete."""

    finish: Finish
    usage: Usage


StreamEvent = Progress | Piece | Finished


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself; None where it does not say."""

    url: str
    dialect: str
    """``llama`` or ``openai``."""
    model: str
    build: str | None = None
    context_tokens: int | None = None
    """Context of one slot, as the server reports it."""
    slots: int | None = None
    template_sha256: str | None = None
    missing: tuple[str, ...] = ()
    """What this server cannot do, each with the flag that would enable it."""


class CompletionServer(Protocol):
    """A model server; every method raises ``domain.errors.ServerError`` and nothing foreign."""

    async def facts(self) -> ServerFacts:
        """Read model, build, context and abilities; raises when away, loading or unauthorised."""

    async def render(self, turns: tuple[Turn, ...]) -> str:
        """Return the exact prompt string for these turns, open for an answer."""

    async def tokenize(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Return token ids; ``special`` decides whether template marks in the text become control tokens."""

    def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield progress, pieces and at last ``Finished``; closing the iterator cancels the generation."""

    async def aclose(self) -> None:
        """Close connections."""
