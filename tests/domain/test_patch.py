"""A patch is read byte for byte: every kind of change, odd names, odd line ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.patch import FilePatch, Hunk, Line, Patch, Tag, hidden_characters, numbered
from cockpit.domain.patchtext import PatchError, format_patch, parse_patch

CASES = Path(__file__).parents[1] / "cases"
ENV = {
    **os.environ,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
}


class Repository:
    """A real repository that prints real diffs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str) -> bytes:
        done = subprocess.run(["git", "-C", str(self.path), *args], env=ENV, check=True, capture_output=True)
        return done.stdout

    def write(self, name: bytes | str, data: bytes) -> None:
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))  # noqa: PTH118  # names that are no text
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(data)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "base", "--allow-empty")

    def diff(self, *options: str) -> bytes:
        self.git("add", "-A")
        return self.git("diff", "--cached", *options, "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


def case(name: str) -> tuple[Path, dict[str, object]]:
    folder = next(CASES.glob(f"*/{name}-*"))
    return folder, json.loads((folder / "case.json").read_text())["expected"]


def built(name: str, target: Path) -> Path:
    folder, _ = case(name)
    script = next(folder.glob("build.*"))
    runner = "bash" if script.suffix == ".sh" else sys.executable
    subprocess.run([runner, str(script), str(target)], check=True, capture_output=True)
    return target


def read_back(raw: bytes) -> Patch:
    patch = parse_patch(raw)
    assert format_patch(patch) == raw
    assert parse_patch(format_patch(patch)) == patch
    return patch


def test_case_b11_lists_every_entry_with_its_kind(tmp_path: Path) -> None:
    _, expected = case("B11")
    patch = read_back((built("B11", tmp_path / "b11") / "changes.diff").read_bytes())
    assert [list(entry) for entry in patch.entries] == expected["value"]


def test_case_b11_knows_where_a_line_feed_is_missing(tmp_path: Path) -> None:
    patch = read_back((built("B11", tmp_path / "b11") / "changes.diff").read_bytes())
    notes = next(file for file in patch.files if file.path == "notes.txt")
    assert [(line.tag, line.text, line.no_newline) for line in notes.hunks[0].lines] == [
        (" ", b"first", False),
        ("-", b"last", True),
        ("+", b"final", True),
    ]


def test_case_e02_reports_every_hidden_character() -> None:
    folder, expected = case("E02")
    patch = read_back((folder / "changes.diff").read_bytes())
    found = [[hit.line, hit.column, f"U+{hit.codepoint:04X}"] for hit in hidden_characters(patch)]
    assert found == expected["value"]
    assert {hit.path for hit in hidden_characters(patch)} == {"acl.py"}


def test_case_e04_sees_one_file_and_right_numbers(tmp_path: Path) -> None:
    _, expected = case("E04")
    patch = read_back((built("E04", tmp_path / "e04") / "changes.diff").read_bytes())
    rows = [row for file in patch.files for hunk in file.hunks for row in numbered(hunk)]
    assert {
        "files": [file.path for file in patch.files],
        "added": patch.added,
        "deleted": patch.deleted,
        "marker_new_line": next(row.new_number for row in rows if row.line.text.startswith(b"MARKER")),
    } == expected["value"]


NAMES: list[bytes | str] = [
    "a -> b.txt",
    "dir b/x y.txt",
    "naïve café.txt",
    'quote"d.txt',
    "-dash.txt",
    "tab\there.txt",
    "line\nbreak.txt",
    "トマト.txt",
    b"latin-\xe9.txt",
    "back\\slash",
    "b/a/x.txt",
    " lead",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("quotes", ["true", "false"])
def test_unusual_names_are_decoded_in_every_kind_of_change(
    repository: Repository, name: bytes | str, quotes: str
) -> None:
    repository.git("config", "core.quotepath", quotes)
    raw_name = os.fsencode(name)
    repository.write(raw_name, b"one\n")
    repository.write(b"bin/" + raw_name, b"a\x00b\n")
    repository.write(b"old/" + raw_name, b"line\n" * 20)
    repository.write(b"mode/" + raw_name, b"x\n")
    repository.write(b"gone/" + raw_name, b"bye\n")
    repository.commit()
    repository.write(raw_name, b"two\n")
    repository.write(b"bin/" + raw_name, b"a\x00c\n")
    repository.write(b"empty/" + raw_name, b"")
    root = os.fsencode(repository.path)
    os.renames(root + b"/old/" + raw_name, root + b"/moved " + raw_name)
    os.chmod(root + b"/mode/" + raw_name, 0o755)  # noqa: PTH101, S103
    os.remove(root + b"/gone/" + raw_name)  # noqa: PTH107
    shown = raw_name.decode("utf-8", "surrogateescape")
    patch = read_back(repository.diff("-M"))
    assert patch.entries == tuple(
        sorted(
            [
                (shown, "text"),
                (f"bin/{shown}", "binary"),
                (f"moved {shown}", "rename"),
                (f"mode/{shown}", "mode"),
                (f"empty/{shown}", "empty_new"),
                (f"gone/{shown}", "text"),
            ]
        )
    )
    renamed = next(file for file in patch.files if file.is_rename)
    assert (renamed.old_path, renamed.similarity) == (f"old/{shown}", 100)
    assert {file.path for file in patch.files if file.is_deleted} == {f"gone/{shown}"}


def test_binary_data_travels_unchanged(repository: Repository) -> None:
    repository.write("logo.bin", bytes(range(256)) * 30)
    repository.write("text.txt", b"a\n")
    repository.commit()
    repository.write("logo.bin", bytes(range(255, -1, -1)) * 31)
    repository.write("text.txt", b"b\n")
    patch = read_back(repository.diff("--binary"))
    assert patch.entries == (("logo.bin", "binary"), ("text.txt", "text"))


def test_a_file_that_becomes_a_link_is_two_entries(repository: Repository) -> None:
    repository.write("here", b"text\n")
    repository.commit()
    (repository.path / "here").unlink()
    (repository.path / "here").symlink_to("elsewhere")
    patch = read_back(repository.diff())
    assert [(file.kind, file.is_deleted, file.is_new) for file in patch.files] == [
        ("text", True, False),
        ("symlink", False, True),
    ]


def test_an_empty_file_that_goes_is_still_an_entry(repository: Repository) -> None:
    repository.write("gone.py", b"")
    repository.commit()
    (repository.path / "gone.py").unlink()
    patch = read_back(repository.diff())
    assert [(file.path, file.is_deleted, file.kind, file.old_mode) for file in patch.files] == [
        ("gone.py", True, "text", "100644")
    ]


def test_submodules_and_rename_with_edit_and_mode(repository: Repository, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.write("f", b"1\n")
    inner.commit()
    repository.write("run.sh", b"echo\n" * 30)
    repository.commit()
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    (repository.path / "run.sh").rename(repository.path / "start.sh")
    repository.write("start.sh", b"echo\n" * 30 + b"more\n")
    (repository.path / "start.sh").chmod(0o755)
    patch = read_back(repository.diff("-M"))
    assert patch.entries == ((".gitmodules", "text"), ("start.sh", "text"), ("sub", "submodule"))
    moved = next(file for file in patch.files if file.path == "start.sh")
    assert (moved.old_mode, moved.new_mode, moved.added) == ("100644", "100755", 1)


BODIES = st.lists(
    st.sampled_from(
        [
            b"same", b"", b"-- sql comment", b"++ c", b"@@ -1 +1 @@", b"diff --git a/x b/x",
            b"\\ No newline at end of file", b"cr\r", b"ls\xe2\x80\xa8x", b"--- a/x", b"+++ b/x", b"\xff\xfe", b"\x0c",
            b" indented", b"\ttab",
        ]
    ),
    max_size=14,
)  # fmt: skip


@given(before=BODIES, after=BODIES, ends=st.tuples(st.booleans(), st.booleans()), context=st.integers(0, 3))
def test_real_diffs_of_any_content_are_read_and_written_back(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[bytes],
    after: list[bytes],
    ends: tuple[bool, bool],
    context: int,
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    for name, lines, end in (("old", before, ends[0]), ("new", after, ends[1])):
        (folder / name).write_bytes(b"\n".join(lines) + (b"\n" if end and lines else b""))
    done = subprocess.run(
        ["git", "diff", "--no-index", "--text", f"-U{context}", "old", "new"], cwd=folder, env=ENV, capture_output=True
    )
    patch = read_back(done.stdout)
    lines_of = {side: [] for side in "+-"}  # type: dict[str, list[bytes]]
    for file in patch.files:
        for hunk in file.hunks:
            for row in numbered(hunk):
                if row.new_number is not None:
                    assert (folder / "new").read_bytes().split(b"\n")[row.new_number - 1] == row.line.text
                if row.old_number is not None:
                    assert (folder / "old").read_bytes().split(b"\n")[row.old_number - 1] == row.line.text
                if row.line.tag != " ":
                    lines_of[row.line.tag].append(row.line.text)
    assert (len(lines_of["+"]), len(lines_of["-"])) == (patch.added, patch.deleted)


TAGS: list[Tag] = [" ", "+", "-"]
LINES = st.builds(
    Line, st.sampled_from(TAGS), st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b"")), st.booleans()
)


@st.composite
def hunks(draw: st.DrawFn) -> Hunk:
    lines = tuple(draw(st.lists(LINES, min_size=1, max_size=8)))
    old = sum(line.tag != "+" for line in lines)
    new = sum(line.tag != "-" for line in lines)
    start = draw(st.integers(0, 500))
    header = f"@@ -{start},{old} +{start},{new} @@ def f():".encode()
    return Hunk(start, old, start, new, header, lines)


@st.composite
def file_patches(draw: st.DrawFn) -> FilePatch:
    name = draw(st.from_regex(r"[a-z][a-z /]{0,8}[a-z]", fullmatch=True))
    raw = name.encode()
    end = b"\t" if b" " in raw else b""
    header = (b"diff --git a/" + raw + b" b/" + raw, b"index 1..2 100644", b"--- a/" + raw + end, b"+++ b/" + raw + end)
    return FilePatch(name, name, header, tuple(draw(st.lists(hunks(), min_size=1, max_size=3))), "100644", "100644")


@given(st.lists(file_patches(), max_size=3))
def test_what_is_written_is_what_is_read(files: list[FilePatch]) -> None:
    patch = Patch(tuple(files))
    assert parse_patch(format_patch(patch)) == patch


HEAD = b"--- a/x\n+++ b/x\n"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (HEAD + b"@@ -1,9 +1,11 @@\n a\n-b\n+c\n", "line 7 of the diff: the diff ends before"),
        (HEAD + b"@@ -1,1 +1,1 @@\n-a\n+b\n+c\n", "line 6 of the diff: more lines than"),
        (HEAD + b"@@ -1,1 +1,1 @@\n-a\n+b\n--- c\n", "line 7 of the diff: no --- and"),
        (HEAD + b"@@ -1,2 +1,1 @@\n+a\n+b\n-c\n-d\n", "line 5 of the diff: the hunk header counts other"),
        (HEAD + b"@@ -1,2 +1,2 @@\n a\n@@ -9 +9 @@\n-a\n+b\n", "line 5 of the diff: the hunk ends before"),
        (HEAD + b"@@ somewhere @@\n-a\n+b\n", "line 3 of the diff: the hunk header cannot"),
        (b"hello\n", "line 1 of the diff: no line of a diff"),
        (b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n", "line 1 of the diff: a combined diff"),
        (b"diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", "no --- and +++"),
    ],
)
def test_a_diff_that_does_not_hold_together_is_refused_with_its_line(raw: bytes, message: str) -> None:
    with pytest.raises(PatchError, match="diff: ") as error:
        parse_patch(raw)
    assert message in error.value.message
    assert error.value.label == "patch_inapplicable"


def test_a_hunk_that_swaps_a_line_for_itself_changes_nothing() -> None:
    patch = parse_patch(HEAD + b"@@ -1,2 +1,2 @@\n a\n-b\n+b\n@@ -9 +9 @@\n-b\n+b\n\\ No newline at end of file\n")
    assert [hunk.changes_nothing for hunk in patch.files[0].hunks] == [True, False]


def test_hidden_characters_ignore_the_end_of_a_crlf_line_and_find_a_return_inside() -> None:
    patch = parse_patch(HEAD + "@@ -4,0 +5,2 @@\n+fine\r\n+a\rb\u202e\r\n".encode())
    assert [(hit.line, hit.column, hit.codepoint) for hit in hidden_characters(patch)] == [(6, 2, 13), (6, 4, 0x202E)]


def test_no_diff_is_an_empty_patch() -> None:
    assert parse_patch(b"") == Patch()
    assert format_patch(Patch()) == b""
