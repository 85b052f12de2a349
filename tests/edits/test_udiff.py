"""Diffs from a model: taken out whole, checked before git sees them."""

import pytest

from cockpit.edits.model import MemoryTree
from cockpit.edits.udiff import ExtractedDiff, extract_diff, inspect_diff

DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n y\n"
TREE = MemoryTree({"a.py": b"x = 1\ny\n", "src/b.py": b"z\n"}, ignored=frozenset({"build"}), symlinks=frozenset({"ln"}))


@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        f"Here it is:\n\n{DIFF}",
        f"```diff\n{DIFF}```\nDone.",
        f"```\n{DIFF}\n```",
        f"````patch\n{DIFF}````",
        f"Run:\n```sh\nls\n```\n```diff\n{DIFF}```",
        f"<think>```diff\n--- a/q\n+++ b/q\n@@ -1 +1 @@\n-a\n+b\n```</think>\n```diff\n{DIFF}```",
        DIFF.replace("\n", "\r\n"),
    ],
)
def test_the_diff_of_an_answer_is_taken_out(text: str) -> None:
    assert extract_diff(text, finish="stop") == ExtractedDiff(DIFF.encode())


def test_several_fenced_diffs_become_one() -> None:
    other = DIFF.replace("a.py", "src/b.py")
    assert extract_diff(f"```diff\n{DIFF}```\nand\n```diff\n{other}```", finish="stop").data == (DIFF + other).encode()


def test_a_context_line_with_a_fence_stays_inside() -> None:
    diff = "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n ```sh\n-make\n+make all\n ```\n"
    assert extract_diff(f"````diff\n{diff}````", finish="stop").data == diff.encode()


@pytest.mark.parametrize(
    ("text", "finish", "label"),
    [
        (DIFF, "length", "gen_length"),
        (DIFF, "cut", "format_invalid"),
        (f"```diff\n{DIFF}", "stop", "format_invalid"),
        ("no diff", "stop", "format_invalid"),
        ("```python\nx\n```", "stop", "format_invalid"),
        ("", "stop", "format_invalid"),
    ],
)
def test_without_a_complete_diff_there_is_none(text: str, finish: str, label: str) -> None:
    found = extract_diff(text, finish=finish)
    assert (found.data, found.problem_label) == (b"", label)


def labels(diff: str) -> list[tuple[str, str]]:
    return [(refusal.label, refusal.path) for refusal in inspect_diff(diff.encode(), TREE)]


def test_a_sound_diff_passes() -> None:
    assert labels(DIFF) == []
    assert labels("--- /dev/null\n+++ b/new/c.py\n@@ -0,0 +1 @@\n+c\n") == []
    assert labels("--- a/src/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n") == []


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        (DIFF.replace("-1,2 +1,2", "-1,9 +1,11"), [("patch_inapplicable", "")]),
        (DIFF.replace("-1,2 +1,2", "-1,1 +1,1"), [("patch_inapplicable", "")]),
        (DIFF.replace("+x = 2", "+x = 1"), [("edit_noop", "a.py")]),
        (DIFF.replace("a.py", "b.py"), [("path_invalid", "b.py")]),
        (DIFF.replace("a/a.py", "a/../a.py").replace("b/a.py", "b/../a.py"), [("path_invalid", "../a.py")]),
        (DIFF.replace("a.py", ".git/config"), [("path_invalid", ".git/config")]),
        (DIFF.replace("a.py", "ln"), [("path_invalid", "ln")]),
        ("--- /dev/null\n+++ b/build/x\n@@ -0,0 +1 @@\n+c\n", [("edit_ignored_path", "build/x")]),
        ("", [("patch_inapplicable", "")]),
        ("hello\n", [("patch_inapplicable", "")]),
    ],
)
def test_what_git_would_pass_over_in_silence_is_refused(diff: str, expected: list[tuple[str, str]]) -> None:
    assert labels(diff) == expected
