"""Finds the fenced blocks of an answer."""

import re
from dataclasses import dataclass

FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\s]?[^`]*)")
"""A line that opens a fence, or closes one when ``info`` is empty."""


@dataclass(frozen=True, slots=True)
class Fence:
    """One block: the indexes of its two fence lines and what stands behind the opening marks."""

    start: int
    end: int | None
    """None when it is never closed."""
    info: str


def answer_lines(text: str) -> list[str]:
    """Split an answer into lines; only a line feed ends one, and a CR before it is no part of the line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


def find_fences(lines: list[str], *, nested: bool) -> list[Fence]:
    """Return the outermost fenced blocks in order.

    With ``nested``, a fence line with an info string inside a block opens an inner block and a bare one closes the
    innermost: so a Markdown file that holds fences keeps them. A longer outer fence needs no such reading, because
    shorter marks inside it are content.
    """
    found: list[Fence] = []
    open_marks: list[str] = []
    start, info = 0, ""
    for index, line in enumerate(lines):
        mark = FENCE.fullmatch(line.rstrip())
        if not mark or (open_marks and not _reaches(mark["mark"], open_marks[-1])):
            continue
        if not open_marks:
            start, info = index, mark["info"].strip()
            open_marks.append(mark["mark"])
        elif not mark["info"]:
            open_marks.pop()
            if not open_marks:
                found.append(Fence(start, index, info))
        elif nested:
            open_marks.append(mark["mark"])
    if open_marks:
        found.append(Fence(start, None, info))
    return found


def _reaches(mark: str, opened: str) -> bool:
    """Tell whether fence marks can close, or nest in, a block opened with other marks."""
    return mark[0] == opened[0] and len(mark) >= len(opened)
