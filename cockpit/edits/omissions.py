"""Notices lines that stand for code a model left out, such as ``# ... existing code ...``."""

import re
from collections.abc import Collection, Iterable

_PROSE = re.compile(r".*\.(?:md|mdx|markdown|rst|txt|adoc|org)", re.IGNORECASE)
_BARE_DOTS_ARE_CODE = re.compile(r".*\.(?:py|pyi|ya?ml)", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:#+|//+|/\*+|--+|;+|%+|<!--+|\{/\*+|\(\*+)\s*(?P<words>.*?)\s*(?:\*+/\}?|--+>|\*+\))?\s*")
_PROSE_COMMENT = re.compile(r"\s*<!--+\s*(?P<words>.*?)\s*--+>\s*")
_BARE = re.compile(r"\s*[\[(]?\s*(?P<words>(?:\.{3}|…).*?)[\])]?\s*")
_MAX_WORDS = 120
"""Characters; a longer comment says more than that something is missing."""
_DOTS = r"(?:\.{3,}|…)"
_CODE = (
    r"(?:code|methods?|functions?|class(?:es)?|imports?|lines?|contents?|implementation|logic|parts?|definitions?|"
    r"routes?|tests?|file|module|script|body|fields?|everything|all)"
)
_KEPT = r"(?:existing|remaining|rest|remainder|previous|original|other|unchanged|omitted|same|as before|your|snip)"
_STAYS = r"(?:unchanged|remains?|stays?|the same|goes here|omitted|as before|continues|as (?:is|above)|not changed)"
_OMISSIONS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DOTS}\W*",
        rf"{_DOTS}.*\b{_KEPT}\b.*",
        rf"{_DOTS}\s*{_CODE}\b.*",
        rf"\W*{_KEPT}\b.*\b{_CODE}\b.*{_DOTS}\W*",
        rf"\W*(?:the |all )?(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?{_CODE}(?:\W+\w+){{0,6}}\W*",
        rf"\W*(?:all |the |your |keep )*(?:{_KEPT} )+{_CODE}\b(?:\W+\w+){{0,3}}?\W+{_STAYS}\b(?:\W+\w+){{0,3}}\W*",
        rf"\W*(?:all |the |your )*{_KEPT} {_CODE} here\W*",
        rf"\W*(?:the )?(?:{_CODE}|everything else|all else) (?:remains?|stays?|is) (?:the same|unchanged)\b.*",
        r"\W*(?:same as (?:before|above|original)|unchanged|omitted(?: for brevity)?|snip|no changes?(?: here)?)\W*",
    )
]


def left_out(new: Iterable[str], old: Collection[str], path: str) -> str | None:
    """Return the first line that stands for left-out code; lines the file already has are its own."""
    known = set(old)
    return next((line for line in new if line not in known and _stands_for_code(line, path)), None)


def _stands_for_code(line: str, path: str) -> bool:
    is_prose = bool(_PROSE.fullmatch(path))
    found = _PROSE_COMMENT.fullmatch(line) if is_prose else (_COMMENT.fullmatch(line) or _bare(line, path))
    if not found or len(found["words"]) > _MAX_WORDS:
        return False
    return any(omission.fullmatch(found["words"]) for omission in _OMISSIONS)


def _bare(line: str, path: str) -> re.Match[str] | None:
    """Match dots without a comment mark; alone they are code in Python and YAML."""
    if line.strip() == "..." and _BARE_DOTS_ARE_CODE.fullmatch(path):
        return None
    return _BARE.fullmatch(line)
