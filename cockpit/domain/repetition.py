"""Notices that an answer goes round in circles, cheaply, while it arrives.

A loop is the same block of 1-20 lines over and over at the end of the text, or one long line that repeats itself.
Code repeats itself too, so a loop needs many repeats (``repeats``) and a lot of lines; lines without a word in them
(braces, blank lines, rows of numbers) need far more, because data files and tables are made of them.
"""

import re

LONGEST_BLOCK = 20
"""Lines of the largest block that is looked for."""
LINES_PER_REPEAT = 10
"""A loop has at least ``repeats`` times this many lines: 80 for the default of 8, the standard library has 50."""
WORDLESS_FACTOR = 10
"""How much more of it wordless text has to have."""
LINE_WINDOW = 4096
"""Characters at the end of a long line that have to repeat; the standard library has no such line."""
LINE_STEP = 512
"""Characters between two looks at a long line."""

_WORD = re.compile(r"[^\W\d_]{2,}")


class Repetition:
    """Reads one answer as it arrives and says when it has become a loop."""

    def __init__(self, repeats: int = 8) -> None:
        self._repeats = repeats
        self._recent: list[str] = []
        self._runs = [0] * (LONGEST_BLOCK + 1)
        """At k: how many of the last lines equal the line k before them."""
        self._line = ""
        self._next_look = LINE_WINDOW
        self._reason: str | None = None

    def feed(self, text: str) -> str | None:
        """Take some more text; return why it is a loop, once it is one."""
        *ended, rest = text.split("\n")
        for part in ended:
            self._end_line(self._line + part)
            self._line, self._next_look = "", LINE_WINDOW
        self._line += rest
        if self._reason is None and len(self._line) >= self._next_look:
            self._next_look = len(self._line) + LINE_STEP
            self._reason = self._look_at_line()
        return self._reason

    def _end_line(self, line: str) -> None:
        line = line.rstrip()
        for size in range(1, LONGEST_BLOCK + 1):
            is_same = size <= len(self._recent) and self._recent[-size] == line
            self._runs[size] = self._runs[size] + 1 if is_same else 0
        self._recent = [*self._recent[1 - LONGEST_BLOCK :], line]
        self._reason = self._reason or self._look_at_blocks()

    def _look_at_blocks(self) -> str | None:
        for size in range(1, LONGEST_BLOCK + 1):
            lines = self._runs[size] + size
            if lines < self._repeats * LINES_PER_REPEAT or lines < self._repeats * size:
                continue
            block = self._recent[-size:]
            if any(_WORD.search(line) for line in block) or lines >= self._most(LINES_PER_REPEAT):
                return f"the same {size} lines {lines // size} times in a row" if size > 1 else _said(block[0], lines)
        return None

    def _most(self, count: int) -> int:
        return self._repeats * count * WORDLESS_FACTOR

    def _look_at_line(self) -> str | None:
        tail = self._line[-LINE_WINDOW:]
        period = _period(tail)
        if period > LINE_WINDOW // self._repeats:
            return None
        has_word = period > 1 and _WORD.search(tail[:period] * 2)
        if has_word or self._is_wordless_loop(period):
            return f"one line of {len(self._line)} characters repeats the same {period}"
        return None

    def _is_wordless_loop(self, period: int) -> bool:
        """Tell whether even a line without a word (dashes, zeros, padding) has become too long."""
        tail = self._line[-LINE_WINDOW * WORDLESS_FACTOR :]
        return len(tail) == LINE_WINDOW * WORDLESS_FACTOR and tail[period:] == tail[:-period]


def _said(line: str, count: int) -> str:
    return f"the line {line.strip()[:40]!r} {count} times in a row"


def _period(text: str) -> int:
    """Return the length of the shortest block the text is a repetition of, the last one possibly cut."""
    borders = [0] * len(text)
    length = 0
    for index in range(1, len(text)):
        while length and text[index] != text[length]:
            length = borders[length - 1]
        if text[index] == text[length]:
            length += 1
        borders[index] = length
    return len(text) - (borders[-1] if borders else 0)
