"""Builds prompts as token ids that only grow: call k+1 begins with the ids of call k and its answer."""

from collections.abc import Sequence

from cockpit.domain.serving import CompletionServer, Turn
from cockpit.engine.servers import Link

MARKS = ("cockpitmarkzero", "cockpitmarkone", "cockpitmarktwo", "cockpitmarkthree")
"""Stand-ins that are rendered by the server's template in the place of texts."""


async def first_ids(server: CompletionServer, turns: Sequence[Turn]) -> tuple[int, ...]:
    """Return the ids of a first prompt.

    The template is rendered around stand-ins; its own marks become control tokens, the texts never do: an issue that
    contains ``<|im_end|>`` cannot close its own turn.
    """
    standins = tuple(Turn(turn.speaker, MARKS[index]) for index, turn in enumerate(turns))
    rendered = await server.render(standins)
    ids: list[int] = []
    for index, turn in enumerate(turns):
        frame, rendered = rendered.split(MARKS[index], 1)
        ids += await server.tokenize(frame, special=True)
        ids += await server.tokenize(turn.text, special=False)
    ids += await server.tokenize(rendered, special=True)
    return tuple(ids)


async def next_ids(link: Link, prompt: Sequence[int], answer: Sequence[int], said: str) -> tuple[int, ...]:
    """Return the prompt of the next call: everything so far, untouched, then a new user turn."""
    if link.bridge is None:
        link.bridge = await _bridge(link.server)
    close, reopen = link.bridge
    answered = tuple(answer)
    if answered and close and answered[-1] == close[0]:
        answered = answered[:-1]  # the end-of-turn token is part of the answer's ids on some builds
    turn = await link.server.tokenize(said, special=False)
    return (*prompt, *answered, *close, *turn, *reopen)


async def _bridge(server: CompletionServer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    speakers = ("system", "user", "assistant", "user")
    rendered = await server.render(tuple(Turn(who, mark) for who, mark in zip(speakers, MARKS, strict=True)))
    after = rendered.split(MARKS[2], 1)[1]
    close, reopen = after.split(MARKS[3], 1)
    return await server.tokenize(close, special=True), await server.tokenize(reopen, special=True)
