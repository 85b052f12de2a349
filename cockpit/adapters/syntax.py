"""Parses source text with tree-sitter: syntax errors and outlines, in bounded time, without running anything."""

import importlib
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cockpit.adapters.symbols import Symbol, read_symbols
from cockpit.domain.evidence import ChangeKind, FileChange, SyntaxDelta

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

__all__ = ["Symbol", "SyntaxDelta", "language_of", "outline", "parse_errors", "syntax_deltas"]

LINKS = (ChangeKind.SYMLINK, ChangeKind.SUBMODULE, ChangeKind.LFS_POINTER)
"""Their bytes are an address, not source text."""
MAX_BYTES = 2 * 1024 * 1024
"""Larger files are not parsed: they are data, and error recovery on them takes seconds."""
MAX_COMPILED_BYTES = 512 * 1024
MAX_ERRORS = 1000
PARSE_S = 5.0
"""Error recovery can be quadratic: 50 kB of ``if(a)else `` were not parsed as C within 3 s (measured)."""
CHUNK = 64 * 1024

GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}
SUFFIXES = {
    "py": "python", "pyi": "python", "pyw": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript",
    "cjs": "javascript", "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx", "go": "go",
    "rs": "rust", "java": "java", "c": "c", "h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp",
    "hh": "cpp", "hxx": "cpp",
}  # fmt: skip
"""A header is read as C++, whose grammar takes nearly all of C."""

UNCERTAIN = ("f-string", "invalid syntax", "expected '('", "multiple exception types must be parenthesized")
"""What this interpreter says of syntax that a newer one knows; only believed when tree-sitter objects too."""
_warnings_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """One place that does not parse."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def language_of(path: str) -> str | None:
    """Return the language of a path by its suffix, or None."""
    name = path.rpartition("/")[2]
    return SUFFIXES.get(name.rpartition(".")[2].lower()) if "." in name else None


def parse_errors(path: str, source: bytes) -> tuple[str | None, int, str]:
    """Return (language, number of errors, first error with its line).

    The language is None when it is not known, or when the file is too large or too hard to parse.
    """
    faults = _faults(path, source)
    if faults is None:
        return None, 0, ""
    return language_of(path), len(faults), str(faults[0]) if faults else ""


def outline(path: str, source: bytes) -> tuple[Symbol, ...]:
    """Return the definitions of a file in order; empty when its language is not known or parsing takes too long."""
    language = language_of(path)
    tree = _parse(language, source) if language else None
    return read_symbols(tree.root_node, language) if tree and language else ()


def syntax_deltas(changes: Sequence[FileChange]) -> tuple[SyntaxDelta, ...]:
    """Compare the syntax errors of each changed file before and after; files that cannot be parsed are left out."""
    return tuple(delta for change in changes if (delta := _delta(change)))


def _delta(change: FileChange) -> SyntaxDelta | None:
    language = language_of(change.path)
    is_readable = change.new is not None and (change.old is not None or change.is_new) and not change.is_deleted
    if language is None or not is_readable or change.kind in LINKS:
        return None
    after = _faults(change.path, change.new or b"")
    before = _faults(change.old_path or change.path, change.old) if change.old is not None else []
    if after is None or before is None:
        return None
    known = Counter(fault.text for fault in before)
    fresh = [fault for fault in after if _is_fresh(fault, known)]
    return SyntaxDelta(change.path, language, len(before), len(after), str(fresh[0]) if fresh else "")


def _is_fresh(fault: SyntaxFault, known: Counter[str]) -> bool:
    known[fault.text] -= 1
    return known[fault.text] < 0


def _faults(path: str, source: bytes) -> list[SyntaxFault] | None:
    language = language_of(path)
    tree = _parse(language, source) if language else None
    if tree is None:
        return None
    found = list(_tree_faults(tree))
    if language == "python":
        spoken = _compile_fault(source)
        if spoken and (found or not spoken.text.startswith(UNCERTAIN)):
            return [spoken, *found]
    return found


def _parse(language: str, source: bytes) -> "Tree | None":
    """Parse, or return None when the file is too large or the time is used up."""
    if len(source) > MAX_BYTES:
        return None
    from tree_sitter import Parser  # imported late: only what looks at code pays for the parser

    deadline = time.monotonic() + PARSE_S
    parser = Parser(_grammar(language))
    try:
        return parser.parse(
            lambda offset, _point: source[offset : offset + CHUNK],
            progress_callback=lambda _offset, _has_error: time.monotonic() > deadline,
        )
    except ValueError:  # how the binding reports a parse that was stopped
        return None


@cache
def _grammar(language: str) -> "Language":
    from tree_sitter import Language

    module, function = GRAMMARS[language]
    return Language(getattr(importlib.import_module(module), function)())


def _tree_faults(tree: "Tree") -> Iterator[SyntaxFault]:
    """Walk with a cursor: a hostile file nests deeper than any call stack."""
    cursor = tree.walk()
    count = 0
    while count < MAX_ERRORS:
        node = cursor.node
        if node is not None and (node.is_error or node.is_missing):
            count += 1
            yield SyntaxFault(node.start_point.row + 1, _describe(node))
        if node is not None and node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _describe(node: "Node") -> str:
    if node.is_missing:
        return f"missing {node.type}"
    lines = (node.text or b"").decode("utf-8", "replace").strip().splitlines()
    return f"unexpected {lines[0][:60]!r}" if lines else "unexpected text"


def _compile_fault(source: bytes) -> SyntaxFault | None:
    """Ask this interpreter's compiler, which knows indentation and its own words for a fault; nothing is executed."""
    if len(source) > MAX_COMPILED_BYTES:
        return None
    with _warnings_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<patch>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return SyntaxFault(error.lineno or 1, str(error.msg))
        except (ValueError, MemoryError, RecursionError, OverflowError):
            return None  # null bytes, or nested deeper than the compiler goes: tree-sitter has the word
    return None
