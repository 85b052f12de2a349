"""Loops are noticed early, and code that merely repeats itself is left alone."""

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.repetition import LINE_WINDOW, Repetition

THREE = "+    if value is None:\n+        value = default(name)\n+    cache[name] = value\n"


def found_in(text: str, *, piece: int = 7, repeats: int = 8) -> str | None:
    loop = Repetition(repeats)
    for start in range(0, len(text), piece):
        if reason := loop.feed(text[start : start + piece]):
            return reason
    return None


def test_three_lines_again_and_again_are_a_loop() -> None:
    assert found_in("I add the check:\n\n" + THREE * 1500) == "the same 3 lines 26 times in a row"


@pytest.mark.parametrize("size", range(1, 21))
def test_a_block_of_any_size_up_to_twenty_lines_is_found(size: int) -> None:
    block = "".join(f"    step_{number}(value)\n" for number in range(size))
    assert found_in("start\n" + block * 100)
    assert found_in("start\n" + block * 7) is None


def test_one_word_line_without_end_is_a_loop() -> None:
    assert "'return value' 80 times" in str(found_in("return value\n" * 400))


def test_a_long_line_that_repeats_itself_is_a_loop() -> None:
    assert "repeats the same 16" in str(found_in("x = " + "and then again, " * 600))


def test_a_long_sentence_without_line_ends_is_a_loop() -> None:
    sentence = "Let me think about this once more, because the function may also be called with None. "
    assert found_in(sentence * 120)


def test_empty_lines_and_dashes_without_end_are_loops_in_the_end() -> None:
    assert found_in("\n" * 4000)
    assert found_in("-" * 100_000, piece=512)


@pytest.mark.parametrize(
    "text",
    [
        "}\n" * 60,
        "    }\n  }\n}\n" * 20,
        "\n" * 200,
        "| a | 1 |\n" * 7 + "| b | 2 |\n" * 7,
        "    assert parser is not None\n" * 7,
        "alice,1,active\n" * 50,
        "0, 0, 0, 0, 0, 0, 0, 0,\n" * 256,
        "".join(f"| row {number} | value {number} |\n" for number in range(400)),
        "".join(f"    {number}: 'text/plain',\n" for number in range(400)),
        "#" + "=" * 3000 + "\n",
        "DATA = '" + "A" * 20_000 + "'\n",
        "x = [" + "0x00, " * 3000 + "]\n",
    ],
    ids=[
        "closing braces",
        "nested closing braces",
        "blank lines",
        "equal table rows",
        "seven equal lines",
        "a data file with equal rows",
        "a matrix of zeros",
        "rows that differ in a number",
        "a long mapping",
        "a rule",
        "padding",
        "a row of zeros",
    ],
)
def test_legitimate_repetition_is_left_alone(text: str) -> None:
    assert found_in(text) is None


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(1, 12))
def test_how_the_text_is_cut_into_pieces_changes_nothing_for_lines(piece: int, size: int) -> None:
    block = "".join(f"call({number})\n" for number in range(size))
    assert found_in("a\nb\n" + block * 90, piece=piece) is not None


def test_a_trailing_space_does_not_hide_a_loop() -> None:
    assert found_in("go on\ngo on  \n" * 60)


def test_no_file_of_the_standard_library_counts_as_a_loop() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in root.rglob("*.py") if "site-packages" not in path.parts]
    alarms = {
        str(path.relative_to(root)): reason
        for path in files
        if (reason := found_in(path.read_text("utf-8", errors="replace"), piece=1024))
    }
    assert len(files) > 500, "figure: the standard library was there to be read"
    assert alarms == {}, f"figure: {len(alarms)} false alarms in {len(files)} files"


def test_a_line_just_below_the_window_is_never_judged() -> None:
    assert found_in("and so on " * (LINE_WINDOW // 10 - 1)) is None
