import os
from pathlib import Path

import pytest

from cockpit.domain.errors import GitError
from cockpit.domain.evidence import ChangeKind, FileChange
from cockpit.workspace.harvest import Harvest, diff_trees, dirty_paths, harvest, ignored_files, written_by_run
from cockpit.workspace.worktree import add_worktree, restore
from tests.gitkit import Task, build_case, commit, fingerprint, git, make_repo, make_task, write


def harvest_case(tmp_path: Path, name: str) -> tuple[Harvest, dict[str, object]]:
    target = tmp_path / "case"
    case = build_case("git_state", name, target)
    inputs = case["inputs"]
    repo = target / inputs["repo"]
    base = (target / inputs["base"]).read_text("utf-8").strip() if "base" in inputs else "main"
    tree = git(repo, "rev-parse", f"{base}^{{tree}}")
    return harvest(repo / ".git", target / inputs["task"], tree, tmp_path / "scratch"), case["expected"]


def summary(taken: Harvest) -> dict[str, object]:
    return {
        "paths": sorted(change.path for change in taken.changes),
        "added": sum(change.added for change in taken.changes),
        "deleted": sum(change.deleted for change in taken.changes),
    }


@pytest.mark.parametrize("name", ["B01", "B02"])
def test_staged_and_committed_work_is_harvested(tmp_path: Path, name: str) -> None:
    taken, expected = harvest_case(tmp_path, name)
    assert summary(taken) == expected["value"]
    assert taken.patch.startswith(b"diff --git ")


def test_unusual_names_come_through_unharmed(tmp_path: Path) -> None:
    taken, expected = harvest_case(tmp_path, "B06")
    assert [change.path for change in taken.changes] == expected["value"]
    repo = tmp_path / "case/repo"
    assert list(dirty_paths(repo / ".git", repo, git(repo, "rev-parse", "HEAD^{tree}"))) == expected["value"]


def test_changes_without_hunks_have_kinds(tmp_path: Path) -> None:
    taken, expected = harvest_case(tmp_path, "B11")
    assert [[change.path, change.kind.value] for change in taken.changes] == expected["value"]
    renamed = next(change for change in taken.changes if change.kind is ChangeKind.RENAME)
    assert (renamed.old_path, renamed.added, renamed.deleted) == ("old_name.py", 0, 0)


def test_what_the_tests_wrote_is_named_apart(tmp_path: Path) -> None:
    target = tmp_path / "case"
    case = build_case("test_runs", "F08", target)
    task, repo = target / "task", target / "repo"
    tree = git(task, "rev-parse", "HEAD^{tree}")
    git(task, "apply", str(target / "fix.patch"))
    taken = harvest(repo / ".git", task, tree, tmp_path / "scratch")
    write(task, {"golden/out.json": "rewritten", "report.xml": "<x/>", "build/cache.bin": "x", "__pycache__/a.pyc": ""})
    expected = case["expected"]["value"]
    assert [change.path for change in taken.changes] == expected["patch_paths"]
    assert list(written_by_run(repo / ".git", task, taken.tree)) == expected["written_by_tests"]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    files = {"a.txt": "a\nb\n", "pkg/mod.py": "v = 1\n", "pkg/deep/x.txt": "x\n", ".gitignore": "build/\n*.log\n"}
    return make_task(tmp_path, make_repo(tmp_path / "source", files))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def take(task: Task, scratch: Path) -> Harvest:
    return harvest(task.repo_git, task.worktree, task.base.tree, scratch)


def only(taken: Harvest) -> FileChange:
    assert len(taken.changes) == 1
    return taken.changes[0]


def test_an_untouched_worktree_is_the_base(task: Task, scratch: Path) -> None:
    assert take(task, scratch) == Harvest(task.base.tree, (), b"")
    assert list(scratch.iterdir()) == []
    assert dirty_paths(task.repo_git, task.worktree, task.base.tree) == ()


def test_every_way_of_changing_is_one_patch_that_leads_from_base_to_tree(task: Task, scratch: Path) -> None:
    commit(task.worktree, {"a.txt": "a\nB\n"}, "committed")
    write(task.worktree, {"pkg/mod.py": "v = 2\n"})
    git(task.worktree, "add", "-A")
    write(task.worktree, {"pkg/mod.py": "v = 3\n", "new.bin": b"\0\1"})
    (task.worktree / "pkg/deep/x.txt").unlink()
    taken = take(task, scratch)
    assert [change.path for change in taken.changes] == ["a.txt", "new.bin", "pkg/deep/x.txt", "pkg/mod.py"]
    (scratch / "p").write_bytes(taken.patch)
    git(task.source, "apply", "--index", str(scratch / "p"))
    assert git(task.source, "write-tree") == taken.tree


def test_changes_carry_bytes_modes_and_counts(task: Task, scratch: Path) -> None:
    write(task.worktree, {"a.txt": "a\nc\nd\n"})
    (task.worktree / "a.txt").chmod(0o755)
    assert only(take(task, scratch)) == FileChange(
        path="a.txt", kind=ChangeKind.TEXT, old_mode="100644", new_mode="100755", added=2, deleted=1,
        old=b"a\nb\n", new=b"a\nc\nd\n",
    )  # fmt: skip


