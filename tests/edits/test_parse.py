"""Answers of small models, as they come: what is taken, and what is refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.edits.model import Edit, EditFormat, ParsedAnswer, SearchReplace, WholeFile
from cockpit.edits.parse import parse_answer
from cockpit.edits.render import format_edits

BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
FENCED = f"```python\n{BLOCK}```\n"
WHOLE = "```python\nx = 1\n```\n"
IN_PLAY = ("app/forms.py",)


def read(
    text: str, edit_format: EditFormat = "search_replace", finish: str = "stop", in_play: tuple[str, ...] = IN_PLAY
) -> ParsedAnswer:
    return parse_answer(text, edit_format=edit_format, finish=finish, in_play=in_play)


def problem(text: str, edit_format: EditFormat = "search_replace", in_play: tuple[str, ...] = IN_PLAY) -> str:
    parsed = read(text, edit_format, in_play=in_play)
    assert parsed.edits == ()
    assert parsed.no_change is None
    assert parsed.problem_label == "format_invalid"
    return parsed.problem_reason


NAMINGS = [
    "app/forms.py\n{}",
    "`app/forms.py`\n{}",
    "**app/forms.py**\n{}",
    "**`app/forms.py`**:\n{}",
    "File: app/forms.py\n{}",
    "**File:** `app/forms.py`\n{}",
    "**File: app/forms.py**\n{}",
    "### app/forms.py\n\n{}",
    "### 1. `app/forms.py`\n{}",
    "# app/forms.py\n{}",
    "// app/forms.py\n{}",
    "filename: app/forms.py\n\n{}",
    "I will change the limit in `app/forms.py`:\n\n{}",
    "app/forms.py\n\nThe limit was too low, e.g. for admins.\n\n{}",
    "Sure! Here it is.\r\n\r\napp/forms.py\r\n{}",
]


@pytest.mark.parametrize("naming", NAMINGS)
@pytest.mark.parametrize("in_play", [(), ("app/forms.py", "app/base.py")])
def test_the_file_name_is_read_however_it_is_dressed(naming: str, in_play: tuple[str, ...]) -> None:
    assert read(naming.format(FENCED), in_play=in_play).edits == (SearchReplace("app/forms.py", "old\n", "new\n"),)
    assert read(naming.format(WHOLE), "whole_file", in_play=in_play).edits == (WholeFile("app/forms.py", "x = 1\n"),)


@pytest.mark.parametrize(
    "info", ["python app/forms.py", "python:app/forms.py", "app/forms.py", 'py title="app/forms.py"']
)
def test_the_file_name_is_read_behind_the_fence_marks(info: str) -> None:
    assert read(f"```{info}\n{BLOCK}```").edits[0].path == "app/forms.py"
    assert read(f"```{info}\nx = 1\n```", "whole_file").edits[0].path == "app/forms.py"


def test_the_file_name_is_read_inside_the_fence_above_the_markers() -> None:
    assert read(f"```python\napp/forms.py\n{BLOCK}```").edits[0].path == "app/forms.py"
    assert read(f"```python\n# app/forms.py\n{BLOCK}```").edits[0].path == "app/forms.py"


def test_a_comment_with_the_path_on_the_first_line_names_a_whole_file() -> None:
    (edit,) = read("```python\n# app/forms.py\nx = 1\n```", "whole_file", in_play=()).edits
    assert edit == WholeFile("app/forms.py", "# app/forms.py\nx = 1\n")
    assert isinstance(edit, WholeFile)
    assert edit.title == "# app/forms.py"


def test_a_short_name_in_a_comment_is_no_other_file_than_the_only_one_in_play() -> None:
    assert read("```python\n# forms.py\nx = 1\n```", "whole_file").edits[0].path is None


@pytest.mark.parametrize("edit_format", ["search_replace", "whole_file", "auto"])
def test_a_missing_name_stays_open(edit_format: EditFormat) -> None:
    text = FENCED if edit_format == "search_replace" else WHOLE
    assert [edit.path for edit in read(text, edit_format).edits] == [None]


def test_prose_around_a_block_is_no_name() -> None:
    assert read(f"The check is wrong, see e.g. the docs.\n\nFix:\n{FENCED}\nDone. Run and/or test it.").edits == (
        SearchReplace(None, "old\n", "new\n"),
    )


@pytest.mark.parametrize("mark", ["~~~", "````", "`````", "~~~~~"])
@pytest.mark.parametrize("info", ["", "python"])
def test_fences_of_every_kind_are_read(mark: str, info: str) -> None:
    assert read(f"a.py\n{mark}{info}\n{BLOCK}{mark}\n").edits == (SearchReplace("a.py", "old\n", "new\n"),)
    assert read(f"a.py\n{mark}{info}\nx = 1\n{mark}\n", "whole_file").edits == (WholeFile("a.py", "x = 1\n"),)


def test_blocks_without_any_fence_are_read() -> None:
    assert read(f"a.py\n{BLOCK}").edits == (SearchReplace("a.py", "old\n", "new\n"),)


def test_several_blocks_and_files_keep_their_order_and_inherit_the_name() -> None:
    text = f"a.py\n```python\n{BLOCK}\n{BLOCK.replace('old', 'older')}```\n\nb.py\n{FENCED}\nand again\n{FENCED}"
    assert [(edit.path, edit.line) for edit in read(text).edits] == [
        ("a.py", 3),
        ("a.py", 9),
        ("b.py", 18),
        ("b.py", 27),
    ]


def test_several_whole_files_are_read() -> None:
    text = "a.py\n```python\nx = 1\n```\n\nb/c.py\n```\ny = 2\n```\nRun:\n```sh\npytest\n```\n"
    assert read(text, "whole_file").edits == (WholeFile("a.py", "x = 1\n"), WholeFile("b/c.py", "y = 2\n"))


def test_crlf_answers_read_like_lf_answers() -> None:
    text = f"a.py\n{FENCED}"
    assert read(text.replace("\n", "\r\n")) == read(text)
    whole = f"a.py\n{WHOLE}"
    assert read(whole.replace("\n", "\r\n"), "whole_file") == read(whole, "whole_file")


def test_unicode_separators_do_not_end_a_line() -> None:
    (edit,) = read("a.py\n```\n<<<<<<< SEARCH\na\u2028b\x0cc\x85d\n=======\ne\n>>>>>>> REPLACE\n```").edits
    assert edit == SearchReplace("a.py", "a\u2028b\x0cc\x85d\n", "e\n")


def test_an_empty_search_asks_for_a_new_file() -> None:
    text = "a.py\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE"
    assert read(text).edits == (SearchReplace("a.py", "", "new\n"),)


def test_longer_markers_protect_content_that_looks_like_markers() -> None:
    content = "Title\n=======\n<<<<<<< SEARCH\n>>>>>>> REPLACE\n"
    text = f"a.rst\n<<<<<<<<< SEARCH\n{content}=========\n{content}more\n>>>>>>>>> REPLACE\n"
    assert read(text).edits == (SearchReplace("a.rst", content, f"{content}more\n"),)


def test_a_longer_heading_line_is_content() -> None:
    text = "a.rst\n<<<<<<< SEARCH\nTitle\n==========\n=======\nTitle 2\n==========\n>>>>>>> REPLACE\n"
    assert read(text).edits == (SearchReplace("a.rst", "Title\n==========\n", "Title 2\n==========\n"),)


def test_markers_one_character_off_are_still_markers() -> None:
    text = "a.py\n<<<<<< SEARCH\nold\n=====\nnew\n>>>>>>>> REPLACE\n"
    assert read(text).edits == (SearchReplace("a.py", "old\n", "new\n"),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.rst\n<<<<<<< SEARCH\nT\n=======\n=======\nU\n=======\n>>>>>>> REPLACE", "lines 4, 5, 7: any of these"),
        ("a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n", "line 2: the SEARCH block has no >>>>>>> REPLACE"),
        ("a.py\n<<<<<<< SEARCH\nold\n>>>>>>> REPLACE\n", "line 2: the SEARCH block has no ======="),
        (f"a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n{BLOCK}", "line 6: a SEARCH block begins before"),
        (f"a.py\n{BLOCK}>>>>>>> REPLACE\n", "line 7: a REPLACE marker without"),
        (f"a.py\n```python\n{BLOCK}", "line 2: the code fence is never closed"),
        (f"a.py\n{FENCED}\nb.py\n```python\nx = 1\n```\n", "the block for b.py has no SEARCH"),
        (f"a.py\n{WHOLE}", "no <<<<<<< SEARCH"),
        ("I would change the limit.", "no SEARCH/REPLACE block"),
        ("", "empty"),
        (" \n", "empty"),
    ],
)
def test_an_unclear_search_replace_answer_is_refused_with_its_reason(text: str, reason: str) -> None:
    assert reason in problem(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a.py\n```python\nx = 1\n", "line 2: the code fence is never closed"),
        ("a.py\n```python\nx = 1\n\nb.py\n```python\ny = 2\n```\n", "line 2: the code fence is never closed"),
        ("README.md\n```markdown\n# T\n```\nmake\n```\nmore\n```\n", "line 2: it is not clear where this file ends"),
        ("README.md\n```markdown\n# T\n```\nmain.py\n```\nmore\n```\n", "line 2: it is not clear where this file ends"),
        ("```markdown\n# T\n```\nmake\n```\nmore\n```\n", "line 1: it is not clear where this file ends"),
        ("a.py\n```python\nx = 1\n```\nAlso tests/test_a.py gets:\n```python\ny = 1\n```\n", "line 6: the block names"),
        ("```python\nx\n```\nor\n```python\ny\n```\n", "2 blocks and none names"),
        (f"a.md\n```markdown\nText\n{BLOCK}```\n", "markers and other code"),
        ("Just do it.", "no fenced block"),
    ],
)
def test_an_unclear_whole_file_answer_is_refused_with_its_reason(text: str, reason: str) -> None:
    assert reason in problem(text, "whole_file")


DIFF = "--- a/app/forms.py\n+++ b/app/forms.py\n@@ -1 +1 @@\n-old\n+new\n"


@pytest.mark.parametrize("edit_format", ["search_replace", "whole_file", "auto"])
@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        f"diff --git a/app/forms.py b/app/forms.py\n{DIFF}",
        f"Here:\n```diff\n{DIFF}```\n",
        f"app/forms.py\n```python\n{DIFF}```\n",
        "app/forms.py\n```diff\n-old\n+new\n```\n",
        f"```diff\n{DIFF}```\n```diff\n{DIFF}```\n",
    ],
)
def test_a_diff_is_named_as_such(text: str, edit_format: EditFormat) -> None:
    assert problem(text, edit_format).startswith("the answer is a diff")


def test_a_file_that_is_a_diff_may_be_written() -> None:
    assert read(f"fix.patch\n```\n{DIFF}```\n", "whole_file").edits == (WholeFile("fix.patch", DIFF),)


def test_a_diff_that_only_explains_a_complete_file_is_left_out() -> None:
    text = f"app/forms.py\n{WHOLE}\nWhat changed:\n```diff\n-x\n+x = 1\n```\n"
    assert read(text, "whole_file").edits == (WholeFile("app/forms.py", "x = 1\n"),)


def test_search_replace_is_read_when_whole_files_were_asked_for() -> None:
    for edit_format in ("whole_file", "auto"):
        assert read(f"a.py\n{FENCED}", "auto" if edit_format == "auto" else "whole_file").edits == (
            SearchReplace("a.py", "old\n", "new\n"),
        )


@pytest.mark.parametrize("finish", ["length", "cut"])
@pytest.mark.parametrize("edit_format", ["search_replace", "whole_file", "auto"])
def test_an_unfinished_answer_yields_no_edit(finish: str, edit_format: EditFormat) -> None:
    parsed = read(f"a.py\n{FENCED}", edit_format, finish)
    assert parsed.edits == ()
    assert parsed.problem_label == {"length": "gen_length", "cut": "format_invalid"}[finish]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NO CHANGE: the check is already there", "the check is already there"),
        ("I looked.\n\n**NO CHANGE:** already fixed\n", "already fixed"),
        ("NO CHANGE:\nthe check\nis there", "the check is there"),
        ("NO CHANGE: see\n```python\nif x:\n    pass\n```\n", "see"),
    ],
)
@pytest.mark.parametrize("edit_format", ["search_replace", "whole_file", "auto"])
def test_no_change_with_a_reason_is_an_answer(text: str, reason: str, edit_format: EditFormat) -> None:
    assert read(text, edit_format) == ParsedAnswer(no_change=reason)


def test_no_change_is_only_said_outside_code_and_without_edits() -> None:
    assert "NO CHANGE: and gives edits" in problem(f"NO CHANGE: fine\na.py\n{FENCED}")
    assert "NO CHANGE: and gives edits" in problem(f"NO CHANGE: fine\n\na.py\n{WHOLE}", "whole_file")
    assert "without a reason" in problem("NO CHANGE:\n")
    assert read("a.py\n```\nNO CHANGE: x\n```\n", "whole_file").edits == (WholeFile("a.py", "NO CHANGE: x\n"),)
    assert "no SEARCH/REPLACE" in problem("no change needed: it works")


def test_thoughts_are_never_edits() -> None:
    thought = f"<think>\na.py\n{FENCED}</think>\n"
    assert read(f"{thought}b.py\n{FENCED}").edits == (SearchReplace("b.py", "old\n", "new\n"),)
    assert read(f"{thought}b.py\n{FENCED}").edits[0].line == 13
    assert read(f"maybe a.py\n{FENCED}</think>\nb.py\n{FENCED}").edits == (SearchReplace("b.py", "old\n", "new\n"),)
    assert read(thought).problem_label == "thinking_only"
    assert read(f"<think>\na.py\n{FENCED}").problem_label == "thinking_only"


def test_a_file_may_speak_of_thoughts() -> None:
    text = "a.py\n```python\n</think>\nx = '<think>'\n```\n"
    assert read(text, "whole_file").edits == (WholeFile("a.py", "</think>\nx = '<think>'\n"),)


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "    x = 1", "=======", "========", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "```", "````", "```python",
             "~~~", "# a.py", "a/b.py", "NO CHANGE: x", "+new", "@@ -1 +1 @@", "</think>", " ``` ", "a\u2028b",
             "`x.py`:"]
        ),
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12),
    ),
    max_size=8,
)  # fmt: skip
TEXTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))
PATHS = st.sampled_from(["a.py", "src/b.c", "Makefile", "docs/read me.md", ".gitignore", "x/y/z", "naïve/é.txt"])
BLOCKS = st.lists(st.builds(SearchReplace, PATHS, TEXTS, TEXTS), min_size=1, max_size=4)
FILES = st.lists(
    st.builds(WholeFile, PATHS, TEXTS.filter(lambda text: "<<<<<<< SEARCH" not in text)), min_size=1, max_size=3
)


@given(BLOCKS, st.booleans())
def test_blocks_written_by_us_are_read_back(edits: list[Edit], crlf: bool) -> None:
    text = format_edits(edits)
    text = text.replace("\n", "\r\n") if crlf else text
    for edit_format in ("search_replace", "auto"):
        parsed = parse_answer(
            text, edit_format="auto" if edit_format == "auto" else "search_replace", finish="stop", in_play=()
        )
        assert parsed == ParsedAnswer(tuple(edits))


@given(FILES)
def test_files_written_by_us_are_read_back(edits: list[Edit]) -> None:
    parsed = parse_answer(format_edits(edits), edit_format="whole_file", finish="stop", in_play=())
    assert parsed == ParsedAnswer(tuple(edits))


@given(st.text(), st.sampled_from(["search_replace", "whole_file", "auto"]))
def test_any_text_is_read_or_refused(text: str, edit_format: EditFormat) -> None:
    parsed = parse_answer(text, edit_format=edit_format, finish="stop", in_play=())
    assert bool(parsed.edits) + bool(parsed.problem_label) + (parsed.no_change is not None) == 1


@given(LINES, st.sampled_from(["search_replace", "whole_file", "auto"]))
def test_any_lines_of_the_formats_are_read_or_refused(lines: list[str], edit_format: EditFormat) -> None:
    parsed = parse_answer("\n".join(lines), edit_format=edit_format, finish="stop", in_play=("a.py",))
    assert bool(parsed.edits) + bool(parsed.problem_label) + (parsed.no_change is not None) == 1
