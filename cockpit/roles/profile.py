"""Knows how to speak with a model: edit format, thought tags, sampler, prompt budget."""

from dataclasses import dataclass

from cockpit.domain.serving import Sampler

WHOLE_FILE_BYTES = 8_000
"""Below this a model writes the complete file. Measured on a 1.5B model: 5 of 7 bugs fixed by whole files, 1 of 5 by
SEARCH/REPLACE."""

GREEDY = Sampler()


@dataclass(frozen=True, slots=True)
class Profile:
    """What fits one family of models."""

    name: str
    prompt_tokens: int
    """Most tokens of a first prompt."""
    whole_file_bytes: int = WHOLE_FILE_BYTES
    shown_files: int = 5
    """Most source files in a first prompt; with two in play a small model forgets to say which one it means."""
    leads: bool = False
    """Whether answers are begun for the model: its line on the bug, the path and the fence."""
    digest_chars: int = 1_600
    """Most characters of test output in a feedback turn; a small share of the prompt, so that the cache pays."""
    thought_tags: tuple[str, str] | None = None
    """Opening and closing tag of a thinking model."""
    sampler: Sampler = GREEDY
    retry_temperature: float = 0.4
    """Temperature of later attempts, so that a greedy model does not repeat itself word for word."""


SMALL_CONTEXT = 8_192


def profile_for(model: str, context_tokens: int | None) -> Profile:
    """Return the profile for a model name and the real context of one slot.

    A context below 8,192 tokens gets prompts of at most 2,500, so that a complete file still fits in the answer;
    a larger one spends half of it on the first prompt.
    """
    lowered = model.lower()
    context = context_tokens or SMALL_CONTEXT
    prompt_tokens = 2_500 if context < SMALL_CONTEXT else context // 2
    is_small = context < SMALL_CONTEXT
    thinks = any(mark in lowered for mark in ("qwen3", "qwq", "deepseek-r1", "magistral"))
    thinks = thinks and "instruct" not in lowered and "coder" not in lowered
    return Profile(
        name="thinking" if thinks else "plain",
        prompt_tokens=min(prompt_tokens, int(context * 0.62)),
        shown_files=1 if is_small else 5,
        leads=is_small and not thinks,
        digest_chars=500 if is_small else 1_600,
        thought_tags=("<think>", "</think>") if thinks else None,
    )