def test_a_new_and_a_deleted_file_say_so(task: Task, scratch: Path) -> None:
    write(task.worktree, {"new.txt": "n\n"})
    (task.worktree / "a.txt").unlink()
    gone, new = take(task, scratch).changes
    assert (gone.is_deleted, gone.new, gone.new_mode) == (True, None, "")
    assert (new.is_new, new.old, new.old_mode) == (True, None, "")


def test_a_file_too_large_to_show_is_still_a_change(task: Task, scratch: Path) -> None:
    write(task.worktree, {"a.txt": b"x" * (4 * 1024 * 1024 + 1), "b.txt": b"x" * (4 * 1024 * 1024)})
    large, fitting = take(task, scratch).changes
    assert (large.new, large.old) == (None, b"a\nb\n")
    assert fitting.new is not None


def test_a_file_replaced_by_a_link_is_a_link(task: Task, scratch: Path) -> None:
    (task.worktree / "a.txt").unlink()
    (task.worktree / "a.txt").symlink_to("/etc/passwd")
    change = only(take(task, scratch))
    assert (change.kind, change.new_mode, change.new) == (ChangeKind.SYMLINK, "120000", b"/etc/passwd")


def test_a_file_that_became_a_folder_and_back_is_harvested(task: Task, scratch: Path) -> None:
    (task.worktree / "a.txt").unlink()
    write(task.worktree, {"a.txt/inner": "inner\n"})
    (task.worktree / "pkg/deep/x.txt").unlink()
    (task.worktree / "pkg/deep").rmdir()
    write(task.worktree, {"pkg/deep": "now a file\n"})
    paths = [(change.path, change.is_deleted) for change in take(task, scratch).changes]
    assert paths == [("a.txt", True), ("a.txt/inner", False), ("pkg/deep", False), ("pkg/deep/x.txt", True)]


def test_a_folder_replaced_by_a_link_out_is_never_entered(task: Task, scratch: Path, tmp_path: Path) -> None:
    outside = make_repo(tmp_path / "outside", {"mod.py": "foreign\n", "deep/x.txt": "foreign\n"})
    for path in ("pkg/mod.py", "pkg/deep/x.txt"):
        (task.worktree / path).unlink()
    (task.worktree / "pkg/deep").rmdir()
    (task.worktree / "pkg").rmdir()
    (task.worktree / "pkg").symlink_to(outside)
    changes = {change.path: change for change in take(task, scratch).changes}
    assert set(changes) == {"pkg", "pkg/mod.py", "pkg/deep/x.txt"}
    assert changes["pkg"].new == os.fsencode(outside)


def test_a_pipe_in_place_of_a_file_is_a_deletion(task: Task, scratch: Path) -> None:
    (task.worktree / "a.txt").unlink()
    os.mkfifo(task.worktree / "a.txt")
    assert only(take(task, scratch)).is_deleted


def test_a_repository_inside_is_a_submodule_and_never_vanishes(task: Task, scratch: Path) -> None:
    inner = make_repo(task.worktree / "lib/inner", {"x": "x"})
    git(task.worktree, "init", "-q", "unborn")
    write(task.worktree / "unborn", {"y": "y"})
    changes = take(task, scratch).changes
    assert [(change.path, change.kind) for change in changes] == [
        ("lib/inner", ChangeKind.SUBMODULE),
        ("unborn", ChangeKind.SUBMODULE),
    ]
    assert git(inner, "rev-parse", "HEAD").encode() in take(task, scratch).patch


def test_a_repository_made_in_a_tracked_folder_hides_nothing(task: Task, scratch: Path) -> None:
    git(task.worktree / "pkg", "init", "-q")
    write(task.worktree, {"pkg/mod.py": "v = 2\n", "pkg/new.py": "n\n"})
    assert [change.path for change in take(task, scratch).changes] == ["pkg/mod.py", "pkg/new.py"]


def test_files_in_the_folder_of_a_submodule_are_seen(task: Task, scratch: Path, tmp_path: Path) -> None:
    git(task.source, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(task.source), "sub")
    commit(task.source, {}, "sub")
    other = make_task(tmp_path, task.source, "other")
    assert take(other, scratch).changes == ()
    write(other.worktree, {"sub/new.txt": "n\n"})
    assert [change.path for change in take(other, scratch).changes] == ["sub", "sub/new.txt"]
    restore(other.repo_git, other.worktree, other.base.tree)
    git(other.worktree / "sub", "init", "-q")
    assert take(other, scratch).changes == ()
    commit(other.worktree / "sub", {"x": "x"}, "moved on")
    assert only(take(other, scratch)).kind is ChangeKind.SUBMODULE


def test_ignored_files_are_left_out_and_listed(task: Task, scratch: Path) -> None:
    write(task.worktree, {"build/out.bin": "x", "trace.log": "x", "kept.txt": "x"})
    assert only(take(task, scratch)).path == "kept.txt"
    assert ignored_files(task.repo_git, task.worktree) == ("build/out.bin", "trace.log")


