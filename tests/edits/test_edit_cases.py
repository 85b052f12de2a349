"""The failure cases of reading and applying answers, on real directories, with their exact digests."""

import hashlib
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from cockpit.edits.action import first_json_object
from cockpit.edits.apply import apply_edits
from cockpit.edits.model import Applied, Kind
from cockpit.edits.parse import parse_answer
from cockpit.edits.udiff import extract_diff, inspect_diff

CASES = Path(__file__).parents[1] / "cases"


def tree_digest(root: Path) -> str:
    spec = importlib.util.spec_from_file_location("case_digest", CASES / "digest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    digest: Callable[[Path], str] = module.tree_digest
    return digest(root)


class DiskTree:
    """A directory as an answer may see it: every file and link in it is tracked."""

    def __init__(self, root: Path, in_play: tuple[str, ...] = ()) -> None:
        self.root = root
        self.in_play = in_play

    def tracked(self) -> Collection[str]:
        found = [path for path in self.root.rglob("*") if path.is_symlink() or path.is_file()]
        return {path.relative_to(self.root).as_posix() for path in found if path.name != ".git"}

    def kind(self, path: str) -> Kind:
        place = self.root / path
        if any(part.is_symlink() for part in [place, *place.parents]):
            return "symlink"
        if place.is_dir():
            return "directory"
        return "file" if place.exists() else "missing"

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def is_ignored(self, path: str) -> bool:
        return path.startswith("ignored/")

    def write(self, applied: Applied) -> None:
        for file in applied.written:
            place = self.root / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.after)


def case(name: str) -> tuple[Path, dict[str, Any]]:
    folder = next(CASES.glob(f"*/{name}-*"))
    return folder, json.loads((folder / "case.json").read_text())


def handle(reply: str, edit_format: str, tree: DiskTree) -> tuple[str, Applied]:
    """Read, apply and write one reply; return the outcome in the words of the cases."""
    assert edit_format in ("search_replace", "whole_file")
    parsed = parse_answer(
        reply, edit_format="whole_file" if edit_format == "whole_file" else "search_replace", finish="stop"
    )
    assert parsed.problem_label == ""
    applied = apply_edits(parsed.edits, tree)
    assert bool(applied.written) != bool(applied.refusals)
    tree.write(applied)
    return ("rejected" if applied.refusals else "applied"), applied


@pytest.mark.parametrize(
    ("name", "label", "told"),
    [
        ("A01", "search_ambiguous", "SEARCH occurs 2 times, at lines 6, 11"),
        ("A03", "search_missing", "column 18: the file has U+0020 (space), SEARCH has the end of the line"),
        ("A05", "path_invalid", "names no tracked file"),
        ("A06", "search_missing", "column 15: the file has U+00A0 (no-break space), SEARCH has U+0020 (space)"),
        ("A12", "search_missing", "line 3 of SEARCH against line 3 of the file"),
        ("A10", "", ""),
    ],
)
def test_reply_leaves_exactly_the_expected_tree(tmp_path: Path, name: str, label: str, told: str) -> None:
    folder, facts = case(name)
    work = tmp_path / "work"
    shutil.copytree(folder / "before", work)
    reply = (folder / "reply.txt").read_bytes().decode()
    outcome, applied = handle(reply, facts["inputs"]["edit_format"], DiskTree(work))
    assert {"outcome": outcome, "tree": tree_digest(work)} == facts["expected"]["value"]
    assert [refusal.label for refusal in applied.refusals] == ([label] if label else [])
    assert all(told in refusal.reason for refusal in applied.refusals)


def test_case_a05_names_both_candidates(tmp_path: Path) -> None:
    folder, _ = case("A05")
    _, applied = handle((folder / "reply.txt").read_text(), "search_replace", DiskTree(folder / "before"))
    assert applied.refusals[0].hint == "tracked files of that name: app/admin/forms.py, app/public/forms.py"


def test_case_a12_shows_the_real_lines() -> None:
    folder, _ = case("A12")
    parsed = parse_answer((folder / "reply.txt").read_text(), edit_format="search_replace", finish="stop")
    (refusal,) = apply_edits(parsed.edits, DiskTree(folder / "before")).refusals
    assert refusal.hint.startswith("the nearest lines of the file are 1 to 5:\ndef ship(order):\n")
    assert '    reserve(order, "dock 3")\n' in refusal.hint


def test_case_a11_takes_the_first_object_only() -> None:
    folder, facts = case("A11")
    assert first_json_object((folder / "reply.txt").read_text()) == facts["expected"]["value"]


def test_case_a13_refuses_the_diff_before_git_sees_it(tmp_path: Path) -> None:
    folder, facts = case("A13")
    work = tmp_path / "work"
    shutil.copytree(folder / "before", work)
    found = extract_diff((folder / "reply.txt").read_text(), finish="stop")
    assert found.problem_label == ""
    refusals = inspect_diff(found.data, DiskTree(work))
    assert [refusal.label for refusal in refusals] == ["patch_inapplicable"]
    assert {"outcome": "rejected", "tree": tree_digest(work)} == facts["expected"]["value"]


def build(name: str, target: Path) -> Path:
    folder, _ = case(name)
    subprocess.run(["bash", str(folder / "build.sh"), str(target)], check=True, capture_output=True)
    return target


def test_case_b03_a_path_of_no_tracked_file_never_reaches_git(tmp_path: Path) -> None:
    _, facts = case("B03")
    out = build("B03", tmp_path / "b03")
    refusals = inspect_diff((out / "fix.patch").read_bytes(), DiskTree(out / "repo"))
    assert [(refusal.label, refusal.path) for refusal in refusals] == [("path_invalid", "rate.py")]
    assert refusals[0].hint == "tracked files of that name: services/billing/rate.py"
    sha256 = hashlib.sha256((out / facts["inputs"]["file"]).read_bytes()).hexdigest()
    assert {"outcome": "rejected", "sha256": sha256} == facts["expected"]["value"]


def test_case_b05_leaves_what_lies_behind_links_alone(tmp_path: Path) -> None:
    _, facts = case("B05")
    out = build("B05", tmp_path / "b05")
    outcome, applied = handle((out / "reply.txt").read_text(), "whole_file", DiskTree(out / "task"))
    assert outcome == "rejected"
    assert [(refusal.label, refusal.path) for refusal in applied.refusals] == [
        ("path_invalid", "docs/notes.md"),
        ("path_invalid", "docs/draft.md"),
    ]
    assert tree_digest(out / "outside") == facts["expected"]["value"]


def test_case_b13_changes_one_line_of_a_crlf_file(tmp_path: Path) -> None:
    _, facts = case("B13")
    out = build("B13", tmp_path / "b13")
    outcome, _ = handle((out / "reply.txt").read_text(), "whole_file", DiskTree(out / "task"))
    numstat = subprocess.run(
        ["git", "-C", str(out / "task"), "diff", "--numstat", "HEAD"], check=True, capture_output=True, text=True
    )
    added, deleted, _ = numstat.stdout.split("\t")
    assert {
        "outcome": outcome,
        "added": int(added),
        "deleted": int(deleted),
        "sha256": hashlib.sha256((out / "task" / facts["inputs"]["file"]).read_bytes()).hexdigest(),
    } == facts["expected"]["value"]
