import hashlib
import os
import runpy
from pathlib import Path

import pytest

from cockpit.domain.errors import GitError
from cockpit.domain.evidence import WrittenFile
from cockpit.domain.serving import Finish
from cockpit.edits.apply import apply_edits
from cockpit.edits.model import TreeView
from cockpit.edits.parse import parse_answer
from cockpit.workspace.disk import DiskTree, write_files
from tests.gitkit import CASES, Task, build_case, commit, fingerprint, git, make_repo, make_task, write


@pytest.fixture
def task(tmp_path: Path) -> Task:
    source = make_repo(
        tmp_path / "source", {"a.txt": "a\r\n", "pkg/mod.py": "v\n", "x.log": "", ".gitignore": "*.log\n"}
    )
    (source / "link").symlink_to("a.txt")
    (source / "out").symlink_to(tmp_path / "outside")
    git(source, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(source), "sub")
    commit(source, {}, "links")
    write(tmp_path / "outside", {"kept.txt": "keep me\n"})
    return make_task(tmp_path, source)


@pytest.fixture
def view(task: Task) -> TreeView:
    return DiskTree(task.repo_git, task.worktree, ("a.txt",))


def test_a_worktree_shows_what_git_tracks_and_the_bytes_on_disk(task: Task, view: TreeView) -> None:
    write(task.worktree, {"new.txt": "n\n", "a.txt": b"b\r\n"})
    assert view.in_play == ("a.txt",)
    assert set(view.tracked()) == {"a.txt", "pkg/mod.py", "x.log", ".gitignore", ".gitmodules", "link", "out"}
    assert view.read("a.txt") == b"b\r\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.txt", "file"),
        ("pkg", "directory"),
        ("pkg/mod.py", "file"),
        ("pkg/mod.py/below", "missing"),
        ("pkg/absent/deep.py", "missing"),
        ("link", "symlink"),
        ("out/kept.txt", "symlink"),
        ("out/absent.txt", "symlink"),
        ("sub", "submodule"),
        ("sub/new.py", "submodule"),
        ("nested/x", "submodule"),
        ("pkg/pipe", "symlink"),
        (".git", "submodule"),
        (".git/config", "submodule"),
    ],
)
def test_kinds_are_told_without_following_links(task: Task, view: TreeView, path: str, kind: str) -> None:
    make_repo(task.worktree / "nested", {"x": "x"})
    git(task.worktree / "pkg", "init", "-q")
    os.mkfifo(task.worktree / "pkg/pipe")
    assert view.kind(path) == kind


@pytest.mark.parametrize(
    ("path", "is_ignored"),
    [("x.log", False), ("new.log", True), ("deep/er/new.log", True), ("new.txt", False), (":(glob)new.log", True),
     ("[n]ew.txt", False), ("*", False)],
)  # fmt: skip
def test_untracked_paths_under_ignore_rules_are_ignored(view: TreeView, path: str, *, is_ignored: bool) -> None:
    assert view.is_ignored(path) is is_ignored


@pytest.mark.parametrize("path", ["link", "out/kept.txt", "pkg", "absent", "../outside/kept.txt", "pkg/pipe", ".git"])
def test_what_is_no_file_of_the_tree_is_not_read(task: Task, view: TreeView, path: str) -> None:
    os.mkfifo(task.worktree / "pkg/pipe")
    with pytest.raises(GitError):
        view.read(path)


def put(worktree: Path, *paths: str) -> None:
    write_files(worktree, [WrittenFile(path, None, b"written\r\n", whole_file=True) for path in paths])


def test_files_are_written_byte_for_byte_and_keep_their_mode(task: Task) -> None:
    (task.worktree / "a.txt").chmod(0o755)
    put(task.worktree, "a.txt", "new/deep/er.txt")
    assert (task.worktree / "a.txt").read_bytes() == b"written\r\n"
    assert (task.worktree / "a.txt").stat().st_mode & 0o777 == 0o755
    assert (task.worktree / "new/deep/er.txt").stat().st_mode & 0o111 == 0
    assert sorted(path.name for path in task.worktree.iterdir() if path.name.startswith(".cockpit")) == []


def test_a_second_name_of_an_outside_file_is_cut_off_not_written_through(task: Task, tmp_path: Path) -> None:
    (task.worktree / "a.txt").unlink()
    os.link(tmp_path / "outside/kept.txt", task.worktree / "a.txt")
    put(task.worktree, "a.txt")
    assert (tmp_path / "outside/kept.txt").read_text("utf-8") == "keep me\n"


@pytest.mark.parametrize(
    "path",
    ["link", "out/kept.txt", "out/new.txt", "out", "pkg", "a.txt/below", "../escape.txt", "/tmp/escape", "pkg//x",  # noqa: S108
     "./x", ".git/hooks/post-checkout", ".GIT", "pkg/.git/config", "pkg/pipe", "nul\0", ""],
)  # fmt: skip
def test_a_path_that_is_no_plain_file_is_refused_and_nothing_at_all_is_written(
    task: Task, tmp_path: Path, path: str
) -> None:
    os.mkfifo(task.worktree / "pkg/pipe")
    before, outside = fingerprint(task.worktree), fingerprint(tmp_path / "outside")
    with pytest.raises(GitError) as caught:
        put(task.worktree, "pkg/mod.py", "new/folder/file", path)
    assert caught.value.label == "path_invalid"
    assert fingerprint(task.worktree) == before
    assert fingerprint(tmp_path / "outside") == outside


@pytest.mark.parametrize("name", ["B05", "B13"])
def test_an_answer_reaches_the_disk_as_the_case_says(tmp_path: Path, name: str) -> None:
    case = build_case("git_state", name, tmp_path / "case")
    inputs, expected = case["inputs"], case["expected"]["value"]
    task = tmp_path / "case" / inputs["task"]
    reply = (tmp_path / "case" / inputs["reply"]).read_bytes().decode()
    parsed = parse_answer(reply, edit_format="whole_file", finish=Finish.STOP)
    applied = apply_edits(parsed.edits, DiskTree(tmp_path / "case/repo/.git", task))
    write_files(task, applied.written)
    if name == "B05":
        digest = runpy.run_path(str(CASES / "digest.py"))["tree_digest"]
        assert (len(applied.refusals), digest(tmp_path / "case" / inputs["watched"])) == (2, expected)
        return
    added, deleted, _ = git(task, "diff", "--numstat", "HEAD").split("\t")
    assert {
        "outcome": "rejected" if applied.refusals else "applied",
        "added": int(added),
        "deleted": int(deleted),
        "sha256": hashlib.sha256((task / inputs["file"]).read_bytes()).hexdigest(),
    } == expected


def test_links_out_of_the_tree_leave_the_outside_as_it_is(tmp_path: Path) -> None:
    case = build_case("git_state", "B05", tmp_path / "case")
    task = tmp_path / "case" / case["inputs"]["task"]
    view = DiskTree(tmp_path / "case/repo/.git", task)
    for path in ("docs/notes.md", "docs/draft.md"):
        assert view.kind(path) == "symlink"
        with pytest.raises(GitError):
            put(task, path)
    digest = runpy.run_path(str(CASES / "digest.py"))["tree_digest"]
    assert digest(tmp_path / "case" / case["inputs"]["watched"]) == case["expected"]["value"]
