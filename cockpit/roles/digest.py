"""Shortens the output of a test run to what its failures say, for the model and the receipt."""

import re
from collections.abc import Collection

SECTION = re.compile(r"^_{3,} (?P<title>.+?) _{3,}$")
END_OF_SECTIONS = re.compile(r"^=+ .+ =+$")
MOST_LINES = 12
"""Of one failing test."""
MOST_TESTS = 4
FALLBACK_LINES = 25


def failure_digest(output: str, wanted: Collection[str]) -> str:
    """Return, for the wanted tests that have a section in pytest's output, the lines that failed and why.

    ``wanted`` holds test ids. Without any such section the end of the output is returned.
    """
    sections = _sections(output)
    parts = []
    for test in sorted(wanted):
        lines = sections.get(_title_of(test))
        if lines:
            parts.append("\n".join([f"{test}:", *_telling(lines)[-MOST_LINES:]]))
    if parts:
        return "\n".join(parts[:MOST_TESTS])
    lines = [line.rstrip() for line in output.split("\n") if line.strip()]
    return "\n".join(lines[-FALLBACK_LINES:])


def _title_of(test: str) -> str:
    """Return how pytest titles the section of a test: without its file, parts joined by dots."""
    path, *names = test.split("::")
    return ".".join(names) if names else f"ERROR collecting {path}"


def _sections(output: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in output.split("\n"):
        heading = SECTION.match(line)
        if heading:
            title = heading["title"]
            found[title] = []
        elif END_OF_SECTIONS.match(line):
            title = ""
        elif title:
            found[title].append(line.rstrip())
    return found


def _telling(lines: list[str]) -> list[str]:
    """Keep the failing line and what pytest says of it; a section without either is kept whole."""
    chosen = [line for line in lines if line.startswith((">", "E "))]
    return chosen or [line for line in lines if line]
