"""Says what the file holds where a SEARCH was expected, and which character is the first to differ."""

import heapq
import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from cockpit.domain.text import hidden_positions

_MAX_LINES = 12
_MAX_COMPARED = 6
_MAX_LIKELY = 60
_MIN_RATIO = 0.5
_WORD = re.compile(r"\w+")
_MAX_SCANNED = 20_000
_MAX_WIDTH = 400
_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
    }
)


def describe_miss(texts: Sequence[str], search: Sequence[str]) -> tuple[str, str]:
    """Return a reason and a hint for lines that are not in the file: the closest real lines, without decoration."""
    at = _closest(texts, search)
    if at is None:
        return "SEARCH is not in the file, and nothing in it comes close", ""
    window = texts[at : at + len(search)]
    shown = [line[:_MAX_WIDTH] for line in window[:_MAX_LINES]]
    hint = f"the nearest lines of the file are {_span(at, len(shown))}:\n" + "\n".join(shown)
    return f"SEARCH is not in the file{_difference(window, search, at)}", hint


def _span(at: int, count: int) -> str:
    return str(at + 1) if count == 1 else f"{at + 1} to {at + count}"


def _closest(texts: Sequence[str], search: Sequence[str]) -> int | None:
    """Return where the window of the file that resembles SEARCH most begins."""
    if not texts or not any(line.strip() for line in search):
        return None
    folded = [_fold(line)[:_MAX_WIDTH] for line in texts[:_MAX_SCANNED]]
    wanted = [_fold(line)[:_MAX_WIDTH] for line in search]
    starts = _by_equal_lines(folded, wanted) or _by_similar_lines(folded, wanted)
    matcher = SequenceMatcher(None, "", "\n".join(wanted), autojunk=False)

    def likeness(at: int) -> tuple[float, int]:
        matcher.set_seq1("\n".join(folded[at : at + len(wanted)]))
        return matcher.quick_ratio(), -at

    return max(starts, key=likeness, default=None)


def _by_equal_lines(folded: list[str], wanted: list[str]) -> list[int]:
    """Return the windows whose whole lines share most with SEARCH at the same places; empty when none is shared."""
    places: dict[str, list[int]] = {}
    for offset, line in enumerate(wanted):
        if line:
            places.setdefault(line, []).append(offset)
    score: dict[int, int] = {}
    last = max(len(folded) - len(wanted), 0)
    for at, line in enumerate(folded):
        for offset in places.get(line, ()):
            start = min(max(at - offset, 0), last)
            score[start] = score.get(start, 0) + len(line)
    best = max(score.values(), default=0)
    return [start for start in sorted(score) if score[start] == best][:_MAX_COMPARED]


def _by_similar_lines(folded: list[str], wanted: list[str]) -> list[int]:
    """Return windows around the lines most like the longest line of SEARCH, when any is like it at all."""
    offset = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    words = set(_WORD.findall(wanted[offset]))
    shared = [(len(words.intersection(_WORD.findall(line))), at) for at, line in enumerate(folded)]
    likely = heapq.nlargest(_MAX_LIKELY, (row for row in shared if row[0]), key=lambda row: (row[0], -row[1]))
    matcher = SequenceMatcher(None, "", wanted[offset], autojunk=False)
    scored: list[tuple[float, int]] = []
    for _, at in likely:
        matcher.set_seq1(folded[at])
        scored.append((matcher.ratio(), at))
    last = max(len(folded) - len(wanted), 0)
    best = heapq.nlargest(_MAX_COMPARED, scored, key=lambda row: (row[0], -row[1]))
    return [min(max(at - offset, 0), last) for ratio, at in best if ratio > _MIN_RATIO]


def _difference(window: Sequence[str], search: Sequence[str], at: int) -> str:
    """Name the first line that differs; where it only looks the same, the first differing character."""
    for offset, (real, asked) in enumerate(zip(window, search, strict=False)):
        if real == asked:
            continue
        where = f": line {offset + 1} of SEARCH against line {at + offset + 1} of the file"
        if _fold(real) == _fold(asked):
            return f"{where}, {_first_character(real, asked)}"
        return where
    return ""


def _first_character(real: str, asked: str) -> str:
    column = next(
        (index for index, (left, right) in enumerate(zip(real, asked, strict=False)) if left != right),
        min(len(real), len(asked)),
    )
    return f"column {column + 1}: the file has {_name(real, column)}, SEARCH has {_name(asked, column)}"


def _name(line: str, column: int) -> str:
    if column >= len(line):
        return "the end of the line"
    char = line[column]
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'control character').lower()})"


def _fold(line: str) -> str:
    """Return a line without what the eye does not see: kinds of blanks, quotes, dashes, and hidden characters."""
    if line.isascii() and line.isprintable():
        return " ".join(line.split())
    hidden = {column - 1 for column, _ in hidden_positions(line)}
    kept = "".join(char for index, char in enumerate(line) if index not in hidden or char.isspace())
    return " ".join(unicodedata.normalize("NFKC", kept).translate(_LOOKALIKES).split())
