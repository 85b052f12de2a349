"""Prints: JSON for programs, sanitised text fitted to the terminal for people."""

import json
import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any

from cockpit.domain.text import visible

GREY = "\x1b[90m"
PLAIN = "\x1b[0m"


def print_json(value: Any) -> None:  # noqa: ANN401  # whatever json takes
    """Print one JSON value on one line; non-ASCII is escaped, so that any terminal or pipe can take it."""
    sys.stdout.write(json.dumps(value, default=_plain) + "\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Print text for a person at once; foreign parts must have been made visible."""
    sys.stdout.write(_encodable(text, sys.stdout.encoding) + "\n")
    sys.stdout.flush()


def say_all(lines: Iterable[str]) -> None:
    """Print several lines with one write."""
    say("\n".join(lines))


def note(text: str) -> None:
    """Print on standard error what is no result: progress, what was started."""
    sys.stderr.write(_encodable(text, sys.stderr.encoding) + "\n")
    sys.stderr.flush()


def safe(text: str) -> str:
    """Return one line of foreign text as it may be shown here."""
    return visible(text, ascii_only=is_ascii_only())


def safe_lines(text: str) -> str:
    """Return foreign text with its line ends as it may be shown here."""
    return visible(text, keep_newlines=True, ascii_only=is_ascii_only())


def is_ascii_only() -> bool:
    """Tell whether standard output can take nothing but ASCII."""
    return (sys.stdout.encoding or "ascii").lower().replace("_", "-") not in {"utf-8", "utf8", "utf-16", "utf-32"}


def is_plain() -> bool:
    """Tell whether colour is unwanted: no terminal, ``NO_COLOR``, or a terminal that has none."""
    return not sys.stdout.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def grey(text: str) -> str:
    """Return text in grey where colour can be shown."""
    return text if is_plain() else f"{GREY}{text}{PLAIN}"


def width() -> int:
    """Return the cells a line may take; 100 when standard output is no terminal."""
    if not sys.stdout.isatty():
        return 100
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def _encodable(text: str, encoding: str | None) -> str:
    chosen = encoding or "ascii"
    return text.encode(chosen, "backslashreplace").decode(chosen)


def _plain(value: object) -> object:
    if isinstance(value, (set, frozenset)):
        return sorted(str(item) for item in value)
    return str(value)
