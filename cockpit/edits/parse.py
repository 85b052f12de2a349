"""Reads what an answer asks for, or says in one sentence why it cannot be read; it never repairs code."""

import re
from collections.abc import Collection

from cockpit.domain.serving import Finish
from cockpit.edits.blocks import has_markers, read_blocks
from cockpit.edits.fences import answer_lines, find_fences
from cockpit.edits.model import AnswerError, Edit, EditFormat, ParsedAnswer, WholeFile
from cockpit.edits.names import path_for
from cockpit.edits.thoughts import without_thoughts
from cockpit.edits.whole import read_files

NO_CHANGE = "NO CHANGE:"
"""The words, followed by a reason, with which a model says that nothing needs to change."""

_NO_CHANGE_LINE = re.compile(rf"[\s*_#>]*{NO_CHANGE}[\s*_]*(?P<reason>.*)")
_DIFF_INFO = frozenset({"diff", "patch", "udiff"})
_DIFF_FILES = (".diff", ".patch")


def parse_answer(text: str, *, edit_format: EditFormat, finish: str, in_play: Collection[str] = ()) -> ParsedAnswer:
    """Read the edits of an answer that ended as ``finish`` says; from an unfinished answer no edit is taken."""
    if finish == Finish.LENGTH:
        return ParsedAnswer((), "gen_length", "the answer was cut by the token limit before its end")
    if finish != Finish.STOP:
        return ParsedAnswer((), "format_invalid", "the answer was stopped before its end")
    content = without_thoughts(text)
    if not content.strip():
        return _nothing_said(text)
    try:
        return _parse(answer_lines(content), edit_format, in_play)
    except AnswerError as error:
        return ParsedAnswer((), error.label, error.message)


def _nothing_said(text: str) -> ParsedAnswer:
    if text.strip():
        return ParsedAnswer((), "thinking_only", "the answer holds thoughts and nothing else")
    return ParsedAnswer((), "format_invalid", "the answer is empty")


def _parse(lines: list[str], edit_format: EditFormat, in_play: Collection[str]) -> ParsedAnswer:
    reason = _no_change(lines)
    if reason is None:
        return ParsedAnswer(_read(lines, edit_format, in_play))
    if has_markers(lines) or any(path_for(lines, fence, in_play) for fence in find_fences(lines, nested=True)):
        raise AnswerError(f"the answer says {NO_CHANGE} and gives edits")
    return ParsedAnswer(no_change=reason)


def _no_change(lines: list[str]) -> str | None:
    """Return the reason of a ``NO CHANGE:`` line outside any fence."""
    fenced = [range(fence.start, (fence.end or len(lines)) + 1) for fence in find_fences(lines, nested=True)]
    for at, line in enumerate(lines):
        found = _NO_CHANGE_LINE.fullmatch(line)
        if found and not any(at in span for span in fenced):
            below = " ".join(lines[at + 1 :]).split()
            reason = found["reason"].strip(" *_") or " ".join(below[:40])
            if not reason:
                raise AnswerError(f"line {at + 1}: {NO_CHANGE} without a reason")
            return reason
    return None


def _read(lines: list[str], edit_format: EditFormat, in_play: Collection[str]) -> tuple[Edit, ...]:
    if has_markers(lines):
        return read_blocks(lines, in_play, alone=edit_format != "search_replace")
    if edit_format == "search_replace":
        raise _no_blocks(lines)
    try:
        files = read_files(lines, in_play)
    except AnswerError as error:
        raise (_diff_given() if _holds_diff(lines) else error) from None
    for edit in files:
        _check_no_diff(edit, lines)
    return files


def _holds_diff(lines: list[str]) -> bool:
    fences = find_fences(lines, nested=True)
    return is_diff("\n".join(lines)) or any(_is_diff_info(fence.info) for fence in fences)


def _no_blocks(lines: list[str]) -> AnswerError:
    if _holds_diff(lines):
        return _diff_given()
    if find_fences(lines, nested=True):
        return AnswerError("the answer holds code, but no <<<<<<< SEARCH and >>>>>>> REPLACE lines around it")
    return AnswerError("the answer holds no SEARCH/REPLACE block")


def _check_no_diff(edit: WholeFile, lines: list[str]) -> None:
    """Refuse a diff that stands where the complete file was asked for; files that are diffs may be written."""
    if (edit.path or "").endswith(_DIFF_FILES):
        return
    info = lines[edit.line - 1].strip().strip("`~").strip()
    if is_diff(edit.text) or _is_diff_info(info):
        raise _diff_given()


def is_diff(text: str) -> bool:
    """Tell whether text holds a unified diff: its two file lines, or a hunk header behind a ``diff --git`` line."""
    return bool(
        re.search(r"^--- \S.*\r?\n\+\+\+ \S.*\r?\n@@ ", text, re.MULTILINE)
        or re.search(r"^diff --git \S+ \S+", text, re.MULTILINE)
    )


def _is_diff_info(info: str) -> bool:
    return info.split(" ")[0].lower() in _DIFF_INFO


def _diff_given() -> AnswerError:
    return AnswerError("the answer is a diff; it has to hold the edits themselves in the format asked for")
