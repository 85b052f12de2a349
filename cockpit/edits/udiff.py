"""Takes a unified diff out of an answer and checks that it holds together; git applies it, not this module."""

import re
from dataclasses import dataclass

from cockpit.domain.evidence import EditRefusal
from cockpit.domain.patch import FilePatch
from cockpit.domain.patchtext import PatchError, parse_patch
from cockpit.domain.serving import Finish
from cockpit.edits.blocks import joined
from cockpit.edits.fences import answer_lines, find_fences
from cockpit.edits.model import RefusedError, TreeView
from cockpit.edits.parse import is_diff
from cockpit.edits.paths import check_known, check_new, resolve
from cockpit.edits.thoughts import without_thoughts

_START = re.compile(r"diff --git |--- \S")


@dataclass(frozen=True, slots=True)
class ExtractedDiff:
    """The bytes of the diff in an answer; with a problem they are empty."""

    data: bytes = b""
    problem_label: str = ""
    problem_reason: str = ""


def extract_diff(text: str, *, finish: str) -> ExtractedDiff:
    """Return the diff of an answer: its fenced diffs in order, else everything from the first diff line on."""
    if finish == Finish.LENGTH:
        return ExtractedDiff(b"", "gen_length", "the answer was cut by the token limit before its end")
    if finish != Finish.STOP:
        return ExtractedDiff(b"", "format_invalid", "the answer was stopped before its end")
    lines = answer_lines(without_thoughts(text))
    fences = find_fences(lines, nested=False)
    if any(fence.end is None for fence in fences):
        return ExtractedDiff(b"", "format_invalid", "the code fence around the diff is never closed")
    bodies = [lines[fence.start + 1 : fence.end] for fence in fences]
    bodies = [body for body in bodies if is_diff(joined(body))]
    if not fences:
        start = next((at for at, line in enumerate(lines) if _START.match(line)), len(lines))
        bodies = [lines[start:]]
    data = "".join(joined(_without_blank_end(body)) for body in bodies)
    if not data:
        return ExtractedDiff(b"", "format_invalid", "the answer holds no unified diff")
    return ExtractedDiff(data.encode("utf-8", "surrogatepass"))


def inspect_diff(data: bytes, tree: TreeView) -> tuple[EditRefusal, ...]:
    """Return why a diff must not be handed to git: wrong counts, hunks that change nothing, unknown or unsafe paths.

    ``git apply`` exits 0 on several of these: it drops lines beyond a hunk's count, takes a hunk that swaps a line for
    itself, and skips paths outside its working directory.
    """
    try:
        patch = parse_patch(data)
    except PatchError as error:
        return (EditRefusal("patch_inapplicable", "", error.message),)
    if not patch.files:
        return (EditRefusal("patch_inapplicable", "", "the diff is empty"),)
    return tuple(refusal for file in patch.files for refusal in _inspect_file(file, tree))


def _inspect_file(file: FilePatch, tree: TreeView) -> list[EditRefusal]:
    refusals: list[EditRefusal] = []
    try:
        if file.old_path is not None:
            check_known(resolve(file.old_path, tree), tree)
        if file.new_path is not None:
            check_new(resolve(file.new_path, tree), tree)
    except RefusedError as error:
        refusals.append(EditRefusal(error.label, file.path, error.message, error.hint))
    for hunk in file.hunks:
        if hunk.changes_nothing:
            where = f"the hunk at line {hunk.old_start} changes nothing"
            refusals.append(EditRefusal("edit_noop", file.path, where))
    return refusals


def _without_blank_end(lines: list[str]) -> list[str]:
    """Drop empty lines behind the diff; inside a hunk an empty line is an empty line of the file."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines
