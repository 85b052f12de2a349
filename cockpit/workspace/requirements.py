"""Reads which Python packages a project wants for running and testing it, from every place that may name them."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cockpit.workspace.layout import read_pyproject, read_setup_cfg, read_text, table

TEST_NAMES = ("test", "tests", "testing")
FILE_NAME = re.compile(r"(?:(?:requirements|tests?|testing|dev)[-_.])?(?:requirements|dev|develop|tests?|testing)\.txt")
INCLUDE = re.compile(r"(?m)^\s*(?:-r|--requirement|-c|--constraint)[\s=]+(\S+)")


def has_build(checkout: Path) -> bool:
    """Tell whether the project can be installed itself."""
    if (checkout / "setup.py").is_file() or table(read_pyproject(checkout), "build-system"):
        return True
    return read_setup_cfg(checkout).has_section("metadata")


def test_extras(checkout: Path) -> list[str]:
    """Return the extras of an installable project that mean tests."""
    pyproject, setup_cfg = read_pyproject(checkout), read_setup_cfg(checkout)
    names = set(table(pyproject, "project", "optional-dependencies"))
    names |= set(table(pyproject, "tool", "poetry", "extras"))
    if setup_cfg.has_section("options.extras_require"):
        names |= set(setup_cfg.options("options.extras_require"))
    # pip only warns about an extra that does not exist, so reading setup.py as text is good enough
    names |= set(re.findall(r"""["'](test|tests|testing|dev)["']\s*:""", read_text(checkout / "setup.py")))
    return _chosen(names)


def plain_dependencies(checkout: Path) -> list[str]:
    """Return the dependencies and test extras of a project that cannot be installed itself."""
    project = table(read_pyproject(checkout), "project")
    optional = table(project, "optional-dependencies")
    extra = [line for name in _chosen(optional) for line in _strings(optional[name])]
    return [*_strings(project.get("dependencies")), *extra]


def test_groups(checkout: Path) -> list[str]:
    """Return the requirements of dependency groups that mean tests: PEP 735's and Poetry's."""
    pyproject = read_pyproject(checkout)
    groups = table(pyproject, "dependency-groups")
    found = [line for name in _chosen(groups) for line in _group(groups, name, frozenset())]
    poetry = table(pyproject, "tool", "poetry")
    named = {name: table(poetry, "group", name, "dependencies") for name in table(poetry, "group")}
    named.setdefault("dev", table(poetry, "dev-dependencies"))
    for name in _chosen(named):
        found += [_from_poetry(package, wanted) for package, wanted in named[name].items()]
    return [line for line in found if line]


def requirement_files(checkout: Path) -> list[str]:
    """Return the requirement files, at the top or in ``requirements/``, whose names speak of running or testing."""
    top = [path.name for path in checkout.glob("*requirements*.txt") if FILE_NAME.fullmatch(path.name)]
    below = [f"requirements/{path.name}" for path in checkout.glob("requirements/*.txt")]
    return sorted(top) + sorted(path for path in below if FILE_NAME.fullmatch(path.removeprefix("requirements/")))


def with_includes(checkout: Path, paths: Iterable[str]) -> set[str]:
    """Return requirement files together with those they include, as far as these lie in the checkout."""
    seen: set[str] = set()
    waiting = list(paths)
    inside = checkout.resolve()
    while waiting:
        path = waiting.pop()
        if path in seen or not (checkout / path).is_file():
            continue
        seen.add(path)
        targets = [(checkout / path).parent / name for name in INCLUDE.findall(read_text(checkout / path))]
        waiting += [
            target.resolve().relative_to(inside).as_posix()
            for target in targets
            if target.resolve().is_relative_to(inside)
        ]
    return seen


def _chosen(names: Iterable[str]) -> list[str]:
    """Return the names that mean tests; ``dev`` only when nothing else does, for it often holds far more."""
    known = set(names)
    return [name for name in TEST_NAMES if name in known] or [name for name in ("dev",) if name in known]


def _group(groups: dict[str, Any], name: str, seen: frozenset[str]) -> Iterator[str]:
    """Resolve included groups here: the pip of a fresh environment may be too old for ``--group``."""
    entries = groups.get(name)
    for entry in entries if isinstance(entries, list) and name not in seen else ():
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            yield from _group(groups, entry["include-group"], seen | {name})


def _from_poetry(package: str, wanted: object) -> str:
    """Translate one of Poetry's constraints loosely: carets and tildes keep their lower bound only."""
    version = wanted.get("version", "*") if isinstance(wanted, dict) else wanted
    is_foreign = isinstance(wanted, dict) and ({"git", "path", "url"} & wanted.keys() or wanted.get("optional"))
    if package == "python" or is_foreign or not isinstance(version, str):
        return ""
    version = re.sub(r"\^\s*|~(?!=)\s*", ">=", version.strip())
    if version in ("", "*"):
        return package
    return f"{package}=={version}" if version[0].isdigit() else f"{package}{version}"


def _strings(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
