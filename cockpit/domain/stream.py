"""The lines of ``stream.jsonl``: one model call, replayable and resumable at any token.

Coalesced to one line every 30-50 ms. Kept text and ids after cuts, edits and resumes are ``answer_of(lines)``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Open:
    """The call was sent."""

    at_s: float
    """Wall clock, seconds since 1970."""
    role: str
    attempt: int
    ordinal: int
    prompt_ids: tuple[int, ...]
    prompt_tokens: int
    max_tokens: int
    turns: tuple[tuple[str, str], ...] = ()
    """The conversation as text, speaker and words; what a chat server is sent."""
    opening: str = ""
    """Text we put at the start of the answer, so that a small model keeps to the form; empty when it needs no help."""
    bridge: str = ""
    """Text we put after the first line of the answer: the path and the start of the code block."""
    edit_format: str = "auto"
    """How the model was told to write its edits."""
    shown: tuple[str, ...] = ()
    """Files the model was shown and may change."""
    steered: tuple[str, ...] = ()
    """Ids of the steering commands whose words this prompt holds."""
    sampler: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    """Model, build, dialect, url."""
    kind: Literal["open"] = "open"


@dataclass(frozen=True, slots=True)
class Delta:
    """Some tokens arrived."""

    ms: int
    """Milliseconds since ``open``."""
    index: int
    """Number of answer tokens before this delta."""
    text: str
    ids: tuple[int, ...] = ()
    channel: Literal["content", "reasoning"] = "content"
    kind: Literal["delta"] = "delta"


@dataclass(frozen=True, slots=True)
class Cut:
    """The stream was stopped by us; tokens from ``at`` on are dropped."""

    ms: int
    why: str
    """``pause``, ``kill``, ``crash``, ``steer``, ``edit``, ``repetition``, ``stalled``, ``length``."""
    at: int
    """Number of answer tokens kept."""
    kind: Literal["cut"] = "cut"


@dataclass(frozen=True, slots=True)
class Insert:
    """Text was put into the answer by somebody other than the model."""

    ms: int
    who: str
    text: str
    ids: tuple[int, ...] = ()
    kind: Literal["insert"] = "insert"


@dataclass(frozen=True, slots=True)
class Resume:
    """The stream goes on from the kept tokens."""

    ms: int
    kept: int
    """Answer tokens kept."""
    prefilled: int | None = None
    """Prompt tokens the server had to evaluate again; None until it says."""
    kind: Literal["resume"] = "resume"


@dataclass(frozen=True, slots=True)
class End:
    """The call is over."""

    ms: int
    finish: str
    """``stop``, ``length``, ``cut``, or the watchdog's label."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    """What the watchdog said."""
    kind: Literal["end"] = "end"


StreamLine = Open | Delta | Cut | Insert | Resume | End


@dataclass(frozen=True, slots=True)
class Answer:
    """What stands after all lines so far."""

    text: str
    """Content only, reasoning left out."""
    reasoning: str
    ids: tuple[int, ...]
    finish: str | None
    """None while the call is not over."""
    raw: str
    """Content and reasoning in the order they came."""
    written_tokens: int
    """Tokens of ``ids`` that the model wrote; the rest was put in."""


def answer_of(lines: Iterable[StreamLine]) -> Answer:
    """Fold lines into the answer that stands: cuts drop what lies beyond them."""
    pieces: list[tuple[str, str, tuple[int, ...]]] = []
    finish: str | None = None
    for line in lines:
        match line:
            case Delta():
                pieces.append((line.channel, line.text, line.ids))
            case Insert():
                pieces.append(("insert", line.text, line.ids))
            case Cut():
                pieces, finish = _keep(pieces, line.at), None
            case End():
                finish = line.finish
            case Open() | Resume():
                pass
    return Answer(
        text="".join(text for channel, text, _ in pieces if channel != "reasoning"),
        reasoning="".join(text for channel, text, _ in pieces if channel == "reasoning"),
        ids=tuple(token for _, _, ids in pieces for token in ids),
        finish=finish,
        raw="".join(text for _, text, _ in pieces),
        written_tokens=sum(len(ids) for channel, _, ids in pieces if channel != "insert"),
    )


def _keep(pieces: list[tuple[str, str, tuple[int, ...]]], count: int) -> list[tuple[str, str, tuple[int, ...]]]:
    """Keep whole pieces while their tokens fit into ``count``; a cut falls on a piece's edge."""
    if count == 0:
        return []  # pieces of a server that sends no ids are all or nothing
    kept: list[tuple[str, str, tuple[int, ...]]] = []
    total = 0
    for piece in pieces:
        total += len(piece[2])
        if total > count:
            break
        kept.append(piece)
    return kept
