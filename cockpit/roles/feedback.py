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
    reason: str = "",
    digest_chars: int = 1_600,
    round_number: int,
    rounds: int,
    steering: Sequence[str] = (),
    edit_format: str = "whole_file",
) -> str:
    """Return the user turn of round ``round_number`` of ``rounds``.

    ``digest`` is the shortened output of the tests, ``reason`` what the verdict said where no guard blocked. The
    evidence speaks of the tree that the model last wrote; the text says whether that tree was taken back.
    """
    blocks = _telling(outcomes)
    parts = [_verdict_part(blocks, refusals, digest_chars) if blocks else _sentence(reason)]
    if digest:
        parts.append(f"Test output:\n{shorten(digest, digest_chars)}")
    parts.extend(f"The operator says: {line}" for line in steering)
    fate = "was taken back" if blocks else "was kept"
    again = "the complete corrected file" if edit_format == "whole_file" else "SEARCH/REPLACE blocks"
    left = rounds - round_number + 1
    tries = "1 try" if left == 1 else f"{left} tries"
    parts.append(f"Your change {fate}. {tries} left. Answer again with one sentence, the path and {again}.")
    return "\n\n".join(part for part in parts if part)


def _telling(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return what blocked; that nothing was applied is only said where nothing says why."""
    blocks = [outcome for outcome in outcomes if outcome.status is Status.BLOCK]
    return [outcome for outcome in blocks if outcome.guard != "applied"] or blocks


def _verdict_part(blocks: Sequence[Outcome], refusals: Sequence[EditRefusal], digest_chars: int) -> str:
    lines = [ADVICE.get(outcome.label) or _sentence(outcome.reason) for outcome in blocks]
    lines.extend(shorten(refusal.hint, digest_chars) for refusal in refusals if refusal.hint)
    return "\n".join(dict.fromkeys(lines))


def _sentence(reason: str) -> str:
    return f"Not accepted: {reason.rstrip('.')}." if reason else ""


def shorten(text: str, limit: int) -> str:
    """Keep the end of a text, whole lines only; what matters of a test log stands at its end."""
    if len(text) <= limit:
        return text.strip()
    kept = text[-limit:]
    return kept.split("\n", 1)[-1].strip()
