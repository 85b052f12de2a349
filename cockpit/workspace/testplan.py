"""Decides which command tests a checkout and how its results can be read."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.domain.errors import CockpitError, UsageError
from cockpit.domain.testing import Runner
from cockpit.workspace.environment import Environment
from cockpit.workspace.layout import iter_files, read_pyproject, read_setup_cfg, read_text, table
from cockpit.workspace.manifests import TEST_FILE

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
INTERPRETER = re.compile(r"python(?:3(?:\.\d+)?)?")
PYTEST_NAMES = frozenset({"pytest", "py.test"})
WRAPPERS = (("poetry", "run"), ("uv", "run"), ("pdm", "run"), ("pipenv", "run"))
"""Heads that only choose an environment: ours is used instead."""
NPM_PLACEHOLDER = "no test specified"
OPTIONS_WITH_VALUE = frozenset({"-W", "-X"})


@dataclass(frozen=True, slots=True)
class TestPlan:
    """One test command, ready to run."""

    __test__ = False  # keeps pytest from collecting this class

    argv: tuple[str, ...]
    runner: Runner
    why: str
    shown: str
    """The command as a person would type it."""
    variables: tuple[tuple[str, str], ...] = ()
    """Assignments that stood in front of the command."""


def plan_tests(checkout: Path, given: str | None, environment: Environment) -> TestPlan:
    """Read the operator's test command, or find one in the checkout.

    ``python`` and ``pytest`` at the head mean the environment's own. Raises ``CockpitError`` (``env_broken``) when
    no tests are found, ``UsageError`` when the given command has an open quotation.
    """
    if given is not None and given.strip():
        return _read_given(checkout, given.strip(), environment)
    found = _detect(checkout, environment)
    if found is None:
        raise CockpitError(f"no tests found in {checkout}", hint="name the command with --test '…'", label="env_broken")
    return found


def has_shell_syntax(command: str) -> bool:
    """Tell whether a command needs a shell: pipes, lists, redirections, substitutions outside quotation marks."""
    quote = ""
    is_escaped = False
    for character in command:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        elif (character in "$`" and quote != "'") or (character in "|&;<>()\n" and not quote):
            return True
    return False


def _read_given(checkout: Path, given: str, environment: Environment) -> TestPlan:
    if has_shell_syntax(given):
        return TestPlan(("sh", "-c", given), Runner.EXIT_CODE, "the command you gave, through a shell", given)
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise UsageError(f"the test command cannot be read: {error}: {given}", hint="close the quotation") from error
    variables = []
    while words and (found := ASSIGNMENT.fullmatch(words[0])):
        variables.append((found[1], found[2]))
        words = words[1:]
    words = [part for word in words for part in _expand(checkout, word)]
    options = _pytest_arguments(words)
    python = str(environment.python or "python3")
    if options is not None:
        interpreter_options, rest = options
        argv = (python, *interpreter_options, "-m", "pytest", *rest)
        return TestPlan(argv, Runner.PYTEST, "the command you gave", given, tuple(variables))
    if words and INTERPRETER.fullmatch(words[0]):
        words[0] = python
    if not words:
        raise UsageError(f"the test command runs nothing: {given}", hint="name a program with --test '…'")
    return TestPlan(tuple(words), Runner.EXIT_CODE, "the command you gave", given, tuple(variables))


def _expand(checkout: Path, word: str) -> list[str]:
    """Expand a pattern of file names as a shell does: a pattern that matches nothing stays as it is."""
    if not {"*", "?"} & set(word) or word.startswith(("-", "/")) or "::" in word:
        return [word]
    try:
        return sorted(path.relative_to(checkout).as_posix() for path in checkout.glob(word)) or [word]
    except (ValueError, NotImplementedError):
        return [word]


def _pytest_arguments(words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return the interpreter's options and pytest's arguments; None when the command is not pytest."""
    for wrapper in WRAPPERS:
        if tuple(words[:2]) == wrapper:
            return _pytest_arguments(words[2:])
    if words and words[0] in PYTEST_NAMES:
        return [], list(words[1:])
    if not words or not INTERPRETER.fullmatch(words[0]):
        return None
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 2 if words[at] in OPTIONS_WITH_VALUE else 1
    if words[at : at + 1] == ["-m"] and len(words) > at + 1 and words[at + 1] in PYTEST_NAMES:
        return list(words[1:at]), list(words[at + 2 :])
    return None


def _detect(checkout: Path, environment: Environment) -> TestPlan | None:
    if environment.python and (why := _pytest_reason(checkout)):
        argv = (str(environment.python), "-m", "pytest")
        return TestPlan(argv, Runner.PYTEST, why, "python -m pytest")
    choices: tuple[tuple[bool, tuple[str, ...], str], ...] = (
        (_has_npm_test(checkout), ("npm", "test"), "package.json has a test script"),
        ((checkout / "Cargo.toml").is_file(), ("cargo", "test"), "a Cargo project"),
        ((checkout / "go.mod").is_file(), ("go", "test", "./..."), "a Go module"),
        (
            bool(re.search(r"(?m)^test\s*:(?!=)", _makefile(checkout))),
            ("make", "test"),
            "the Makefile has a test target",
        ),
    )
    for applies, words, why in choices:
        if applies:
            return TestPlan(words, Runner.EXIT_CODE, why, " ".join(words))
    return None


def _pytest_reason(checkout: Path) -> str:
    """Say why this is a project for pytest; empty when nothing says so."""
    if found := next((path for path in iter_files(checkout) if TEST_FILE.search(path)), ""):
        return f"there are tests for pytest, for example {found}"
    return "pytest is configured here" if pytest_config_text(checkout) else ""


def pytest_config_text(checkout: Path) -> str:
    """Return what configures pytest here, as text; empty when nothing does."""
    parts = [read_text(checkout / name) for name in ("pytest.ini", ".pytest.ini", "pytest.toml")]
    tool = table(read_pyproject(checkout), "tool", "pytest")
    parts.append(json.dumps(tool, default=str) if tool else "")
    setup_cfg = read_setup_cfg(checkout)
    parts.append(str(setup_cfg.items("tool:pytest")) if setup_cfg.has_section("tool:pytest") else "")
    tox = read_text(checkout / "tox.ini")
    parts.append(tox if re.search(r"(?m)^\[pytest\]", tox) else "")
    return os.linesep.join(part for part in parts if part)


def _has_npm_test(checkout: Path) -> bool:
    try:
        package: Any = json.loads(read_text(checkout / "package.json"))
    except ValueError:
        return False
    script = table(package, "scripts").get("test")
    return isinstance(script, str) and bool(script.strip()) and NPM_PLACEHOLDER not in script


def _makefile(checkout: Path) -> str:
    return next((text for name in ("GNUmakefile", "makefile", "Makefile") if (text := read_text(checkout / name))), "")
