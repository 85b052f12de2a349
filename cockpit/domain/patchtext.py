"""Reads raw ``git diff`` bytes into a patch and writes a patch back, byte for byte.

Only a line feed ends a line: any other separator, and text that looks like the header of another file, stays inside
its line because the counts of the hunk header decide where a hunk ends. Combined diffs of merges are refused.
"""

import re
from dataclasses import dataclass

from cockpit.domain.errors import CockpitError
from cockpit.domain.patch import FilePatch, Hunk, Line, Patch, Tag
from cockpit.domain.patchheader import Header

NO_NEWLINE = b"\\ No newline at end of file"

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: .*|)\r?", re.DOTALL)
_TAGS: dict[bytes, Tag] = {b" ": " ", b"+": "+", b"-": "-"}


class PatchError(CockpitError):
    """The bytes are no diff that git could apply."""

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(f"line {line} of the diff: {message}", label="patch_inapplicable")
        self.line = line
        """Line of the diff, from 1."""


@dataclass(slots=True)
class _Reader:
    """Walks over the lines of a diff."""

    lines: list[bytes]
    at: int = 0

    @property
    def line(self) -> bytes | None:
        """The line to read next; None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def fail(self, message: str) -> PatchError:
        return PatchError(message, line=self.at + 1)


def parse_patch(raw: bytes) -> Patch:
    """Read the output of ``git diff`` (default prefixes ``a/`` and ``b/``), or of another maker of unified diffs.

    Raises PatchError with the line where the hunk counts do not fit the body or where no diff line is.
    """
    if not raw:
        return Patch()
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    reader = _Reader(lines)
    files: list[FilePatch] = []
    while reader.line is not None:
        files.append(_read_file(reader))
    return Patch(tuple(files))


def format_patch(patch: Patch) -> bytes:
    """Write a patch as git printed it."""
    parts: list[bytes] = []
    for file in patch.files:
        parts.extend(file.header)
        for hunk in file.hunks:
            parts.append(hunk.header)
            for line in hunk.lines:
                parts.append(line.tag.encode() + line.text)
                if line.no_newline:
                    parts.append(NO_NEWLINE)
    return b"".join(part + b"\n" for part in parts)


def _read_file(reader: _Reader) -> FilePatch:
    header = _read_header(reader)
    hunks: list[Hunk] = []
    while reader.line is not None and reader.line.startswith(b"@@ "):
        hunks.append(_read_hunk(reader))
    file = header.file_patch(tuple(hunks))
    if header.new is None and (hunks or not header.is_from_git):
        raise reader.fail("no --- and +++ lines before the hunks")
    if file is None:
        raise reader.fail("the diff names no path")
    return file


def _read_header(reader: _Reader) -> Header:
    """Read up to the first hunk or to the next file."""
    first = reader.line or b""
    if not first.startswith((b"diff --git ", b"--- ")):
        raise reader.fail(_not_a_header(first))
    header = Header()
    header.take(first)
    reader.at += 1
    while (line := reader.line) is not None and not line.startswith((b"diff --", b"@@ ")):
        header.take(line)
        reader.at += 1
        if header.new is not None:
            break
    return header


def _not_a_header(line: bytes) -> str:
    if line.startswith(b"diff --c"):
        return "a combined diff of a merge cannot be read"
    if line.startswith((b"+", b"-", b" ")):
        return "more lines than the hunk header counts"
    return f"no line of a diff: {line[:60]!r}"


def _read_hunk(reader: _Reader) -> Hunk:
    """Read one hunk; its header's counts decide where it ends."""
    header = reader.line or b""
    found = _HUNK.fullmatch(header)
    if not found:
        raise reader.fail("the hunk header cannot be read")
    old_start, new_start = int(found[1]), int(found[3])
    old_count, new_count = int(found[2] or 1), int(found[4] or 1)
    reader.at += 1
    lines = _read_lines(reader, old_count, new_count)
    return Hunk(old_start, old_count, new_start, new_count, header, tuple(lines))


def _read_lines(reader: _Reader, old_left: int, new_left: int) -> list[Line]:
    lines: list[Line] = []
    while old_left > 0 or new_left > 0:
        raw = reader.line
        if raw is None:
            raise reader.fail("the diff ends before the lines its hunk header counts")
        tag = _TAGS.get(raw[:1] or b" ")
        if tag is None:
            raise reader.fail("the hunk ends before the lines its header counts")
        old_left -= tag != "+"
        new_left -= tag != "-"
        if old_left < 0 or new_left < 0:
            raise reader.fail("the hunk header counts other lines than the hunk has")
        reader.at += 1
        lines.append(Line(tag, raw[1:], no_newline=_skip_no_newline(reader)))
    return lines


def _skip_no_newline(reader: _Reader) -> bool:
    """Step over the mark that the line before it has no line feed."""
    if reader.line is None or not reader.line.startswith(b"\\ "):
        return False
    reader.at += 1
    return True
