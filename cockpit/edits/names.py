"""Reads which file a block of an answer is about, in the ways small models write it."""

import re
from collections.abc import Collection

from cockpit.edits.fences import FENCE, Fence

_DECORATIONS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"#{1,6}\s+(?P<rest>.+)",
        r"(?://+|--+|;+|%+)\s*(?P<rest>.+)",
        r"/\*+\s*(?P<rest>.+?)\s*\*+/",
        r"<!--+\s*(?P<rest>.+?)\s*--+>",
        r"\(?\d+[.)]\s+(?P<rest>.+)",
        r"(?:file ?name|file ?path|path|file)(?:\*\*|__)?\s*:(?:\*\*|__)?\s*(?P<rest>.+)",
        r"(?P<mark>\*\*|__)(?P<rest>.+)(?P=mark):?",
        r"(?P<mark>\*\*|__)(?P<rest>(?:file ?name|file ?path|path|file)\s*:.+)",
        r"(?P<rest>.+?)\s*:",
        r"(?P<rest>.+)\*\*",
    )
]
_QUOTED = re.compile(r"`(?P<name>[^`]+)`|\"(?P<double>[^\"]+)\"|'(?P<single>[^']+)'")
_MENTION = re.compile(r"`([^`\s]+)`")
_COMMENT = re.compile(r"(?:#(?!!)|//|--|;|%|/\*|<!--).*")
_EXTENSION = re.compile(r"[^\s/]\.[A-Za-z][A-Za-z0-9_+-]{0,19}$")
_MAX_LINE = 300
_BARE_NAMES = frozenset({"Makefile", "Dockerfile", "Jenkinsfile", "Rakefile", "Gemfile", "Justfile", "LICENSE"})
_FORBIDDEN = re.compile(r"[<>|*?\"`\x00-\x1f(){}\[\],;=]|://")


def path_named(line: str, in_play: Collection[str]) -> str | None:
    """Return the path when the whole line is one, decorations aside: `` `a.py` ``, ``**a.py**``, ``File: a.py``."""
    text = line.strip() if len(line) <= _MAX_LINE else ""
    for _ in range(5):
        quoted = _QUOTED.fullmatch(text)
        if quoted:
            name = quoted["name"] or quoted["double"] or quoted["single"]
            return name.strip() if is_path(name.strip(), in_play, blanks=True) else None
        if is_path(text, in_play):
            return text
        text = _undecorated(text)
    return None


def path_in_info(info: str, in_play: Collection[str]) -> str | None:
    """Return the path in what stands behind the opening marks of a fence: ``python a.py``, ``py:a.py``, ``a.py``."""
    words = [word.strip("\"'{}()") for word in re.split(r"[\s:=]+", info)]
    return next((word for word in words if is_path(word, in_play)), None)


def path_at_end(line: str, in_play: Collection[str]) -> str | None:
    """Return the path when prose ends with the only one it holds in backticks: ``Change `a.py`:``."""
    names = [name for name in _MENTION.findall(line) if is_path(name, in_play)]
    return names[0] if len(names) == 1 and re.search(r"`\**\s*[:.]?\**\s*$", line) else None


def path_in_comment(line: str, in_play: Collection[str]) -> str | None:
    """Return the path when the line is a comment that holds nothing else: ``# a.py``."""
    return path_named(line, in_play) if _COMMENT.fullmatch(line.strip()) else None


def paths_mentioned(line: str, in_play: Collection[str]) -> set[str]:
    """Return the files a line of prose speaks of."""
    words = {word.strip("`'\"*:,.()") for word in line.split()}
    return {word for word in words if word in in_play or (is_path(word, in_play) and _EXTENSION.search(word))}


def is_path(text: str, in_play: Collection[str], *, blanks: bool = False) -> bool:
    """Tell whether a word looks like a path of a repository; ``blanks`` allows them inside."""
    if text in in_play:
        return True
    if not text or len(text) > 255 or _FORBIDDEN.search(text) or text.endswith("/"):
        return False
    if any(char.isspace() for char in text) and not blanks:
        return False
    name = text.rpartition("/")[2]
    return name != text or name in _BARE_NAMES or bool(_EXTENSION.search(f"x{name}" if name[0] == "." else name))


def path_above(lines: list[str], low: int, high: int, in_play: Collection[str]) -> str | None:
    """Return the path named nearest above ``high``, looking no further up than ``low``; fence lines name none."""
    is_nearest = True
    for line in reversed(lines[low:high]):
        if not line.strip() or FENCE.fullmatch(line.rstrip()):
            continue
        path = path_named(line, in_play) or (path_at_end(line, in_play) if is_nearest else None)
        if path:
            return path
        is_nearest = False
    return None


def path_for(lines: list[str], fence: Fence, in_play: Collection[str]) -> str | None:
    """Return the path given with a fence itself: behind its marks, or alone on the line of text above it."""
    above = next((line for line in reversed(lines[: fence.start]) if line.strip()), "")
    return path_in_info(fence.info, in_play) or path_named(above, in_play)


def _undecorated(text: str) -> str:
    """Take one layer of decoration off."""
    for pattern in _DECORATIONS:
        found = pattern.fullmatch(text)
        if found:
            return found["rest"].strip()
    return text
