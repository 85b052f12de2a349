"""Writes edits in the format models are asked for: the worked example of a prompt is made here."""

import re
from collections.abc import Iterable
from typing import assert_never

from cockpit.edits.model import Edit, SearchReplace, WholeFile

_PLAIN_PATH = re.compile(r"[\w./-]+")


def format_edits(edits: Iterable[Edit]) -> str:
    """Return the answer that asks for these edits; ``parse_answer`` reads it back.

    Fences and markers grow until nothing in the content can be taken for them.
    """
    return "\n".join(_format(edit) for edit in edits)


def _format(edit: Edit) -> str:
    match edit:
        case SearchReplace():
            body = _block(edit)
        case WholeFile():
            body = edit.text
        case _:
            assert_never(edit)
    fence = "`" * max(3, _longest("`", body) + 1)
    return f"{_path_line(edit.path)}{fence}\n{body}{fence}\n"


def _path_line(path: str | None) -> str:
    if path is None:
        return ""
    return f"{path}\n" if _PLAIN_PATH.fullmatch(path) else f"`{path}`\n"


def _block(edit: SearchReplace) -> str:
    content = edit.search + edit.replace
    length = max([7, *(_longest(mark, content) + 1 for mark in "<=>")])
    return f"{'<' * length} SEARCH\n{edit.search}{'=' * length}\n{edit.replace}{'>' * length} REPLACE\n"


def _longest(mark: str, text: str) -> int:
    """Return the longest run of a mark at the start of a line."""
    runs = re.findall(rf"^ *({re.escape(mark)}+)", text, re.MULTILINE)
    return max((len(run) for run in runs), default=0)