def test_a_tracked_file_under_an_ignore_rule_is_still_harvested(tmp_path: Path, scratch: Path) -> None:
    source = make_repo(tmp_path / "source", {"a.log": "1\n", ".gitignore": "*.log\n"})
    task = make_task(tmp_path, source)
    write(task.worktree, {"a.log": "2\n"})
    assert only(take(task, scratch)).path == "a.log"
    assert ignored_files(task.repo_git, task.worktree) == ()


def test_private_ignore_lists_of_user_and_repository_hide_nothing(
    task: Task, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"xdg/git/ignore": "*.py\n", "xdg/git/attributes": "*.py binary\n"})
    write(task.repo_git, {"info/exclude": "*.py\n", "info/attributes": "*.py -diff\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    write(task.worktree, {"new.py": "x\n"})
    assert only(take(task, scratch)).added == 1


def test_index_flags_and_a_foreign_git_file_hide_nothing(task: Task, scratch: Path) -> None:
    git(task.worktree, "update-index", "--assume-unchanged", "a.txt")
    git(task.worktree, "update-index", "--skip-worktree", "pkg/mod.py")
    write(task.worktree, {"a.txt": "x\n", "pkg/mod.py": "y\n"})
    (task.worktree / ".git").write_text(f"gitdir: {task.source}/.git\n", "utf-8")
    source = fingerprint(task.source)
    assert [change.path for change in take(task, scratch).changes] == ["a.txt", "pkg/mod.py"]
    assert fingerprint(task.source) == source


def test_attributes_hide_no_line_and_change_no_byte(task: Task, scratch: Path) -> None:
    attributes = "*.py binary\n*.txt text eol=lf\n"
    write(task.worktree, {".gitattributes": attributes, "pkg/mod.py": "v = 2\n", "a.txt": b"a\r\nb\r\n"})
    changes = {change.path: change for change in take(task, scratch).changes}
    assert (changes["pkg/mod.py"].kind, changes["pkg/mod.py"].added) == (ChangeKind.TEXT, 1)
    assert changes["a.txt"].new == b"a\r\nb\r\n"


def test_a_name_that_is_no_utf8_survives_the_way_through_git(task: Task, scratch: Path, tmp_path: Path) -> None:
    (task.worktree / os.fsdecode(b"caf\xe9.txt")).write_text("x\n", "utf-8")
    taken = take(task, scratch)
    assert os.fsencode(only(taken).path) == b"caf\xe9.txt"
    add_worktree(task.repo_git, tmp_path / "second", taken.tree)
    assert os.path.lexists(os.fsencode(tmp_path / "second") + b"/caf\xe9.txt")


def test_a_name_git_cannot_store_is_an_error_not_a_gap(task: Task, scratch: Path) -> None:
    write(task.worktree, {"git~1": "x\n"})
    with pytest.raises(GitError, match="cannot store"):
        take(task, scratch)


def test_a_rename_with_an_edit_is_text_with_its_old_name(task: Task, scratch: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(20))
    commit(task.source, {"long.txt": lines}, "long")
    other = make_task(scratch.parent, task.source, "other")
    (other.worktree / "long.txt").rename(other.worktree / "renamed.txt")
    write(other.worktree, {"renamed.txt": lines + "one more\n"})
    change = only(take(other, scratch))
    assert (change.path, change.old_path, change.kind) == ("renamed.txt", "long.txt", ChangeKind.TEXT)


def test_two_harvests_differ_by_what_happened_between(task: Task, scratch: Path) -> None:
    write(task.worktree, {"a.txt": "x\n"})
    first = take(task, scratch)
    write(task.worktree, {"pkg/mod.py": "y\n"})
    second = take(task, scratch)
    assert [change.path for change in diff_trees(task.repo_git, first.tree, second.tree)] == ["pkg/mod.py"]


def test_a_harvest_can_be_checked_out_and_is_then_clean(task: Task, scratch: Path, tmp_path: Path) -> None:
    write(task.worktree, {"a.txt": "x\n", "new/file": "y\n"})
    taken = take(task, scratch)
    add_worktree(task.repo_git, tmp_path / "checkout", taken.tree)
    assert written_by_run(task.repo_git, tmp_path / "checkout", taken.tree) == ()
    assert harvest(task.repo_git, tmp_path / "checkout", task.base.tree, scratch) == taken


def test_looking_at_what_a_run_wrote_stores_nothing(task: Task) -> None:
    write(task.worktree, {"large.bin": os.urandom(1000)})
    before = fingerprint(task.repo_git)
    assert written_by_run(task.repo_git, task.worktree, task.base.tree) == ("large.bin",)
    assert fingerprint(task.repo_git) == before


def test_a_missing_worktree_is_an_error_not_an_empty_patch(task: Task, scratch: Path) -> None:
    with pytest.raises(GitError):
        harvest(task.repo_git, task.worktree / "absent", task.base.tree, scratch)
