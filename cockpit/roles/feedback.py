"""Tells the model what became of its answer: short, specific, without placeholders it could echo."""

from collections.abc import Sequence

from cockpit.domain.evidence import EditRefusal
from cockpit.domain.outcomes import Outcome, Status

ADVICE = {
    "edit_noop": "Your answer was the same as the file. The bug is still there. Change the line that is wrong.",
    "empty_patch": "Nothing changed in the files. The bug is still there.",
    "gen_length": "Your answer was cut because it was too long. Answer shorter.",
    "gen_repetition": "Your answer repeated itself and was stopped.",
    "bloat": "That changes far too many lines. Change only the lines that are wrong and keep all others.",
    "syntax_new": "The changed file does not parse.",
    "tampered": "Tests and their configuration must not be changed.",
}


def feedback_turn(
    outcomes: Sequence[Outcome],
    refusals: Sequence[EditRefusal],
    digest: str,
    *,
    digest_chars: int = 1_600,
    round_number: int,
    rounds: int,
    steering: Sequence[str] = (),
    edit_format: str = "whole_file",
) -> str:
    """Return the user turn of the next round.

    ``digest`` is the shortened output of the tests; the evidence always speaks of the tree that the model last
    wrote, and the text says when that tree was taken back.
    """
    parts = [_verdict_part(outcomes, refusals, digest_chars)]
    if digest:
        parts.append(f"Test output:\n{shorten(digest, digest_chars)}")
    parts.extend(f"The operator says: {line}" for line in steering)
    left = rounds - round_number + 1
    again = "the complete corrected file" if edit_format == "whole_file" else "SEARCH/REPLACE blocks"
    parts.append(
        f"Your change was taken back. {left} tries left. Answer again with one sentence, the path and {again}."
    )
    return "\n\n".join(part for part in parts if part)


def _verdict_part(outcomes: Sequence[Outcome], refusals: Sequence[EditRefusal], digest_chars: int) -> str:
    blocks = (outcome for outcome in outcomes if outcome.status is Status.BLOCK)
    lines = [ADVICE.get(outcome.label) or f"Not accepted: {outcome.reason}." for outcome in blocks]
    lines.extend(shorten(refusal.hint, digest_chars) for refusal in refusals if refusal.hint)
    return "\n".join(dict.fromkeys(lines))


def shorten(text: str, limit: int) -> str:
    """Keep the end of a text, whole lines only; what matters of a test log stands at its end."""
    if len(text) <= limit:
        return text.strip()
    kept = text[-limit:]
    return kept.split("\n", 1)[-1].strip()
