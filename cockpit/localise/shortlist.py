"""Puts together the short list of files to look at: what the issue names first, then what reads like it."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cockpit.adapters.syntax import SUFFIXES
from cockpit.domain.errors import CockpitError
from cockpit.domain.outcomes import TEST_PATTERNS, VENDORED_PATTERNS, matches
from cockpit.localise.bm25 import Document, bm25
from cockpit.localise.mentions import Mentions, read_mentions
from cockpit.localise.outlines import outline_text
from cockpit.localise.words import count_wanted, count_words

MAX_BYTES = 512 * 1024
OUTLINE_LINES = 40
OTHER_SUFFIXES = frozenset(
    {"rb", "php", "cs", "swift", "kt", "scala", "lua", "sh", "pl", "vue", "svelte", "pyx", "ipp"}
)
SOURCE_SUFFIXES = frozenset(SUFFIXES) | OTHER_SUFFIXES
"""Searched by words; files with other suffixes are listed only when the issue names them."""

PATH_POINTS = 100.0
FRAME_POINTS = 90.0
MODULE_POINTS = 70.0
NAME_POINTS = 50.0
SYMBOL_POINTS = 40.0
WORD_POINTS = 20.0
"""The best BM25 score of a search is worth this much: whatever is named outranks what only reads alike."""
TEST_FACTOR = 0.3
COMMON = 5
"""A symbol defined in more files than this tells little, and its points are shared out."""
DEFINITION = re.compile(
    r"\b(?:def|class|func|fn|function|struct|interface|type|enum|trait|union|module|namespace|macro_rules!)"
    r"\s+(?:\([^)\n]*\)\s*)?([A-Za-z_]\w*)"
)


KEYWORDLESS = frozenset(
    {"c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "ipp", "java", "cs", "js", "jsx", "mjs", "ts", "tsx"}
)
"""Languages in which a function or a method is defined without a keyword."""


class FileSource(Protocol):
    """The files of one tree."""

    def paths(self) -> Sequence[str]:
        """Return every tracked path, relative, with forward slashes."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; raises OSError or CockpitError when it cannot be read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One file worth a look, and why."""

    path: str
    score: float
    reasons: tuple[str, ...]
    """The strongest first: ``named in the issue``, ``defines parse_rate``, ``words: rate, tax``."""
    outline: str


@dataclass(slots=True)
class _Tally:
    points: float = 0.0
    reasons: list[tuple[float, str]] = field(default_factory=list)

    def add(self, points: float, reason: str) -> None:
        self.points += points
        self.reasons.append((-points, reason))


def shortlist(issue: str, files: FileSource, limit: int = 10) -> tuple[Candidate, ...]:
    """Return at most ``limit`` files, best first; the same issue and files always give the same list."""
    mentions = read_mentions(issue)
    paths = [path for path in sorted(set(files.paths())) if not matches(path, VENDORED_PATTERNS)]
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    _score_names(mentions, paths, tallies)
    texts = _read_texts(paths, tallies, files)
    _score_symbols(mentions, texts, tallies)
    _score_words(issue, texts, tallies)
    named = {path for path, tally in tallies.items() if tally.points >= PATH_POINTS}
    ranked = sorted(
        ((_discount(path, tally.points, named), path) for path, tally in tallies.items() if tally.points > 0),
        key=lambda scored: (-scored[0], scored[1]),
    )
    return tuple(
        Candidate(
            path,
            round(score, 3),
            tuple(reason for _, reason in sorted(tallies[path].reasons)),
            outline_text(path, texts[path].encode("utf-8", "surrogateescape"), OUTLINE_LINES) if path in texts else "",
        )
        for score, path in ranked[:limit]
    )


def _discount(path: str, points: float, named: set[str]) -> float:
    is_test = matches(path, TEST_PATTERNS) and path not in named
    return points * TEST_FACTOR if is_test else points


