"""Builds one real environment with pytest for all tests of this folder: pip needs seconds, a venv too."""

import asyncio
import dataclasses
import itertools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, probe
from cockpit.domain.testing import RunReport
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.environment import Environment, plan_setup, prepare_environment
from cockpit.workspace.testplan import plan_tests
from cockpit.workspace.testrun import run_tests
from cockpit.workspace.worktree import add_worktree
from tests.gitkit import Task, git

SETTINGS = SandboxSettings.model_validate({"setup_s": 280})
LEVELS = [Level.PLAIN, *([Level.BUBBLEWRAP] if probe().level is Level.BUBBLEWRAP else [])]
LIBRARY = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"
[project]
name = "depot"
version = "3.1"
dependencies = ["iniconfig"]
[project.optional-dependencies]
docs = ["a-package-that-exists-nowhere"]
[project.scripts]
depot = "depot:main"
[dependency-groups]
test = [{include-group = "parallel"}]
parallel = ["pytest-xdist"]
""",
    "setup.py": """
from pathlib import Path
from setuptools import setup
from setuptools.command.build_py import build_py


class Build(build_py):
    def run(self):
        super().run()
        Path(self.build_lib, "depot", "_version.py").write_text("VERSION = '3.1 built'")


setup(cmdclass={"build_py": Build}, packages=["depot"], package_dir={"": "src"})
""",
    "requirements-test.txt": "-e .\n",
    "src/depot/__init__.py": "from depot._version import VERSION\n\n\ndef main():\n    print('at the base', VERSION)\n",
    "tests/test_depot.py": """
import importlib.metadata
import subprocess

import depot


def test_version():
    assert depot.VERSION == "3.1 built"
    assert importlib.metadata.version("depot") == "3.1"


def test_script():
    out = subprocess.run(["depot"], capture_output=True, text=True, check=True).stdout
    assert out == "at the base 3.1 built\\n"
""",
}
"""A library with a build that generates a module, an entry point, extras, groups and an editable requirement."""

Run = Callable[..., Awaitable[RunReport]]


@pytest.fixture(scope="session")
def envs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of environments that all tests share."""
    return tmp_path_factory.mktemp("envs")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the library."""
    folder = tmp_path_factory.mktemp("library")
    for name, text in LIBRARY.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def library_files() -> dict[str, str]:
    """What the library's checkout holds."""
    return LIBRARY


@pytest.fixture(scope="session")
def library_environment(envs: Path, library: Path) -> Environment:
    """The library's environment; it has pytest and pytest-xdist."""
    plan = plan_setup(library, None, Path(sys.executable))
    log = envs / "library.log"
    return asyncio.run(
        prepare_environment(
            plan, checkout=library, envs=envs, level=probe().level, network=True, settings=SETTINGS, log=log
        )
    )


@pytest.fixture(scope="session")
def environment(library_environment: Environment) -> Environment:
    """An environment with pytest for projects that install nothing of their own."""
    return dataclasses.replace(library_environment, modules=(), roots=())


@pytest.fixture
def run_in(tmp_path: Path, environment: Environment) -> Run:
    """Run a test command on a fresh checkout of what a task's worktree or tree holds."""

    numbers = itertools.count(1)

    async def run_in(
        task: Task,
        command: str | None = "pytest",
        *,
        tree: str | None = None,
        level: Level | None = None,
        wall_s: float = 120,
        using: Environment | None = None,
    ) -> RunReport:
        number = next(numbers)
        checkout = tmp_path / f"checkout-{number}"
        tree = tree or task.base.tree
        add_worktree(task.repo_git, checkout, tree)
        used = using or environment
        return await run_tests(
            plan_tests(checkout, command, used),
            used,
            repo_git=task.repo_git,
            checkout=checkout,
            tree=tree,
            level=level or LEVELS[-1],
            settings=SETTINGS,
            wall_s=wall_s,
            log=tmp_path / "logs" / f"{number}.log",
        )

    return run_in


def tree_of(task: Task) -> str:
    """Write what stands in a task's worktree as a tree of its repository."""
    git(task.worktree, "add", "-A", "-f")
    return git(task.worktree, "write-tree")
