"""Makes real repositories for tests, with git settings of its own."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.workspace.repository import Base, create_task_repository, inspect_source
from cockpit.workspace.worktree import add_worktree

CASES = Path(__file__).parent / "cases"
WHO = {"NAME": "Tess", "EMAIL": "tess@example.invalid", "DATE": "2001-02-03T04:05:06 +0000"}
ENV = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
    **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()},
}


def git(folder: Path, *args: str) -> str:
    """Run plain git as a user would, and return its output without the last line end."""
    done = subprocess.run(["git", *args], cwd=folder, env=ENV, capture_output=True, check=True)
    return os.fsdecode(done.stdout).removesuffix("\n")


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def make_repo(path: Path, files: Mapping[str, str | bytes], *options: str) -> Path:
    """Make a repository with one commit that holds these files."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", *options)
    return commit(path, files, "first")


def commit(path: Path, files: Mapping[str, str | bytes], message: str) -> Path:
    """Commit these files on top of what is there."""
    write(path, files)
    git(path, "add", "-A", "-f")
    git(path, "commit", "-q", "--allow-empty", "-m", message)
    return path


@dataclass(frozen=True, slots=True)
class Task:
    """A task's repository and worktree, made the way the engine makes them."""

    source: Path
    base: Base
    repo_git: Path
    worktree: Path


def make_task(tmp_path: Path, source: Path, name: str = "task") -> Task:
    """Prepare a task on a source repository."""
    base = inspect_source(source)
    repo_git, worktree = tmp_path / name / "repo.git", tmp_path / f"{name}-1"
    repo_git.parent.mkdir()
    create_task_repository(source, base, repo_git)
    add_worktree(repo_git, worktree, base.tree)
    return Task(source, base, repo_git, worktree)


def build_case(area: str, name: str, target: Path) -> dict[str, Any]:
    """Build a failure case in ``target`` and return its ``case.json``."""
    folder = next((CASES / area).glob(f"{name}-*"))
    case: dict[str, Any] = json.loads((folder / "case.json").read_text("utf-8"))
    if case["build"]:
        program = sys.executable if case["build"].endswith(".py") else "bash"
        subprocess.run([program, str(folder / case["build"]), str(target)], check=True, capture_output=True)
    return case


def fingerprint(folder: Path, *left_out: str) -> dict[str, str]:
    """Describe every file, link and folder below a folder: mode and content; prefixes in ``left_out`` do not count."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith(left_out):
            continue
        kind = oct(path.lstat().st_mode)
        if path.is_symlink():
            found[name] = f"{kind} -> {path.readlink()}"
        elif path.is_file():
            found[name] = f"{kind} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        else:
            found[name] = kind
    return found
