"""Columns stay where they are, whatever stands to their left."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.text import cell_width, crop_cells, expand_tabs, pad_cells

CASE = Path(__file__).parents[1] / "cases" / "terminal" / "E03-wide-text-alignment"
ROWS = json.loads((CASE / "rows.json").read_text())
WIDTHS = json.loads((CASE / "case.json").read_text())["expected"]["value"]

texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab\t価👩\u200d💻🇯🇵👍🏽\ufe0f❤e\u0301한")), max_size=24
)


@pytest.mark.parametrize(("text", "width"), list(zip(ROWS, WIDTHS, strict=True)))
def test_widths_of_the_case(text: str, width: int) -> None:
    assert cell_width(text, tab_size=4) == width


@pytest.mark.parametrize("text", ROWS)
def test_the_right_column_starts_at_the_same_cell(text: str) -> None:
    assert cell_width(pad_cells(text, 24)) == 24


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("🏳️\u200d🌈", 2),
        ("👨\u200d👩\u200d👧\u200d👦", 2),
        ("1\ufe0f\u20e3", 2),
        ("🇯", 1),
        ("🇯🇵🇩🇪", 4),
        ("ᄒ\u1161\u11ab", 2),
        ("－", 2),
        ("\u4dc0", 2),
        ("a\x1bb", 2),
        ("a\u200d👩", 3),
        ("\U0001fae8", 2),
    ],
)
def test_widths_of_more_sequences(text: str, width: int) -> None:
    assert cell_width(text) == width


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert crop_cells("価格表価", 7) == "価格表"
    assert pad_cells("価格表価", 7) == "価格表 "
    assert crop_cells("x👩\u200d💻", 2) == "x"


def test_tabs_become_blanks_before_anything_is_cut() -> None:
    assert expand_tabs("a\tb\t", 4) == "a   b   "
    assert crop_cells("\tx", 2) == "  "


@given(texts, st.integers(0, 30))
def test_padding_takes_exactly_the_cells_asked_for(text: str, cells: int) -> None:
    padded = pad_cells(text, cells)
    assert cell_width(padded) == cells
    assert "\t" not in padded


@given(texts, st.integers(0, 30))
def test_cropping_keeps_a_front_and_never_more_than_asked(text: str, cells: int) -> None:
    cropped = crop_cells(text, cells)
    assert expand_tabs(text).startswith(cropped)
    assert cell_width(cropped) <= cells


@given(texts)
def test_expanding_tabs_does_not_change_the_width(text: str) -> None:
    assert cell_width(expand_tabs(text)) == cell_width(text)
