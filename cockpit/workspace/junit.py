"""Counts the entries of a JUnit file without holding it in memory and without trusting what it may carry."""

import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

MOST_BYTES = 512 << 20


class JunitCounts(NamedTuple):
    """Distinct names, and all entries: a test that fails twice has two, tests of equal names share one name."""

    names: int
    entries: int
    bad_names: int
    bad_entries: int


def read_junit(path: Path) -> JunitCounts | None:
    """Count the entries of a file; None when it is absent, malformed, too large or carries a document type."""
    walk = _Walk()
    parser = expat.ParserCreate()
    parser.StartElementHandler = walk.start
    parser.StartDoctypeDeclHandler = walk.refuse
    stream = open_plain(path)
    if stream is None:
        return None
    with stream:
        try:
            parser.ParseFile(stream)
        except (OSError, expat.ExpatError, ValueError):
            return None
    return walk.counts()


def open_plain(path: Path) -> BinaryIO | None:
    """Open a file that a run has left; None when it is absent, a link, a pipe that would block, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


class _Walk:
    """Remembers of each entry its name and whether something is wrong with it."""

    def __init__(self) -> None:
        self._entries: list[tuple[tuple[str, str], bool]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            self._entries.append(((attributes.get("classname", ""), attributes.get("name", "")), False))
        elif tag in ("failure", "error") and self._entries:
            self._entries[-1] = (self._entries[-1][0], True)

    def refuse(self, *_: object) -> None:
        raise ValueError("a report has no document type")

    def counts(self) -> JunitCounts:
        bad = [name for name, is_bad in self._entries if is_bad]
        return JunitCounts(len({name for name, _ in self._entries}), len(self._entries), len(set(bad)), len(bad))
