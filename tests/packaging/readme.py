"""Reads the README's marked parts, for the tests that hold it to the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")

_FENCE = r"(?P<fence>`{3,})\w*\n(?P<body>.*?)\n?(?P=fence)\n"
_EXAMPLE = re.compile(r"<!-- example: (?P<path>.+?) -->\n" + _FENCE, re.DOTALL)


def marked(name: str) -> str:
    """Return what stands between a marker and its end."""
    _, _, rest = TEXT.partition(f"<!-- {name} -->\n")
    part, end, _ = rest.partition("<!-- end -->")
    assert end, f"README has no part {name}"
    return part


def fenced(name: str) -> str:
    """Return the text of the one code block in a marked part."""
    found = re.fullmatch(_FENCE, marked(name), re.DOTALL)
    assert found, f"the part {name} is more, or less, than one code block"
    return found["body"]


def rows(name: str) -> list[list[str]]:
    """Return the cells of a marked table, without its head."""
    lines = [line for line in marked(name).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def examples() -> dict[str, str]:
    """Return the examples of the files on disk by path."""
    return {found["path"]: found["body"] for found in _EXAMPLE.finditer(TEXT)}


def code_spans(text: str) -> list[str]:
    """Return what stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", text)
