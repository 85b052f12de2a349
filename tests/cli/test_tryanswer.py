"""What the engine would do with an answer: on a copy, with nothing left behind."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call, Called
from tests.gitkit import CASES, commit, fingerprint, git, make_repo

APPLYING = sorted(
    path for path in (CASES / "model_output").iterdir()
    if json.loads((path / "case.json").read_text("utf-8"))["expected"]["check"] == "apply_result"
)  # fmt: skip
FILE = "def page(number):\n    return number * 3\n\n\ndef last():\n    return 9\n"
RIGHT = (
    "shop.py\n```python\n<<<<<<< SEARCH\n    return number * 3\n=======\n    return number * 4\n>>>>>>> REPLACE\n```\n"
)


def tree_digest(folder: Path) -> str:
    done = subprocess.run([sys.executable, str(CASES / "digest.py"), str(folder)], capture_output=True, text=True)
    return done.stdout.split()[0]


def patched(repo: Path, patch: str, target: Path) -> Path:
    """Apply a shown diff to a fresh copy of the repository's files, with plain git."""
    shutil.copytree(repo, target, ignore=shutil.ignore_patterns(".git"), symlinks=True)
    if patch:
        subprocess.run(["git", "apply", "-"], cwd=target, input=patch.encode(), check=True)
    return target


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"shop.py": FILE, ".gitignore": "build/\n"})


def try_it(call: Call, repo: Path, text: str | bytes, *flags: str) -> Called:
    answer = repo.parent / "answer.txt"
    answer.write_bytes(text.encode() if isinstance(text, str) else text)
    return call("try-answer", str(repo), "--answer", str(answer), *flags)


@pytest.mark.parametrize("folder", APPLYING, ids=lambda path: path.name)
def test_the_failure_cases_of_answers(folder: Path, tmp_path: Path, call: Call) -> None:
    case = json.loads((folder / "case.json").read_text("utf-8"))
    before = {str(path.relative_to(folder / "before")): path.read_bytes()
              for path in (folder / "before").rglob("*") if path.is_file()}  # fmt: skip
    source = make_repo(tmp_path / "repo", before)
    wanted = case["inputs"]["edit_format"]
    edit_format = wanted if wanted in {"search_replace", "whole_file"} else "auto"
    tried = try_it(call, source, (folder / "reply.txt").read_bytes(), "--format", edit_format, "--json")
    said = tried.json
    tree = tree_digest(patched(source, said["diff"], tmp_path / "after"))
    outcome = "applied" if said["accepted"] else "rejected"
    allowed = [case["expected"]["value"], *case.get("also_ok", [])]
    assert {"outcome": outcome, "tree": tree} in allowed
    assert tried.code == (0 if said["accepted"] else 1)


def test_an_answer_that_applies_shows_edits_guards_and_the_diff(call: Call, repo: Path) -> None:
    tried = try_it(call, repo, RIGHT)
    assert tried.code == 0
    for words in ("edit 1: shop.py", "✓ ", "-    return number * 3", "+    return number * 4", "to the tests"):
        assert words in tried.out


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (RIGHT.replace("number * 3\n", "number * 5\n"), "search_missing"),
        (RIGHT.replace("number * 4", "number * 3"), "edit_noop"),
        (RIGHT.replace("shop.py", "nowhere.py"), "path_invalid"),
        ("build/new.py\n```python\nx = 1\n```\n", "edit_ignored_path"),
        ("I would change the page size.", "format_invalid"),
        ("", "format_invalid"),
    ],
    ids=lambda value: value if value.isidentifier() else "",
)
def test_what_is_refused_ends_with_1_and_its_label(text: str, label: str, call: Call, repo: Path) -> None:
    tried = try_it(call, repo, text)
    assert tried.code == 1
    assert label in tried.out
    said: dict[str, Any] = try_it(call, repo, text, "--json").json
    assert said["accepted"] is False
    assert said["diff"] == ""


def test_a_guard_can_refuse_what_applies(call: Call, repo: Path) -> None:
    commit(repo, {"tests/test_shop.py": "def test_page():\n    assert True\n"}, "tests")
    text = "tests/test_shop.py\n```python\ndef test_page():\n    assert 1\n```\n"
    tried = try_it(call, repo, text, "--json")
    assert tried.code == 1
    assert "tampered" in {row["label"] for row in tried.json["guards"] if row["status"] == "block"}
    assert tried.json["diff"]


def test_no_change_is_no_success(call: Call, repo: Path) -> None:
    tried = try_it(call, repo, "NO CHANGE: it works as described\n")
    assert tried.code == 1
    assert "it works as described" in tried.out


def test_a_nameless_block_is_taken_for_the_one_file_in_play(call: Call, repo: Path) -> None:
    nameless = RIGHT.removeprefix("shop.py\n")
    assert try_it(call, repo, nameless).code == 1
    assert try_it(call, repo, nameless, "--in-play", "shop.py").code == 0


def test_an_older_base_can_be_tried(call: Call, repo: Path) -> None:
    git(repo, "tag", "old")
    commit(repo, {"shop.py": FILE.replace("* 3", "* 7")}, "second")
    assert try_it(call, repo, RIGHT).code == 1
    assert try_it(call, repo, RIGHT, "--base", "old").code == 0


def test_the_repository_is_untouched_and_nothing_is_left(
    call: Call, repo: Path, home_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (repo / "shop.py").write_text("dirty\n", "utf-8")
    before = fingerprint(repo)
    assert try_it(call, repo, RIGHT).code == 0  # what is not committed takes no part
    assert fingerprint(repo) == before
    assert list(scratch.iterdir()) == []
    assert not home_root.exists()


def test_control_characters_in_an_answer_stay_harmless(call: Call, repo: Path) -> None:
    tried = try_it(call, repo, RIGHT.replace("number * 4", "number * 4  # \x1b[2J\u202e"))
    assert not set(tried.out) & {"\x1b", "\u202e"}


def test_wrong_input_ends_with_2_or_a_reason(call: Call, repo: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    missing = call("try-answer", str(repo), "--answer", str(tmp_path / "none"))
    assert (missing.code, "does not exist" in missing.err) == (2, True)
    binary = try_it(call, repo, b"\xff\xfe")
    assert (binary.code, "UTF-8" in binary.err) == (2, True)
    no_repository = try_it(call, repo, RIGHT, "--base", "nope")
    assert (no_repository.code, "no commit 'nope'" in no_repository.err) == (1, True)
    assert call("try-answer", str(plain), "--answer", str(repo / "shop.py")).code == 1
    assert call("try-answer", "https://example.com/a/b", "--answer", str(repo / "shop.py")).code == 2
