"""Narrows a run of pytest to the tests that a few touched files concern, by name and by import."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cockpit.domain.testing import Runner
from cockpit.workspace.layout import iter_files, read_text, source_roots
from cockpit.workspace.manifests import TEST_FILE
from cockpit.workspace.testplan import TestPlan

MOST_FILES = 20
"""More test files than this are no quick answer: the full set is run at once."""
OPTIONS_WITH_VALUE = frozenset({
    "-c", "-k", "-m", "-o", "-p", "-r", "-W", "-n", "--basetemp", "--capture", "--config-file", "--confcutdir", "--cov",
    "--deselect", "--durations", "--ignore", "--ignore-glob", "--import-mode", "--junit-xml", "--log-level",
    "--maxfail", "--override-ini", "--rootdir", "--tb", "--timeout",
})  # fmt: skip


def select(plan: TestPlan, paths: Sequence[str], *, checkout: Path) -> TestPlan | None:
    """Return the plan for the tests that touched paths concern; None when it cannot be narrowed."""
    if plan.runner is not Runner.PYTEST:
        return None
    tests = [path for path in iter_files(checkout) if TEST_FILE.search(path)]
    start = plan.argv.index("pytest") + 1
    options, places = _split(checkout, plan.argv[start:])
    inside = [path for path in tests if not places or any(_lies_in(path, place) for place in places)]
    chosen = [path for path in inside if path in paths or _concerns(checkout, path, paths)]
    if not chosen or len(chosen) > MOST_FILES or len(chosen) == len(inside):
        return None
    argv = (*plan.argv[:start], *options, *chosen)
    return replace(plan, argv=argv, why=f"{len(chosen)} test files concern what was touched")


def _split(checkout: Path, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part pytest's arguments into options and the places they name."""
    options: list[str] = []
    places: list[str] = []
    for before, word in zip(("", *arguments), arguments, strict=False):
        is_place = not word.startswith("-") and before not in OPTIONS_WITH_VALUE
        is_place = is_place and (checkout / word.partition("::")[0]).exists()
        (places if is_place else options).append(word)
    return options, places


def _lies_in(path: str, place: str) -> bool:
    return PurePosixPath(path).is_relative_to(place.partition("::")[0])


def _concerns(checkout: Path, test: str, paths: Iterable[str]) -> bool:
    text = read_text(checkout / test)
    name = PurePosixPath(test).stem.removeprefix("test_").removesuffix("_test")
    for path in paths:
        if not path.endswith(".py"):
            continue
        module = _module(checkout, path)
        parent, _, last = module.rpartition(".")
        if name == last or _imports(text, module, parent, last):
            return True
    return False


def _module(checkout: Path, path: str) -> str:
    """Return the dotted name a file is imported by."""
    for root in source_roots(checkout):
        if PurePosixPath(path).is_relative_to(root):
            path = PurePosixPath(path).relative_to(root).as_posix()
            break
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(text: str, module: str, parent: str, last: str) -> bool:
    pattern = rf"(?m)^\s*(?:import\s+{re.escape(module)}\b|from\s+{re.escape(module)}\s+import\b)"
    if re.search(pattern, text):
        return True
    named = rf"(?m)^\s*from\s+{re.escape(parent)}\s+import\s+(?:\([^)]*|[^\n]*)\b{re.escape(last)}\b"
    return bool(parent) and re.search(named, text) is not None
