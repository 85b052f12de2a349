import hashlib
import re
from contextlib import suppress
from pathlib import Path

import pytest

from cockpit.domain.errors import GitError
from cockpit.workspace.apply import apply_patch_file
from tests.gitkit import CASES, Task, build_case, fingerprint, git, make_repo, make_task, write


@pytest.fixture
def task(tmp_path: Path) -> Task:
    files = {"a.txt": "1\n2\n3\n4\n5\n", "sub/b.txt": "b\n", ".gitignore": "build/\n"}
    return make_task(tmp_path, make_repo(tmp_path / "source", files))


HEAD = b"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"


@pytest.mark.parametrize(("subdirectory", "outcome"), [("", "rejected"), ("services/billing", "applied")])
def test_a_patch_for_a_subdirectory_is_applied_there_or_rejected(
    tmp_path: Path, subdirectory: str, outcome: str
) -> None:
    target = tmp_path / "case"
    case = build_case("git_state", "B03", target)
    inputs = case["inputs"]
    patch = (target / inputs["patch"]).read_bytes()
    found = "rejected"
    with suppress(GitError):
        apply_patch_file(target / "repo/.git", target / "repo", patch, subdirectory)
        found = "applied"
    digest = hashlib.sha256((target / inputs["file"]).read_bytes()).hexdigest()
    assert {"outcome": found, "sha256": digest} in [case["expected"]["value"], *case["also_ok"]]
    assert found == outcome


def test_a_diff_with_invented_counts_is_rejected_and_changes_nothing(tmp_path: Path) -> None:
    folder = next((CASES / "model_output").glob("A13-*"))
    fenced = re.search(rb"```diff\n(.*?)```", (folder / "reply.txt").read_bytes(), re.DOTALL)
    assert fenced is not None
    source = make_repo(tmp_path / "source", {"web/pages.py": (folder / "before/web/pages.py").read_bytes()})
    task = make_task(tmp_path, source)
    with pytest.raises(GitError) as caught:
        apply_patch_file(task.repo_git, task.worktree, fenced[1])
    assert caught.value.label == "patch_inapplicable"
    assert git(task.worktree, "status", "--porcelain") == ""


def test_a_good_patch_arrives_and_its_tree_is_returned(task: Task) -> None:
    patch = HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"
    tree = apply_patch_file(task.repo_git, task.worktree, patch)
    assert (task.worktree / "a.txt").read_text("utf-8") == "1\ntwo\n3\n4\n5\n"
    git(task.worktree, "add", "-A")
    assert git(task.worktree, "write-tree") == tree


def test_a_patch_applies_on_top_of_earlier_work(task: Task) -> None:
    apply_patch_file(task.repo_git, task.worktree, HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n")
    apply_patch_file(task.repo_git, task.worktree, HEAD + b"@@ -1,3 +1,3 @@\n 1\n-two\n+zwei\n 3\n")
    assert "zwei" in (task.worktree / "a.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"no patch at all\n",
        HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+2\n 3\n",
        HEAD + b"@@ -1,3 +1,3 @@\n 1\n-zwei\n+two\n 3\n",
        HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n-4\n+four\n",
        HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n 4\n",
        HEAD + b"@@ -1,3 +1,3 @@\n 1\n-2\n+two\n",
        b"--- a/absent.txt\n+++ b/absent.txt\n@@ -1 +1 @@\n-x\n+y\n",
        b"--- a/../out.txt\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+y\n",
        b"--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+y\n",
    ],
    ids=["empty", "prose", "swaps a line for itself", "stale", "edits beyond the count", "context beyond the count",
         "short", "absent file", "outside", "inside .git"],
)  # fmt: skip
def test_a_patch_that_does_not_arrive_whole_is_rejected_with_nothing_changed(task: Task, patch: bytes) -> None:
    before = fingerprint(task.worktree)
    with pytest.raises(GitError) as caught:
        apply_patch_file(task.repo_git, task.worktree, patch)
    assert caught.value.label == "patch_inapplicable"
    assert fingerprint(task.worktree) == before


def test_a_patch_into_ignored_paths_is_refused(task: Task) -> None:
    patch = b"diff --git a/build/x b/build/x\nnew file mode 100644\n--- /dev/null\n+++ b/build/x\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(GitError) as caught:
        apply_patch_file(task.repo_git, task.worktree, patch)
    assert caught.value.label == "edit_ignored_path"
    assert not (task.worktree / "build").exists()


def test_a_patch_through_a_link_never_leaves_the_tree(task: Task, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"b.txt": "b\n"})
    (task.worktree / "sub/b.txt").unlink()
    (task.worktree / "sub").rmdir()
    (task.worktree / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(GitError):
        apply_patch_file(task.repo_git, task.worktree, b"--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-b\n+stolen\n")
    assert (tmp_path / "outside/b.txt").read_text("utf-8") == "b\n"


def test_what_git_diff_and_format_patch_write_is_accepted(task: Task) -> None:
    write(task.source, {"a.txt": "1\n2\n3\n4\n5", "new.txt": "-- \n", "sub/b.txt": b"\0\1"})
    git(task.source, "add", "-A")
    git(task.source, "commit", "-q", "-m", "change")
    patch = git(task.source, "format-patch", "-1", "--stdout", "--binary", "--full-index").encode()
    assert apply_patch_file(task.repo_git, task.worktree, patch) == git(task.source, "rev-parse", "HEAD^{tree}")
