"""Looks at the bytes of a file as lines and puts lines back, leaving every other byte alone.

Only LF and CRLF end a line. Line ends, a byte order mark and a missing last line feed belong to the file.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from cockpit.edits.model import RefusedError

_BOM = "\ufeff"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One line and the line end it has: LF, CRLF, or nothing at the end of the file."""

    text: str
    end: str


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as lines."""

    lines: tuple[FileLine, ...]
    bom: str = ""

    @property
    def texts(self) -> list[str]:
        """The lines without their ends."""
        return [line.text for line in self.lines]

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        return (self.bom + "".join(line.text + line.end for line in self.lines)).encode()


def read_text(data: bytes) -> FileText:
    """Look at bytes as lines. Raises RefusedError for a binary file or another encoding than UTF-8."""
    if data.startswith(_UTF_16):
        raise RefusedError("path_invalid", "the file is UTF-16; only UTF-8 can be edited")
    if b"\0" in data:
        raise RefusedError("path_invalid", "the file is binary: it holds a NUL byte")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        message = f"the file is binary or not UTF-8: odd byte at offset {error.start}"
        raise RefusedError("path_invalid", message) from error
    bom = _BOM if text.startswith(_BOM) else ""
    return FileText(tuple(_lines(text.removeprefix(bom))), bom)


def answer_texts(text: str) -> list[str]:
    """Return the lines of an edit without their ends."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def find_lines(texts: Sequence[str], search: Sequence[str]) -> list[int]:
    """Return every index where the searched lines stand, character for character."""
    if not search:
        return []
    last = len(texts) - len(search)
    return [at for at in range(last + 1) if texts[at] == search[0] and texts[at : at + len(search)] == search]


def splice(file: FileText, start: int, stop: int, new: Sequence[str]) -> FileText:
    """Put lines in the place of ``start`` to ``stop``; a line that stays the same keeps its own line end."""
    old = file.lines[start:stop]
    default = _common_end(old) or _common_end(file.lines) or "\n"
    lines = [line if line.end else replace(line, end=default) for line in _matched(old, new, default)]
    lacks_newline = bool(file.lines) and file.lines[-1].end == ""
    if lines and stop == len(file.lines) and lacks_newline:
        lines[-1] = replace(lines[-1], end="")
    return replace(file, lines=(*file.lines[:start], *lines, *file.lines[stop:]))


def _matched(old: Sequence[FileLine], new: Sequence[str], default: str) -> list[FileLine]:
    """Return the new lines, the unchanged ones with the ends they had."""
    if len({line.end for line in old if line.end}) <= 1:
        return [FileLine(text, default) for text in new]
    lines: list[FileLine] = []
    matcher = SequenceMatcher(None, [line.text for line in old], new, autojunk=False)
    for what, old_start, old_stop, new_start, new_stop in matcher.get_opcodes():
        if what == "equal":
            lines += old[old_start:old_stop]
        else:
            lines += [FileLine(text, default) for text in new[new_start:new_stop]]
    return lines


def _common_end(lines: Sequence[FileLine]) -> str:
    """Return the most frequent line end, the first seen on a tie; empty when there is none."""
    counted = Counter(line.end for line in lines if line.end)
    return counted.most_common(1)[0][0] if counted else ""


def _lines(text: str) -> list[FileLine]:
    parts = text.split("\n")
    lines = [FileLine(part[:-1], "\r\n") if part.endswith("\r") else FileLine(part, "\n") for part in parts[:-1]]
    return [*lines, FileLine(parts[-1], "")] if parts[-1] else lines
