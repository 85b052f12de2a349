"""Takes the model's thoughts out of an answer, so that code it only thought about is never an edit."""

import re

from cockpit.edits.fences import find_fences

_OPEN = re.compile(r"\s*<(think|thinking|thought)>")
_CLOSE = re.compile(r"</(?:think|thinking|thought)>")


def without_thoughts(text: str) -> str:
    """Return the answer with leading thoughts blanked; line numbers stay.

    Thoughts begin the answer, or end at a closing tag whose opening one was in the prompt. An opening tag that is
    never closed leaves nothing.
    """
    opened = _OPEN.match(text)
    if opened:
        end = text.find(f"</{opened[1]}>")
        stop = len(text) if end < 0 else end + len(opened[1]) + 3
        return _blanked(text, stop)
    return _blanked(text, _orphan_end(text))


def _blanked(text: str, stop: int) -> str:
    return "\n" * text.count("\n", 0, stop) + text[stop:]


def _orphan_end(text: str) -> int:
    """Return where thoughts end that were opened in the prompt; 0 when there are none."""
    if not _CLOSE.search(text):
        return 0
    lines = text.split("\n")
    fences = find_fences(lines, nested=True)
    at = 0
    for index, line in enumerate(lines):
        found = _CLOSE.search(line)
        is_fenced = any(fence.start <= index <= (fence.end or len(lines)) for fence in fences)
        if found and not is_fenced:
            return at + found.end()
        at += len(line) + 1
    return 0
