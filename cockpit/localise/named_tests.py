"""Finds the tests an issue names, among those that are known to exist."""

import re
from collections import defaultdict
from collections.abc import Collection

from cockpit.localise.mentions import MAX_TEXT

ID = re.compile(r"(?<![\w./\\-])[\w./\\-]+\.\w+(?:::[\w.-]+)+(?:\[[^\]\n]*\])?")
NAME = re.compile(r"(?<![\w/])(?:(\w+)(?:::|\.))?(test\w*|\w+_test)\b(?![/.]\w)")


def named_tests(issue: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Return known ids that the issue names: whole ids, or bare names that only one test bears.

    A parametrised test named without parameters means all its variants.
    """
    variants: dict[str, list[str]] = defaultdict(list)
    for known in known_ids:
        variants[_plain(known)].append(known)
    found: set[str] = set()
    issue = issue[:MAX_TEXT]
    for written in ID.findall(issue):
        name = written.replace("\\", "/").removeprefix("./").rstrip(".")
        found.update([name] if name in known_ids else variants.get(name, ()))
    for owner, name in NAME.findall(ID.sub(" ", issue)):
        bearers = _bearers(owner, name, variants)
        if len(bearers) == 1:
            found.update(variants[bearers[0]])
    return tuple(sorted(found))


def _plain(test_id: str) -> str:
    return test_id.partition("[")[0]


def _bearers(owner: str, name: str, variants: Collection[str]) -> list[str]:
    ends = f"::{owner}::{name}" if owner and any(f"::{owner}::" in known for known in variants) else f"::{name}"
    return [known for known in variants if known.endswith(ends)]
