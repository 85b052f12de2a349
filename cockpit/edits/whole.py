"""Reads complete files from an answer: all of a file or nothing, never a front of it."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from cockpit.edits.blocks import joined
from cockpit.edits.fences import Fence, find_fences
from cockpit.edits.model import AnswerError, WholeFile
from cockpit.edits.names import path_above, path_in_comment, path_in_info, path_named, paths_mentioned

_ASIDES = frozenset({"sh", "bash", "shell", "zsh", "console", "terminal", "text", "txt", "plaintext", "output", "log"})
_PROSE_FILES = re.compile(r".*\.(?:md|mdx|markdown|rst|txt|adoc|org)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Named:
    """A fenced block and the file it is about, if it says so."""

    fence: Fence
    path: str | None
    title: str
    """The first line of the block when it names the file."""


def read_files(lines: list[str], in_play: Collection[str]) -> tuple[WholeFile, ...]:
    """Return the complete files of an answer; blocks that only show a command or quote code are left out.

    Raises AnswerError when a block is never closed, when it cannot be told where a file ends, or which block it is.
    """
    fences = find_fences(lines, nested=True)
    if not fences:
        raise AnswerError("the answer holds no fenced block with a complete file")
    for fence in fences:
        if fence.end is None:
            raise AnswerError(f"line {fence.start + 1}: the code fence is never closed")
    blocks = _with_names(lines, fences, in_play)
    chosen = _chosen(lines, blocks, in_play)
    return tuple(_whole_file(lines, block) for block in chosen)


def _with_names(lines: list[str], fences: list[Fence], in_play: Collection[str]) -> list[_Named]:
    named: list[_Named] = []
    low = 0
    for fence in fences:
        path = path_in_info(fence.info, in_play) or path_above(lines, low, fence.start, in_play)
        first = lines[fence.start + 1]
        title = path_in_comment(first, in_play)
        is_title = title is not None and path in (None, title)
        if path is None and not _is_short_for_the_only(title, in_play):
            path = title
        named.append(_Named(fence, path, first if is_title else ""))
        low = (fence.end or fence.start) + 1
    return named


def _is_short_for_the_only(title: str | None, in_play: Collection[str]) -> bool:
    """Tell whether a comment gives the last part of the only file in play: it names no other file then."""
    return title is not None and len(in_play) == 1 and any(path.endswith(f"/{title}") for path in in_play)


def _chosen(lines: list[str], blocks: list[_Named], in_play: Collection[str]) -> list[_Named]:
    """Return the blocks that are files."""
    named = [block for block in blocks if block.path]
    if not named:
        return [_only_unnamed(blocks)]
    first = blocks.index(named[0])
    for at, block in enumerate(blocks):
        if at > first and not block.fence.info and not _stands_apart(lines, blocks, at, in_play):
            raise AnswerError(_unclear_end(blocks[at - 1].fence))
        if not block.path and _may_be_a_file(lines, blocks, at, named, in_play):
            raise AnswerError(f"line {block.fence.start + 1}: the block names no file")
    return named


def _only_unnamed(blocks: list[_Named]) -> _Named:
    """Return the one block that can be the file when none names it."""
    for before, block in pairwise(blocks):
        if not block.fence.info:
            raise AnswerError(_unclear_end(before.fence))
    files = [block for block in blocks if block.fence.info.lower() not in _ASIDES] or blocks
    if len(files) > 1:
        raise AnswerError(f"the answer holds {len(files)} blocks and none names its file")
    return files[0]


def _stands_apart(lines: list[str], blocks: list[_Named], at: int, in_play: Collection[str]) -> bool:
    """Tell whether a bare fence surely opens a new file rather than ending an inner block of the one before.

    In a file of prose, only a path that stands alone after an empty line is sure.
    """
    block, before = blocks[at], blocks[at - 1]
    if not block.path:
        return False
    if not _PROSE_FILES.fullmatch(before.path or ""):
        return True
    gap = lines[(before.fence.end or 0) + 1 : block.fence.start]
    words = [line for line in gap if line.strip()]
    return bool(gap) and not gap[0].strip() and len(words) == 1 and path_named(words[0], in_play) is not None


def _may_be_a_file(
    lines: list[str], blocks: list[_Named], at: int, named: list[_Named], in_play: Collection[str]
) -> bool:
    """Tell whether a block without a name stands below words about a file that no other block gives."""
    fence = blocks[at].fence
    if fence.info.lower() in _ASIDES:
        return False
    low = (blocks[at - 1].fence.end or 0) + 1 if at else 0
    above = next((line for line in reversed(lines[low : fence.start]) if line.strip()), "")
    return bool(paths_mentioned(above, in_play) - {block.path for block in named})


def _unclear_end(fence: Fence) -> str:
    return (
        f"line {fence.start + 1}: it is not clear where this file ends, because more fences follow; "
        "open and close the file with four backticks"
    )


def _whole_file(lines: list[str], block: _Named) -> WholeFile:
    fence = block.fence
    text = joined(lines[fence.start + 1 : fence.end])
    return WholeFile(block.path, text, fence.start + 1, title=block.title)
