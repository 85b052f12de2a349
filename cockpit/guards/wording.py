"""Words lists and counts for a guard's reason."""

from collections.abc import Iterable, Sequence

MOST_LISTED = 20


def count(number: int, noun: str) -> str:
    """Return ``1 file`` or ``3 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Iterable[str], most: int = MOST_LISTED) -> str:
    """Join names by commas; those beyond ``most`` are counted, so that a list is never cut unseen."""
    ordered: Sequence[str] = list(names)
    shown = ", ".join(ordered[:most])
    return f"{shown} and {len(ordered) - most} more" if len(ordered) > most else shown


def short(tree: str) -> str:
    """Return the first ten digits of a tree id, or ``none``."""
    return tree[:10] or "none"


def about(path: str, reason: str) -> str:
    """Put the path before a reason that does not begin with it; an edit may name no file at all."""
    return reason if reason.startswith(path) else f"{path}: {reason}"
