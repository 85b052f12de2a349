"""What applying an answer writes: exactly the lines asked for, or nothing and the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.edits.apply import apply_edits
from cockpit.edits.model import Applied, Edit, MemoryTree, SearchReplace, WholeFile

FILE = b"def f():\n    return 1\n\n\ndef g():\n    return 2\n"


def one(data: bytes, *edits: Edit, path: str = "a.py") -> bytes:
    applied = apply_edits(edits, MemoryTree({path: data}))
    assert applied.refusals == ()
    (file,) = applied.written
    assert (file.path, file.before) == (path, data)
    return file.after


def refused(applied: Applied) -> list[tuple[str, str]]:
    assert applied.written == ()
    return [(refusal.label, refusal.path) for refusal in applied.refusals]


def why(data: bytes, edit: Edit, path: str = "a.py") -> tuple[str, str, str]:
    applied = apply_edits([edit], MemoryTree({path: data}))
    assert applied.written == ()
    (refusal,) = applied.refusals
    return refusal.label, refusal.reason, refusal.hint


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        (b"a\nb\nc\n", "b\n", "B\nB2\n", b"a\nB\nB2\nc\n"),
        (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
        (b"a\r\nb\r\nc\r\n", "b\n", "B\nB2\n", b"a\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\n", "B\n", b"a\r\nB\nc\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc\n", "a\nb\nx\nc\n", b"a\nb\r\nx\nc\n"),
        (b"a\nb", "b\n", "B\n", b"a\nB"),
        (b"a\nb", "b\n", "b\nc\n", b"a\nb\nc"),
        (b"a\r\nb", "b\n", "b\nc\n", b"a\r\nb\r\nc"),
        (b"a\nb", "a\n", "A\n", b"A\nb"),
        (b"a", "a\n", "b\nc\n", b"b\nc"),
        (b"\xef\xbb\xbfa\nb\n", "a\n", "A\n", b"\xef\xbb\xbfA\nb\n"),
        (b"\tif x:\n\t    y\n", "\tif x:\n", "\tif z:\n", b"\tif z:\n\t    y\n"),
        (b"x\x0cy\na\rb\n\xe2\x80\xa8\n", "a\rb\n", "c\n", b"x\x0cy\nc\n\xe2\x80\xa8\n"),
        (b"a\n\n\nb\n", "a\n\n\n", "a\n\n", b"a\n\nb\n"),
        ("é = 'ß'\nb\n".encode(), "é = 'ß'\n", "é = 'ẞ'\n", "é = 'ẞ'\nb\n".encode()),
        (b"", "", "new\n", b"new\n"),
    ],
)
def test_only_the_asked_lines_change(before: bytes, search: str, replace: str, after: bytes) -> None:
    assert one(before, SearchReplace("a.py", search, replace)) == after


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\nb\n", "a\nB\n", b"a\nB\n"),
        (b"a\r\nb\r\n", "a\nB\nc\n", b"a\r\nB\r\nc\r\n"),
        (b"a\nb\n", "a\r\nB\r\n", b"a\nB\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nC\nd\n", b"a\r\nb\nC\r\nd\r\n"),
        (b"a\nb", "a\nB\n", b"a\nB"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        (b"", "a\n", b"a\n"),
        (b"a\n", "a\n\n", b"a\n\n"),
    ],
)
def test_a_complete_file_keeps_line_ends_mark_and_last_newline(before: bytes, text: str, after: bytes) -> None:
    assert one(before, WholeFile("a.py", text)) == after


def test_blocks_apply_in_order_each_on_the_result_of_the_former() -> None:
    edits = [
        SearchReplace("a.py", "    return 1\n", "    return 10\n"),
        SearchReplace("a.py", "def f():\n    return 10\n", "def f():\n    return 11\n"),
        SearchReplace("a.py", "    return 2\n", "    return 20\n"),
    ]
    assert one(FILE, *edits) == b"def f():\n    return 11\n\n\ndef g():\n    return 20\n"


def test_one_refusal_leaves_every_file_alone() -> None:
    tree = MemoryTree({"a.py": FILE, "b.py": b"x\n"})
    edits = [SearchReplace("b.py", "x\n", "y\n"), SearchReplace("a.py", "nowhere\n", "y\n")]
    assert refused(apply_edits(edits, tree)) == [("search_missing", "a.py")]
    assert [file.path for file in apply_edits(edits[:1], tree).written] == ["b.py"]


def test_every_failing_edit_is_named() -> None:
    edits: list[Edit] = [
        SearchReplace("a.py", "no\n", "y\n"),
        SearchReplace("../b", "x\n", "y\n"),
        WholeFile("a.py", FILE.decode()),
    ]
    assert refused(apply_edits(edits, MemoryTree({"a.py": FILE}))) == [
        ("search_missing", "a.py"),
        ("path_invalid", "../b"),
        ("edit_noop", "a.py"),
    ]


@pytest.mark.parametrize(
    ("search", "places"),
    [("a\n", "2 times, at lines 1, 3"), ("a\nb\n", "2 times, at lines 1, 3"), ("\n", "2 times, at lines 5, 6")],
)
def test_an_ambiguous_search_names_every_place(search: str, places: str) -> None:
    label, reason, hint = why(b"a\nb\na\nb\n\n\n", SearchReplace("a.py", search, "c\n"))
    assert label == "search_ambiguous"
    assert places in reason
    assert "neighbouring lines" in hint


def test_overlapping_places_are_counted() -> None:
    assert "2 times" in why(b"a\na\na\n", SearchReplace("a.py", "a\na\n", "c\n"))[1]


@pytest.mark.parametrize(
    ("data", "search", "told"),
    [
        (b"x\na  \n", "a\n", "line 2 of the file, column 2: the file has U+0020 (space), SEARCH has the end"),
        (b"a\n", "a \n", "column 2: the file has the end of the line, SEARCH has U+0020"),
        ("it’s\n".encode(), "it's\n", "column 3: the file has U+2019 (right single quotation mark), SEARCH has U+0027"),
        ("a – b\n".encode(), "a - b\n", "column 3: the file has U+2013 (en dash), SEARCH has U+002D"),
        ("a\u200b = 1\n".encode(), "a = 1\n", "column 2: the file has U+200B (zero width space), SEARCH has U+0020"),
        (b"\tx = 1\n", "    x = 1\n", "column 1: the file has U+0009 (control character), SEARCH has U+0020"),
        (b"a\rb\n", "a b\n", "column 2: the file has U+000D (control character), SEARCH has U+0020"),
        ("cafe\u0301\n".encode(), "café\n", "column 4: the file has U+0065 (latin small letter e), SEARCH has U+00E9"),
        (b"def f(x):\n", "def f(y):\n", "line 1 of SEARCH against line 1 of the file"),
    ],
)
def test_a_missing_search_names_the_first_difference(data: bytes, search: str, told: str) -> None:
    label, reason, hint = why(data, SearchReplace("a.py", search, "new\n"))
    assert label == "search_missing"
    assert told in reason
    assert data.decode().split("\n")[0] in hint or "lines of the file are 2" in hint


def test_the_nearest_lines_are_found_far_down_and_shown_without_decoration() -> None:
    lines = [f"value_{number} = {number}" for number in range(3000)]
    lines[2500:2503] = ["def total(rows):", "    count = len(rows)", "    return count + 1"]
    search = "def total(rows):\n    count = size(rows)\n    return count + 1\n"
    _, reason, hint = why("\n".join(lines).encode(), SearchReplace("a.py", search, "new\n"))
    assert "line 2 of SEARCH against line 2502 of the file" in reason
    assert hint == "the nearest lines of the file are 2501 to 2503:\n" + "\n".join(lines[2500:2503])


def test_part_of_a_line_is_no_match_and_is_shown() -> None:
    label, _, hint = why(b"x\n    limit = 3  # tries\n", SearchReplace("a.py", "    limit = 3\n", "    limit = 4\n"))
    assert label == "search_missing"
    assert hint.endswith(":\n    limit = 3  # tries")


def test_a_long_search_shows_at_most_twelve_lines() -> None:
    text = "".join(f"line number {number}\n" for number in range(40))
    _, _, hint = why(text.encode(), SearchReplace("a.py", text.replace("number 7\n", "number seven\n"), "x\n"))
    assert hint.count("\n") == 12


def test_nothing_near_is_said_so() -> None:
    assert why(b"\n\n", SearchReplace("a.py", "quite different\n", "x\n")) == (
        "search_missing",
        "SEARCH is not in the file, and nothing in it comes close",
        "",
    )


@pytest.mark.parametrize(
    "edit",
    [
        SearchReplace("a.py", "    return 1\n", "    return 1\n"),
        SearchReplace("a.py", "nowhere\n", "nowhere\n"),
        WholeFile("a.py", FILE.decode()),
        WholeFile("a.py", FILE.decode().replace("\n", "\r\n")),
    ],
)
def test_an_edit_that_changes_nothing_is_a_failure(edit: Edit) -> None:
    assert why(FILE, edit)[0] == "edit_noop"


def test_edits_that_cancel_out_are_a_failure() -> None:
    edits = [SearchReplace("a.py", "x\n", "y\n"), SearchReplace("a.py", "y\n", "x\n")]
    assert refused(apply_edits(edits, MemoryTree({"a.py": b"x\n"}))) == [("edit_noop", "a.py")]


def test_a_missing_name_means_the_only_file_in_play() -> None:
    edit = SearchReplace(None, "x\n", "y\n")
    files = {"a.py": b"x\n", "b.py": b"x\n"}
    (file,) = apply_edits([edit], MemoryTree(files, in_play=("b.py",))).written
    assert file.path == "b.py"
    assert refused(apply_edits([edit], MemoryTree(files, in_play=("a.py", "b.py")))) == [("path_invalid", "")]
    assert refused(apply_edits([edit], MemoryTree(files))) == [("path_invalid", "")]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "~/x", "C:\\x", "C:/x", "a\\b.py", "..", "../a.py", "a/../../b", "src/../a.py", "", " ", "src/",
        ".git", ".git/config", ".GIT/hooks/x", "src/.git/x", ".git./x", ".git /x", "git~1/x",
        ".git::$INDEX_ALLOCATION/x",
        "nul", "CON.txt", "src/aux.py", "COM1", "a\0b", "a\nb", "a\x1bb", "a\u202eb", ".g\u200cit/config",
        "dir./x", "x ",
        "link", "link/x", "sub", "sub/x.py", "src", "a.py/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["search", "new", "whole"])
def test_unsafe_paths_are_refused_whatever_is_asked(path: str, kind: str) -> None:
    tree = MemoryTree({"a.py": b"x\n", "src/b.py": b"x\n"}, symlinks=frozenset({"link"}), submodules=frozenset({"sub"}))
    edit: Edit = (
        WholeFile(path, "y\n") if kind == "whole" else SearchReplace(path, "x\n" if kind == "search" else "", "y\n")
    )
    assert refused(apply_edits([edit], tree)) == [("path_invalid", path)]


@pytest.mark.parametrize("path", ["./a.py", "a.py", ".//a.py"])
def test_a_path_is_taken_in_its_shortest_form(path: str) -> None:
    assert one(b"x\n", SearchReplace(path, "x\n", "y\n")) == b"y\n"


@pytest.mark.parametrize("path", ["b.py", "app/b.py", "forms/b.py"])
def test_a_search_in_a_file_that_is_not_tracked_is_refused_even_with_one_candidate(path: str) -> None:
    tree = MemoryTree({"src/app/b.py": b"x\n", "other/c.py": b"x\n"})
    (refusal,) = apply_edits([SearchReplace(path, "x\n", "y\n")], tree).refusals
    assert (refusal.label, refusal.hint) == ("path_invalid", "tracked files of that name: src/app/b.py")


def test_new_files_get_line_feeds_and_a_last_newline() -> None:
    tree = MemoryTree({"src/a.py": b"x\r\n"})
    edits: list[Edit] = [
        WholeFile("src/new.py", "a\r\nb\r\n"),
        SearchReplace("docs/n.md", "", "c\nd\n"),
        SearchReplace("e/f", "", ""),
    ]
    applied = apply_edits(edits, tree)
    assert [(file.path, file.before, file.after, file.whole_file) for file in applied.written] == [
        ("src/new.py", None, b"a\nb\n", True),
        ("docs/n.md", None, b"c\nd\n", False),
        ("e/f", None, b"", False),
    ]


@pytest.mark.parametrize("edit", [WholeFile("forms.py", "y\n"), SearchReplace("forms.py", "", "y\n")])
def test_no_second_file_of_a_known_name_appears_at_the_top(edit: Edit) -> None:
    tree = MemoryTree({"app/forms.py": b"x\n"})
    assert refused(apply_edits([edit], tree)) == [("path_invalid", "forms.py")]


def test_a_new_file_may_not_differ_from_a_known_one_only_in_case() -> None:
    tree = MemoryTree({"app/forms.py": b"x\n"})
    assert refused(apply_edits([WholeFile("App/Forms.py", "y\n")], tree)) == [("path_invalid", "App/Forms.py")]


def test_an_empty_search_never_touches_a_file_with_content() -> None:
    assert why(b"x\n", SearchReplace("a.py", "", "y\n"))[0] == "search_missing"


@pytest.mark.parametrize("edit", [WholeFile("build/x.py", "y\n"), SearchReplace("build/x.py", "", "y\n")])
def test_ignored_paths_are_refused(edit: Edit) -> None:
    tree = MemoryTree({"a.py": b"x\n"}, ignored=frozenset({"build"}))
    assert refused(apply_edits([edit], tree)) == [("edit_ignored_path", "build/x.py")]


def test_ignored_files_that_exist_are_refused_and_tracked_ones_are_not() -> None:
    files = {"build/x.py": b"x\n", "build/t.py": b"x\n"}
    tree = MemoryTree(files, ignored=frozenset({"build"}), untracked=frozenset({"build/x.py"}))
    assert refused(apply_edits([SearchReplace("build/x.py", "x\n", "y\n")], tree)) == [
        ("edit_ignored_path", "build/x.py")
    ]
    assert apply_edits([SearchReplace("build/t.py", "x\n", "y\n")], tree).refusals == ()


def test_an_untracked_file_that_was_shown_may_be_searched() -> None:
    tree = MemoryTree({"n.py": b"x\n"}, in_play=("n.py",), untracked=frozenset({"n.py"}))
    assert apply_edits([SearchReplace("n.py", "x\n", "y\n")], tree).refusals == ()


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"a\0b\n", "NUL"), (b"caf\xe9\n", "offset 3"), ("x\n".encode("utf-16"), "UTF-16"), (b"\xff\n", "offset 0")],
)
@pytest.mark.parametrize("edit", [SearchReplace("a.py", "x\n", "y\n"), WholeFile("a.py", "y\n")])
def test_binary_files_and_other_encodings_are_refused(data: bytes, told: str, edit: Edit) -> None:
    label, reason, _ = why(data, edit)
    assert label == "path_invalid"
    assert told in reason


OMISSIONS = [
    ("a.py", "# ... existing code ..."),
    ("a.py", "    # rest of the code remains unchanged"),
    ("a.py", "# ... (rest of the file)"),
    ("a.py", "# Rest of the methods"),
    ("a.py", "# other methods remain unchanged"),
    ("a.py", "# ..."),
    ("a.py", "    # … unchanged …"),
    ("a.py", "# existing imports here"),
    ("a.py", "# (unchanged)"),
    ("a.py", "... rest of the class ..."),
    ("a.js", "// ... existing code ..."),
    ("a.js", "  ..."),
    ("a.js", "/* remaining code stays the same */"),
    ("a.jsx", "{/* ... rest of the component ... */}"),
    ("a.sql", "-- rest of the file unchanged"),
    ("a.html", "<!-- ... existing content ... -->"),
    ("a.md", "<!-- rest of the file unchanged -->"),
    ("a.c", "[... unchanged code ...]"),
]


@pytest.mark.parametrize(("path", "line"), OMISSIONS)
def test_left_out_code_is_refused_in_files_and_blocks(path: str, line: str) -> None:
    whole, block = WholeFile(path, f"x = 2\n{line}\n"), SearchReplace(path, "x = 1\n", f"x = 2\n{line}\n")
    for edit in (whole, block):
        label, reason, _ = why(b"x = 1\ny = 1\n", edit, path)
        assert label == "format_invalid"
        assert reason.startswith("the edit leaves out code: ")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# the rest is computed by the caller"),
        ("a.py", "# Loading the remaining items..."),
        ("a.py", "# keep the same order as the original"),
        ("a.py", "    ..."),
        ("a.py", "def unchanged(): ..."),
        ("a.py", "# existing rows are kept, new ones are added below"),
        ("a.md", "# The rest of the code"),
        ("a.md", "... and so on"),
        ("a.yaml", "..."),
        ("a.js", "f(...rest)"),
        ("a.js", "// Return the same instance when nothing changed"),
        ("a.c", "/* skip other lines */"),
    ],
)
def test_ordinary_lines_are_no_omissions(path: str, line: str) -> None:
    assert one(b"x = 1\n", WholeFile(path, f"x = 2\n{line}\n"), path=path).endswith(line.encode() + b"\n")


def test_a_comment_the_file_already_has_is_its_own() -> None:
    data = b"x = 1\n# ... existing code ...\n"
    assert one(data, WholeFile("a.py", "x = 2\n# ... existing code ...\n")) == data.replace(b"1", b"2")


def test_an_empty_complete_file_never_empties_a_file() -> None:
    assert why(FILE, WholeFile("a.py", ""))[0] == "format_invalid"
    assert why(FILE, WholeFile("a.py", "\n\n"))[0] == "format_invalid"


def test_the_comment_with_the_path_is_dropped_unless_the_file_has_it() -> None:
    edit = WholeFile("a.py", "# a.py\nx = 2\n", title="# a.py")
    assert one(b"x = 1\n", edit) == b"x = 2\n"
    assert one(b"# a.py\nx = 1\n", edit) == b"# a.py\nx = 2\n"
    assert apply_edits([edit], MemoryTree({})).written[0].after == b"x = 2\n"


def test_a_file_is_given_once_only() -> None:
    edits: list[Edit] = [WholeFile("a.py", "y\n"), WholeFile("./a.py", "z\n")]
    assert refused(apply_edits(edits, MemoryTree({"a.py": b"x\n"}))) == [("format_invalid", "a.py")]
    mixed: list[Edit] = [SearchReplace("a.py", "x\n", "y\n"), WholeFile("a.py", "z\n")]
    assert refused(apply_edits(mixed, MemoryTree({"a.py": b"x\n"}))) == [("format_invalid", "a.py")]


def test_a_new_file_can_be_edited_by_the_next_block() -> None:
    edits = [SearchReplace("n/a.py", "", "x\ny\n"), SearchReplace("n/a.py", "y\n", "z\n")]
    (file,) = apply_edits(edits, MemoryTree({})).written
    assert (file.before, file.after) == (None, b"x\nz\n")


def test_a_tracked_file_that_is_gone_is_refused() -> None:
    class Gone(MemoryTree):
        def tracked(self) -> set[str]:
            return {"a.py"}

    assert refused(apply_edits([SearchReplace("a.py", "x\n", "y\n")], Gone({}))) == [("path_invalid", "a.py")]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n\0"), max_size=6).filter(
    lambda text: not text.endswith("\r")
)
END = st.sampled_from(["\n", "\n", "\r\n"])
BODY = st.lists(st.tuples(TEXT, END), min_size=1, max_size=10)


@given(
    body=BODY, new=st.lists(TEXT, max_size=5), cut=st.tuples(st.integers(0, 9), st.integers(1, 4)), bare=st.booleans(),
    bom=st.booleans(),
)  # fmt: skip
def test_bytes_outside_the_replaced_lines_never_change(
    body: list[tuple[str, str]], new: list[str], cut: tuple[int, int], bare: bool, bom: bool
) -> None:
    lines = [text + end for text, end in body]
    if bare and body[-1][0]:
        lines[-1] = body[-1][0]
    start = cut[0] % len(lines)
    stop = min(start + cut[1], len(lines))
    front = ("\ufeff" if bom else "") + "".join(lines[:start])
    data = (front + "".join(lines[start:])).encode()
    search = "".join(f"{text}\n" for text, _ in body[start:stop])
    replace = "".join(f"{text}\n" for text in new)
    applied = apply_edits([SearchReplace("a.py", search, replace)], MemoryTree({"a.py": data}))
    if applied.refusals:
        assert applied.refusals[0].label in {"search_ambiguous", "edit_noop", "search_missing"}
        # A mark inside the text is taken for a byte order mark at the very start
        assert applied.refusals[0].label != "search_missing" or body[0][0].startswith("\ufeff")
        return
    after = applied.written[0].after
    assert after.startswith(front.encode())
    assert after.endswith("".join(lines[stop:]).encode())
    middle = after[len(front.encode()) : len(after) - len("".join(lines[stop:]).encode())].decode()
    assert [part.removesuffix("\r") for part in middle.split("\n")][: len(new)] == new
    assert middle.count("\n") == len(new) - (stop == len(lines) and lines[-1] == body[-1][0] and bool(new))


@given(body=BODY, new=st.lists(TEXT, min_size=1, max_size=10), bare=st.booleans())
def test_a_complete_file_holds_its_lines_and_keeps_the_ends_of_the_old(
    body: list[tuple[str, str]], new: list[str], bare: bool
) -> None:
    lines = [text + end for text, end in body]
    if bare and body[-1][0]:
        lines[-1] = body[-1][0]
    data = "".join(lines).encode()
    text = "".join(f"{line}\n" for line in new)
    applied = apply_edits([WholeFile("a.yaml", text)], MemoryTree({"a.yaml": data}))
    if applied.refusals:
        assert applied.refusals[0].label in {"edit_noop", "format_invalid"}
        return
    after = applied.written[0].after.decode()
    if not after:
        assert new == [""]
        return
    has_newline = "".join(lines).endswith("\n")
    assert after.endswith("\n") == (has_newline or new[-1] == "")
    shown = [line.removesuffix("\r") for line in after.split("\n")]
    expected = [new[0].removeprefix("\ufeff"), *new[1:]]
    assert [line.removeprefix("\ufeff") for line in shown[: len(new)]] == [
        line.removeprefix("\ufeff") for line in expected
    ]
    ends = {end for _, end in body}
    if len(ends) == 1 and len(body) > 1:
        assert after.count("\r\n") == (after.count("\n") if ends == {"\r\n"} else 0)
