"""Reads out of an issue which files, modules, symbols and traceback frames it names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

PATH = re.compile(r"(?<![\w/\\.@+-])((?:[A-Za-z]:)?[\w./\\@+-]*[\w+-]\.[A-Za-z]\w{0,5})(?::(\d+))?\b")
FRAME = re.compile(r"File \"([^\"\n]+)\", line (\d+)(?:, in ([\w.<>]+))?")
DOTTED = re.compile(r"(?<![\w/.@-])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)")
QUOTED = re.compile(r"`{1,2}([A-Za-z_][\w.:]*)(?:\([^`\n]{0,200}\))?`{1,2}")
CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w{2,})\(")
SNAKE = re.compile(r"(?<![\w.])(_*[A-Za-z]\w*_\w+)(?!\w)")
CAMEL = re.compile(r"(?<![\w.])([A-Z]+[a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w+)(?!\w)")
EVERYDAY = frozenset(
    {"print", "len", "str", "int", "list", "dict", "set", "range", "open", "import_error", "e.g", "i.e"}
)
MAX_TEXT = 100_000
"""Characters of an issue looked at; the longest of 500 real ones has 25,000."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What an issue names, each list in the order of the text, without repeats."""

    paths: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Dotted names; the last parts may be a class or a function."""
    symbols: tuple[str, ...] = ()
    """Plain names of classes and functions."""
    frames: tuple[Frame, ...] = ()
    """The innermost frame comes last, as Python prints it."""


def read_mentions(issue: str) -> Mentions:
    """Read the mentions of an issue; nothing is looked up."""
    text = issue[:MAX_TEXT]
    frames = [Frame(_slashes(path), int(line[:9]), name) for path, line, name in FRAME.findall(text)]
    located = [(_slashes(path), line) for path, line in PATH.findall(text)]
    frames += [Frame(path, int(line[:9])) for path, line in located if line and not _has_frame(frames, path)]
    modules = [name for name in DOTTED.findall(text) if name not in EVERYDAY]
    names = [name for pattern in (QUOTED, CALL, SNAKE, CAMEL) for name in pattern.findall(text)]
    names += [frame.function for frame in frames if frame.function.isidentifier()]
    parts = [part for name in (*names, *modules) for part in re.split(r"[.:]+", name)]
    return Mentions(
        paths=_unique(path for path, _ in located),
        modules=_unique(modules),
        symbols=_unique(part for part in parts if len(part) > 2 and part not in EVERYDAY),
        frames=tuple(frames),
    )


def _has_frame(frames: list[Frame], path: str) -> bool:
    return any(frame.path == path for frame in frames)


def _slashes(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
