"""Measures text in terminal cells, and cuts and pads it there; a character is never cut in half.

Tabs count up to the next stop from the start of the text and are written as blanks, so that a column beside them
stays where it is. Agrees with the tables of current terminals for emoji sequences, flags and combining marks.
"""

import re
from collections.abc import Iterator
from unicodedata import category, east_asian_width

_SELECTOR_16 = "\ufe0f"
_JOINER = "\u200d"
_NEWLY_WIDE = re.compile(
    "[\u2630-\u2637\u268a-\u268f\u2ffc-\u2fff\u31e4\u31e5\u31ef\u4dc0-\u4dff\U00016ff2-\U00016ff6\U00018cff"
    "\U00018d09-\U00018d1e\U00018d80-\U00018df2\U0001d300-\U0001d356\U0001d360-\U0001d376\U0001f6d8\U0001f6dc"
    "\U0001fa75-\U0001fa7c\U0001fa87-\U0001fa8a\U0001fa8e\U0001fa8f\U0001faad-\U0001faaf\U0001fabb-\U0001fabf"
    "\U0001fac6\U0001fac8\U0001facd-\U0001facf\U0001fad7-\U0001fadc\U0001fadf-\U0001faea\U0001faef-\U0001faf8"
    "\U00020000-\U0002fffd\U00030000-\U0003fffd]"
)
"""Wide in today's terminals, but unassigned or narrow in the tables of Python 3.11 (Unicode 14)."""
_SIGNS = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
"""Drawn, although Unicode files them under invisible format characters."""


def cell_width(text: str, tab_size: int = 4) -> int:
    """Return the number of cells one line of text takes; control and zero-width characters take none."""
    if text.isascii() and text.isprintable():
        return len(text)
    width = 0
    for _, cells in _clusters(text, tab_size):
        width += cells
    return width


def expand_tabs(text: str, tab_size: int = 4) -> str:
    """Return one line with each tab written as blanks up to its stop."""
    if "\t" not in text:
        return text
    return "".join(" " * cells if part == "\t" else part for part, cells in _clusters(text, tab_size))


def crop_cells(text: str, cells: int, tab_size: int = 4) -> str:
    """Return the longest front of one line that fits into ``cells``, tabs written as blanks."""
    text = expand_tabs(text, tab_size)
    if text.isascii() and text.isprintable():
        return text[: max(cells, 0)]
    kept, width = [], 0
    for part, part_cells in _clusters(text, tab_size):
        if width + part_cells > cells:
            break
        kept.append(part)
        width += part_cells
    return "".join(kept)


def pad_cells(text: str, cells: int, tab_size: int = 4) -> str:
    """Return one line cut or filled with blanks so that it takes exactly ``cells``."""
    cropped = crop_cells(text, cells, tab_size)
    return cropped + " " * (cells - cell_width(cropped, tab_size))


def _clusters(text: str, tab_size: int) -> Iterator[tuple[str, int]]:
    """Yield what a terminal draws as one unit, with its cells."""
    start, column, end = 0, 0, len(text)
    while start < end:
        if text[start] == "\t":
            stop = start + 1
            cells = tab_size - column % tab_size if tab_size > 0 else 0
        else:
            stop = _cluster_end(text, start)
            cells = _cluster_cells(text[start:stop])
        yield text[start:stop], cells
        column += cells
        start = stop


def _cluster_end(text: str, start: int) -> int:
    """Return where the unit that begins at ``start`` ends."""
    end = len(text)
    if _is_regional(text[start]) and start + 1 < end and _is_regional(text[start + 1]):
        return _skip_marks(text, start + 2)
    stop = _skip_marks(text, start + 1)
    while text[stop - 1] == _JOINER and stop < end and _is_picture(text[start]) and _is_picture(text[stop]):
        stop = _skip_marks(text, stop + 1)
    return stop


def _skip_marks(text: str, at: int) -> int:
    """Return the first place from ``at`` on that begins a new unit."""
    while at < len(text) and (_is_mark(text[at]) or _is_skin_tone_after(text, at)):
        at += 1
    return at


def _is_skin_tone_after(text: str, at: int) -> bool:
    return "\U0001f3fb" <= text[at] <= "\U0001f3ff" and _is_picture(text[at - 1])


def _cluster_cells(cluster: str) -> int:
    if len(cluster) == 1:
        return _char_cells(cluster)
    if _is_regional(cluster[0]) and _is_regional(cluster[1]):
        return 2
    if cluster[1] == _SELECTOR_16 and _char_cells(cluster[0]) == 1 and _can_be_emoji(cluster[0]):
        return 2
    return _char_cells(cluster[0])


def _char_cells(char: str) -> int:
    if " " <= char <= "~":
        return 1
    if _is_control(char) or _is_mark(char):
        return 0
    if _NEWLY_WIDE.match(char):
        return 2
    # Python 3.11 calls unassigned characters "F": they are drawn as one narrow box
    return 2 if east_asian_width(char) in "WF" and category(char) != "Cn" else 1


def _is_control(char: str) -> bool:
    return char < " " or "\x7f" <= char <= "\x9f"


def _is_mark(char: str) -> bool:
    """Tell whether a character belongs to the one before it: marks, joiners, inner Hangul parts."""
    if char < "\u0300":
        return False
    if "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff" or char in "\u3164\uffa0":
        return True
    return category(char) in _MARKS and not _SIGNS.match(char)


_MARKS = frozenset({"Mn", "Mc", "Me", "Cf", "Zl", "Zp", "Cs"})


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_picture(char: str) -> bool:
    """Tell whether a character can stand in an emoji sequence."""
    return char in "\u00a9\u00ae" or (char >= "\u203c" and category(char) in {"So", "Sk", "Cn", "Sm", "Po"})


def _can_be_emoji(char: str) -> bool:
    return char in "0123456789#*" or _is_picture(char)
