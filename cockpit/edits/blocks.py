"""Reads SEARCH/REPLACE blocks: markers are whole lines, and where they are ambiguous nothing is taken."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from cockpit.edits.fences import Fence, find_fences
from cockpit.edits.model import AnswerError, SearchReplace
from cockpit.edits.names import path_above, path_for, path_in_info, path_named

_OPEN = re.compile(r"(<{5,}) ?SEARCH:?")
_DIVIDER = re.compile(r"(={5,})")
_CLOSE = re.compile(r"(>{5,}) ?REPLACE:?")


@dataclass(frozen=True, slots=True)
class _Block:
    """Indexes of the three marker lines."""

    start: int
    divider: int
    end: int


def has_markers(lines: list[str]) -> bool:
    """Tell whether any line opens a SEARCH/REPLACE block."""
    return any(_OPEN.fullmatch(line.rstrip()) for line in lines)


def read_blocks(lines: list[str], in_play: Collection[str], *, alone: bool) -> tuple[SearchReplace, ...]:
    """Return the blocks in order; a block without a file name belongs to the file of the one before it.

    With ``alone``, a fence around blocks must hold nothing else: markers inside a complete file are no edits.
    Raises AnswerError when a marker is missing or could mean two things.
    """
    blocks = _find_blocks(lines)
    outside = list(lines)
    for block in blocks:
        outside[block.start : block.end + 1] = [""] * (block.end + 1 - block.start)
    fences = find_fences(outside, nested=False)
    _check_closed(fences)
    held = [fence for fence in fences if _holds(fence, blocks)]
    if alone:
        _check_alone(outside, held, in_play)
    edits = _named_edits(lines, _prose(outside, fences, held), blocks, held, in_play)
    _check_nothing_lost(outside, [fence for fence in fences if fence not in held], edits, in_play)
    return edits


def _find_blocks(lines: list[str]) -> list[_Block]:
    blocks: list[_Block] = []
    at = 0
    while at < len(lines):
        opened = _OPEN.fullmatch(lines[at].rstrip())
        if opened:
            blocks.append(_read_block(lines, at, len(opened[1])))
            at = blocks[-1].end
        elif _CLOSE.fullmatch(lines[at].rstrip()):
            raise AnswerError(f"line {at + 1}: a REPLACE marker without a SEARCH marker before it")
        at += 1
    return blocks


def _read_block(lines: list[str], start: int, length: int) -> _Block:
    """Read the block opened at ``start``; markers of the same length count first, so longer ones protect content."""
    end = _first_close(lines, start, length) or _first_close(lines, start, None)
    if end is None:
        raise AnswerError(f"line {start + 1}: the SEARCH block has no >>>>>>> REPLACE line that ends it")
    dividers = [at for at in range(start + 1, end) if lines[at].rstrip() == "=" * length]
    dividers = dividers or [at for at in range(start + 1, end) if _DIVIDER.fullmatch(lines[at].rstrip())]
    if not dividers:
        raise AnswerError(f"line {start + 1}: the SEARCH block has no ======= line between old and new")
    if len(dividers) > 1:
        places = ", ".join(str(at + 1) for at in dividers)
        raise AnswerError(f"lines {places}: any of these ======= lines could divide the block; use longer markers")
    return _Block(start, dividers[0], end)


def _first_close(lines: list[str], start: int, length: int | None) -> int | None:
    """Return the line that closes a block; None when there is none of this length (None: of any)."""
    for at in range(start + 1, len(lines)):
        opened, closed = _OPEN.fullmatch(lines[at].rstrip()), _CLOSE.fullmatch(lines[at].rstrip())
        if closed and length in (None, len(closed[1])):
            return at
        if opened and length in (None, len(opened[1])):
            raise AnswerError(f"line {at + 1}: a SEARCH block begins before the one of line {start + 1} ends")
    return None


def _check_closed(fences: list[Fence]) -> None:
    for fence in fences:
        if fence.end is None:
            raise AnswerError(f"line {fence.start + 1}: the code fence is never closed")


def _holds(fence: Fence, blocks: list[_Block]) -> bool:
    return any(fence.start < block.start and block.end < (fence.end or 0) for block in blocks)


def _check_alone(outside: list[str], held: list[Fence], in_play: Collection[str]) -> None:
    for fence in held:
        for at in range(fence.start + 1, fence.end or 0):
            if outside[at].strip() and not path_named(outside[at], in_play):
                raise AnswerError(f"line {at + 1}: SEARCH/REPLACE markers and other code in one block")


def _prose(outside: list[str], fences: list[Fence], held: list[Fence]) -> list[str]:
    """Return the lines that may name a file: what is only quoted in a fence of its own names none."""
    prose = list(outside)
    for fence in fences:
        if fence not in held and fence.end is not None:
            prose[fence.start : fence.end + 1] = [""] * (fence.end + 1 - fence.start)
    return prose


def _named_edits(
    lines: list[str], prose: list[str], blocks: list[_Block], held: list[Fence], in_play: Collection[str]
) -> tuple[SearchReplace, ...]:
    edits: list[SearchReplace] = []
    path: str | None = None
    low = 0
    for block in blocks:
        info = next((f.info for f in held if low <= f.start < block.start < (f.end or 0)), "")
        path = path_in_info(info, in_play) or path_above(prose, low, block.start, in_play) or path
        search, replace = lines[block.start + 1 : block.divider], lines[block.divider + 1 : block.end]
        edits.append(SearchReplace(path, joined(search), joined(replace), block.start + 1))
        low = block.end + 1
    return tuple(edits)


def _check_nothing_lost(
    outside: list[str], quotes: list[Fence], edits: tuple[SearchReplace, ...], in_play: Collection[str]
) -> None:
    """Refuse when a file is named above a block without markers: a part of the answer would be dropped."""
    edited = {edit.path for edit in edits}
    for fence in quotes:
        path = path_for(outside, fence, in_play)
        if path and path not in edited:
            raise AnswerError(f"line {fence.start + 1}: the block for {path} has no SEARCH and REPLACE markers")


def joined(lines: list[str]) -> str:
    """Return lines as text, each ended by a line feed."""
    return "".join(f"{line}\n" for line in lines)
