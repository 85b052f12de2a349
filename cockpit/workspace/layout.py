"""Reads how a checkout is laid out: which files it holds and where its importable code lies."""

import configparser
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SKIPPED_FOLDERS = frozenset({
    "node_modules", "venv", "env", "build", "dist", "target", "site-packages", "__pycache__", "vendor", "third_party",
})  # fmt: skip
NO_PROJECT_CODE = frozenset({
    "tests", "test", "testing", "docs", "doc", "examples", "example", "benchmarks", "conftest", "setup", "noxfile",
    "tasks", "fabfile", "versioneer",
})  # fmt: skip
"""Top-level names that are importable but not what a project ships."""
MOST_FILES = 50_000
MOST_BYTES = 4 << 20


def iter_files(checkout: Path) -> Iterator[str]:
    """Yield the paths of files relative to the checkout, in a fixed order, without hidden and vendored folders."""
    seen = 0
    for folder, folders, files in os.walk(checkout):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        relative = Path(folder).relative_to(checkout)
        for name in sorted(files):
            yield (relative / name).as_posix()
            seen += 1
        if seen > MOST_FILES:
            return


def read_pyproject(checkout: Path) -> dict[str, Any]:
    """Return ``pyproject.toml`` as a table; empty when it is absent or not valid TOML."""
    try:
        return tomllib.loads(read_text(checkout / "pyproject.toml"))
    except tomllib.TOMLDecodeError:
        return {}


def read_setup_cfg(checkout: Path) -> configparser.RawConfigParser:
    """Return ``setup.cfg``; without sections when it is absent or cannot be read."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(read_text(checkout / "setup.cfg"))
    except configparser.Error:
        return configparser.RawConfigParser()
    return parser


def read_text(path: Path) -> str:
    """Return a file's text (its first 4 MiB), wrong bytes replaced; empty when it cannot be read."""
    if not path.is_file():  # a link to a device would never end
        return ""
    try:
        with path.open("rb") as stream:
            return stream.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


def table(data: object, *keys: str) -> dict[str, Any]:
    """Walk nested tables of foreign data; empty when a step is missing or no table."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def source_roots(checkout: Path) -> tuple[str, ...]:
    """Return the folders that imports start from, relative to the checkout, best first; ``.`` always ends the list."""
    declared = [*_declared_in_pyproject(read_pyproject(checkout)), *_declared_in_setup_cfg(read_setup_cfg(checkout))]
    if not (checkout / "src" / "__init__.py").exists():
        declared.append("src")
    inside = [root for root in declared if _holds_code(checkout, root)]
    return tuple(dict.fromkeys([*inside, "."]))


def project_modules(checkout: Path) -> tuple[str, ...]:
    """Return the names of the project's own top-level packages and modules.

    Names of the standard library are left out: the interpreter has those loaded before a test starts.
    """
    roots = source_roots(checkout)
    chosen = roots[:-1] or roots
    names = {name for root in chosen for name in _importable(checkout / root, is_root=root == ".")}
    return tuple(sorted(names - sys.stdlib_module_names - NO_PROJECT_CODE))


def _declared_in_pyproject(data: dict[str, Any]) -> list[str]:
    setuptools = table(data, "tool", "setuptools")
    found: list[Any] = [table(setuptools, "package-dir").get("")]
    where = table(setuptools, "packages", "find").get("where")
    found += where if isinstance(where, list) else []
    packages = table(data, "tool", "poetry").get("packages")
    found += [entry.get("from") for entry in packages or () if isinstance(entry, dict)]
    return [root for root in found if isinstance(root, str)]


def _declared_in_setup_cfg(parser: configparser.RawConfigParser) -> list[str]:
    found = [parser.get("options.packages.find", "where", fallback="").strip()]
    for line in parser.get("options", "package_dir", fallback="").splitlines():
        name, _, folder = line.partition("=")
        if not name.strip() and folder:
            found.append(folder.strip())
    return found


def _holds_code(checkout: Path, root: str) -> bool:
    if not root or os.path.normpath(root) == "." or Path(root).is_absolute() or ".." in Path(root).parts:
        return False
    return bool(_importable(checkout / root, is_root=False))


def _importable(folder: Path, *, is_root: bool) -> set[str]:
    """Return importable names; at the top of a checkout a folder counts only with its ``__init__.py``."""
    if not folder.is_dir():
        return set()
    names = {path.stem for path in folder.glob("*.py") if not path.stem.startswith(("test_", "__"))}
    for path in folder.iterdir():
        if path.is_dir() and ((path / "__init__.py").exists() or (not is_root and any(path.glob("*.py")))):
            names.add(path.name)
    return {name for name in names if name.isidentifier()}
