"""What is handed out: the tracked files, and the wheel that is built of them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.readme import ROOT

LONGEST = 400
"""Lines of a module; longer ones hold a second noun."""

# Written in two parts each, so that this file does not hold what it looks for.
MACHINE = re.compile(rf"(?<![\w.$~}}])/(?:{'wo'}rk|{'ro'}ot|{'op'}t/pypi)\b")
REGISTRY = re.compile(rf"{'files.python'}hosted|{'regis'}try\.npmjs|{'proxy.go'}lang|{'deb.de'}bian")


def tracked() -> list[Path]:
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / os.fsdecode(name) for name in out.split(b"\0") if name and not name.startswith(b"tests/cases/")]


def test_no_tracked_file_names_a_machine_or_a_registry_host() -> None:
    found = []
    for path in tracked():
        text = path.read_text("utf-8", "replace") if path.is_file() else ""
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in MACHINE.finditer(text)]
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in REGISTRY.finditer(text)]
    assert not found


def test_no_module_is_longer_than_one_noun_needs() -> None:
    modules = sorted((ROOT / "cockpit").rglob("*.py"))
    assert modules
    assert not [str(path) for path in modules if len(path.read_text("utf-8").splitlines()) > LONGEST]


def test_the_licence_is_there_and_named() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert project["license-files"] == ["LICENSE"]


def test_nothing_below_the_screens_loads_a_screen_library() -> None:
    names = ", ".join(all_modules())
    # httpx loads rich for a command line of its own where both are installed; that part of it is held back.
    code = f"""
import sys
sys.modules["httpx._main"] = None
import {names}
print(sorted({{"textual", "rich", "widgets"}} & sys.modules.keys()))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "[]\n"


def all_modules() -> list[str]:
    """Return every module that can be imported without running something, screens left out."""
    paths = sorted((ROOT / "cockpit").rglob("*.py"))
    names = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    dotted = [".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in names]
    return [name for name in dotted if not name.startswith(("cockpit.ui", "cockpit.__main__", "cockpit.evals"))]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of the tracked files, built once: pip fetches the build backend."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for path in tracked():
        if path.is_file():
            target = tree / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(tree)]
    ended = subprocess.run(argv, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    (built,) = out.glob("llama_cockpit-*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_package_with_its_data(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    ours = {path.relative_to(ROOT).as_posix() for path in tracked() if path.is_relative_to(ROOT / "cockpit")}
    assert ours <= names
    assert any(re.fullmatch(r"cockpit/roles/prompts/\w+\.md", name) for name in names)
    assert any(name.startswith("cockpit/cli/demo_files/issues/") for name in names)
    assert any(name.startswith("cockpit/cli/demo_files/repository/tests/") for name in names)


def test_the_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    (info,) = tops - {"cockpit"}
    assert info.endswith(".dist-info")
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_the_wheel_names_command_and_extras(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist()} - {"cockpit"}
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert {"local", "demo-model"} <= set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))
    assert "cockpit = cockpit.cli.main:main" in wheel.read(f"{info}/entry_points.txt").decode()
