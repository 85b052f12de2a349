r"""Reads and writes path names the way git prints them: plain, or C-quoted with octal bytes.

Paths are text with undecodable bytes kept as lone surrogates, so that every name survives the way in and out.
"""

import re

_NAMED = {ord("a"): 7, ord("b"): 8, ord("t"): 9, ord("n"): 10, ord("v"): 11, ord("f"): 12, ord("r"): 13}
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def decode_path(raw: bytes) -> str:
    """Return a path from its bytes, whatever its encoding."""
    return raw.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    """Return the bytes of a path, the exact inverse of ``decode_path``."""
    return path.encode("utf-8", "surrogateescape")


def unquote(raw: bytes) -> bytes:
    """Return the bytes of a name that git may have put in quotes."""
    found = _QUOTED.fullmatch(raw)
    return _ESCAPE.sub(_unescape, found[1]) if found else raw


def split_pair(raw: bytes) -> tuple[bytes, bytes] | None:
    """Split the two names of a ``diff --git`` line; None when they cannot be told apart.

    Unquoted names are split in the middle, where both halves name the same file: blanks in names make any other
    cut a guess, and git names renamed files on lines of their own.
    """
    first = _QUOTED.match(raw)
    if first:
        return unquote(first[0]), unquote(raw[first.end() + 1 :])
    last = re.search(rb' ("(?:[^"\\]|\\.)*")$', raw)
    if last:
        return raw[: last.start()], unquote(last[1])
    middle = len(raw) // 2
    left, gap, right = raw[:middle], raw[middle : middle + 1], raw[middle + 1 :]
    if gap == b" " and _same_file(left, right):
        return left, right
    return _only_blank(raw)


def _same_file(left: bytes, right: bytes) -> bool:
    """Tell whether two names differ in nothing but a prefix such as ``a/`` and ``b/``."""
    return left == right or (b"/" in left and left.partition(b"/")[2] == right.partition(b"/")[2])


def _only_blank(raw: bytes) -> tuple[bytes, bytes] | None:
    """Split at the blank when there is exactly one, as in ``a/old.py b/new.py``."""
    left, gap, right = raw.partition(b" ")
    return (left, right) if gap and b" " not in right else None


def _unescape(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if len(code) == 3:
        return bytes([int(code, 8)])
    return bytes([_NAMED.get(code[0], code[0])])
