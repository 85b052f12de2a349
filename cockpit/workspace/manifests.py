"""Plans how a project's dependencies are installed, by reading its manifests; runs and writes nothing."""

import hashlib
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cockpit.workspace.installed import compiled_digest
from cockpit.workspace.layout import iter_files, read_text
from cockpit.workspace.requirements import (
    has_build,
    plain_dependencies,
    requirement_files,
    test_extras,
    test_groups,
    with_includes,
)

FORMAT = "1"
"""Version of what an environment is; a change makes every cached one stale."""
PYTHON_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg")
OTHER_MANIFESTS = ("package.json", "package-lock.json", "npm-shrinkwrap.json", "Cargo.toml", "Cargo.lock", "go.mod")
TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """What has to be installed before a project's tests can run."""

    kind: Literal["python", "given", "none"]
    commands: tuple[tuple[str, ...], ...]
    """To run in order; ``{python}`` stands for the environment's interpreter, ``{project}`` for the copy."""
    manifests: tuple[str, ...]
    """Files that decide what is installed, relative to the checkout."""
    key: str
    """Name of the environment: same key, same content."""
    why: str
    interpreter: Path | None = None
    """What a virtual environment is made with; None when none is made."""


def plan_setup(checkout: Path, given: str | None, python: Path) -> SetupPlan:
    """Decide from the manifests alone how to set up the checkout; ``given`` is the operator's setup command."""
    marker = _python_marker(checkout)
    interpreter = python if marker else None
    manifests = _manifests(checkout)
    key = _key(checkout, manifests, given or "", interpreter)
    if given:
        commands = (("sh", "-c", given), *((_pip("pytest"),) if marker else ()))
        return SetupPlan("given", commands, manifests, key, "the setup command you gave", interpreter)
    if not marker:
        return SetupPlan("none", (), manifests, key, _why_nothing(checkout))
    return SetupPlan("python", (_install(checkout),), manifests, key, f"a Python project: {marker}", interpreter)


def _python_marker(checkout: Path) -> str:
    """Return the file that makes this a Python project; empty when it is none."""
    found = [name for name in PYTHON_MANIFESTS if (checkout / name).is_file()] or requirement_files(checkout)
    return found[0] if found else next((path for path in iter_files(checkout) if TEST_FILE.search(path)), "")


def _why_nothing(checkout: Path) -> str:
    if (checkout / "package.json").is_file():
        return "npm would install into the checkout: give --setup with a command that writes into $COCKPIT_ENV"
    if (checkout / "Cargo.toml").is_file() or (checkout / "go.mod").is_file():
        return "dependencies are resolved while the tests run, without a network: vendor them or give --setup"
    return "no manifest names a dependency"


def _install(checkout: Path) -> tuple[str, ...]:
    """Return one pip command, so that one resolution sees all wishes: project, extras, groups, files, pytest."""
    wanted = plain_dependencies(checkout)
    if has_build(checkout):
        extras = ",".join(test_extras(checkout))
        wanted = [f"{{project}}[{extras}]" if extras else "{project}"]
    wanted = list(dict.fromkeys([*wanted, *test_groups(checkout), "pytest"]))
    for path in requirement_files(checkout):
        wanted += ["-r", f"{{project}}/{path}"]
    return _pip(*wanted)


def _pip(*wanted: str) -> tuple[str, ...]:
    return ("{python}", "-m", "pip", "install", "--no-input", *wanted)


def _manifests(checkout: Path) -> tuple[str, ...]:
    named = {name for name in (*PYTHON_MANIFESTS, *OTHER_MANIFESTS) if (checkout / name).is_file()}
    return tuple(sorted(named | with_includes(checkout, requirement_files(checkout))))


def _key(checkout: Path, manifests: tuple[str, ...], given: str, python: Path | None) -> str:
    compiled = compiled_digest(checkout) if python else ""
    digest = hashlib.sha256(f"{FORMAT}\0{_version(python)}\0{given}\0{compiled}\0".encode())
    for path in manifests:
        content = read_text(checkout / path).encode()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _version(python: Path | None) -> str:
    """Name an interpreter without running it: the version of our own, the resolved path of another."""
    if python is None:
        return ""
    if python.resolve() == Path(sys.executable).resolve():
        return f"{platform.python_implementation()} {platform.python_version()}"
    return str(python.resolve())