def _score_names(mentions: Mentions, paths: Sequence[str], tallies: dict[str, _Tally]) -> None:
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_name[path.rpartition("/")[2]].append(path)
    for mention in mentions.paths:
        for path, is_whole in _meant(mention, by_name):
            tallies[path].add(PATH_POINTS if is_whole else NAME_POINTS, "named in the issue")
    for depth, frame in enumerate(reversed(mentions.frames)):
        for path, is_whole in _meant(frame.path, by_name):
            if is_whole:
                tallies[path].add(FRAME_POINTS / (1 + depth / 4), f"in the traceback, line {frame.line}")
    modules = _modules(paths)
    for dotted in mentions.modules:
        for path in _defining(dotted, modules):
            tallies[path].add(MODULE_POINTS, f"is the module of {dotted}")


def _meant(mention: str, by_name: dict[str, list[str]]) -> list[tuple[str, bool]]:
    """Return the paths a mention can mean, each with whether the mention says more than the file's name.

    The longest agreement counts: ``/home/me/project/shop/tax.py`` means ``shop/tax.py`` rather than ``lib/tax.py``.
    """
    parts = mention.split("/")
    shared = {path: _shared_tail(parts, path.split("/")) for path in by_name.get(parts[-1], ())}
    most = max(shared.values(), default=0)
    best = [path for path, length in shared.items() if length == most]
    is_whole = most > 1 or (len(best) == 1 and len(by_name[parts[-1]]) == 1)
    return [(path, is_whole or path == mention) for path in best[:COMMON]]


def _shared_tail(left: list[str], right: list[str]) -> int:
    length = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        length += 1
    return length


def _modules(paths: Sequence[str]) -> dict[str, str]:
    """Map dotted module names to paths; folders such as ``src`` are no part of a name."""
    found: dict[str, str] = {}
    for path in paths:
        if path.endswith(".py"):
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for folder in ("src.", "lib.", "python."):
                found.setdefault(name.removeprefix(folder), path)
    return found


def _defining(dotted: str, modules: dict[str, str]) -> list[str]:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = modules.get(".".join(parts[:length]))
        if path:
            return [path] if length > 1 or len(parts) == 2 else []
    return []


def _read_texts(paths: Sequence[str], tallies: dict[str, _Tally], files: FileSource) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in paths:
        if path not in tallies and path.rpartition(".")[2].lower() not in SOURCE_SUFFIXES:
            continue
        try:
            data = files.read(path)
        except (OSError, CockpitError):
            continue
        if len(data) <= MAX_BYTES and b"\0" not in data[:8192]:
            texts[path] = data.decode("utf-8", "surrogateescape")
    return texts


def _score_symbols(mentions: Mentions, texts: dict[str, str], tallies: dict[str, _Tally]) -> None:
    wanted = set(mentions.symbols)
    if not wanted:
        return
    bare = _bare_definitions(wanted)
    homes: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for name in sorted(wanted.intersection(_defined(path, text, bare))):
            homes[name].append(path)
    for name, where in sorted(homes.items()):
        for path in where:
            tallies[path].add(SYMBOL_POINTS / max(1.0, len(where) / COMMON * 2), f"defines {name}")


def _bare_definitions(names: set[str]) -> re.Pattern[str]:
    """Match a line that calls nothing but opens a definition: a name, its parameters, and no semicolon."""
    any_name = "|".join(sorted(map(re.escape, names)))
    refused = "return|if|else|while|for|switch|case|throw|await|new|do"
    return re.compile(rf"^(?!\s*(?:{refused})\b)[^\n=;(]*\b({any_name})\s*\([^;\n]*$", re.MULTILINE)


def _defined(path: str, text: str, bare: re.Pattern[str]) -> list[str]:
    found = DEFINITION.findall(text)
    if path.rpartition(".")[2].lower() in KEYWORDLESS:
        found += bare.findall(text)
    return found


def _score_words(issue: str, texts: dict[str, str], tallies: dict[str, _Tally]) -> None:
    query = count_words(issue)
    paths = sorted(texts)
    documents = [Document(*count_wanted(f"{path}\n{texts[path]}", query.keys())) for path in paths]
    scores = bm25(query, documents)
    best = max(scores, default=0.0)
    for path, document, score in zip(paths, documents, scores, strict=True):
        if score > 0:
            common = sorted(document.counts, key=lambda word: (-document.counts[word], word))[:3]
            tallies[path].add(WORD_POINTS * score / best, f"words: {', '.join(common)}")
