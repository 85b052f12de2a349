"""The sanitiser leaves nothing that moves, hides or reorders, and nothing ordinary is touched."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.text import hidden_positions, visible

NASTY = "\x1b\x07\b\r\n\t\x7f\x85\x9b"
NASTY += "\u00ad\u061c\u200b\u200c\u200d\u200e\u2028\u202e\u2066\u2069\ufeff\ufe0f\U000e0041\ud800"
ORDINARY = "a é☂❤👩💻क्षसलام名#1⟨"
texts = st.text(st.one_of(st.characters(codec=None), st.sampled_from(NASTY + ORDINARY)), max_size=40)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b\x07", "a␀b␇"),
        ("del\x7f", "del␡"),
        ("nel\u0085", "nel⟨U+0085⟩"),
        ("csi\x9b2J", "csi⟨U+009B⟩2J"),
        ("two\nlines", "two␊lines"),
        ("cr\rover", "cr␍over"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("a\u2066b\u2069", "a⟨U+2066⟩b⟨U+2069⟩"),
        ("x\u2028y\u2029", "x⟨U+2028⟩y⟨U+2029⟩"),
        ("ad\u200bmin\ufeff", "ad⟨U+200B⟩min⟨U+FEFF⟩"),
        ("co\u00adop", "co⟨U+00AD⟩op"),
        ("half\ud83d", "half⟨U+D83D⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("ad\u200dmin", "ad⟨U+200D⟩min"),
        ("\u3164 = 1", "⟨U+3164⟩ = 1"),
    ],
)
def test_hidden_characters_become_marks(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "مرحبا café 名前",
        "\U0001f469\u200d\U0001f4bb dev",
        "\u2764\ufe0f heart",
        "1\ufe0f\u20e3 keycap",
        "\U0001f44d\U0001f3fd good",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "می\u200cخواهم",
        "क्\u200dष",
        "葛\U000e0100",
        "e\u0301 ─│…",
        "Price\u00a0list – spring",
    ],
)
def test_ordinary_writing_stays_and_raises_no_warning(text: str) -> None:
    assert visible(text) == text
    assert hidden_positions(text) == ()


def test_ascii_mode_writes_code_points_in_angle_brackets() -> None:
    assert visible("\u202eé\x1b[0m", ascii_only=True) == "<U+202E><U+00E9><U+001B>[0m"


def test_newlines_stay_on_request_and_tabs_become_blanks_up_to_their_stop() -> None:
    assert visible("a\tb\n\tc", keep_newlines=True) == "a   b\n    c"
    assert visible("名\tb", tab_size=8) == "名      b"


def test_positions_count_from_one_and_name_the_code_point() -> None:
    assert hidden_positions("ab\u200bc\x1b") == ((3, 0x200B), (5, 0x1B))
    assert hidden_positions("tab\tand line\n") == ()


@given(texts, st.booleans(), st.booleans())
def test_showing_twice_is_showing_once(text: str, keep: bool, ascii_only: bool) -> None:
    once = visible(text, keep_newlines=keep, ascii_only=ascii_only)
    assert visible(once, keep_newlines=keep, ascii_only=ascii_only) == once


@given(texts, st.booleans(), st.booleans())
def test_no_control_ever_reaches_the_terminal(text: str, keep: bool, ascii_only: bool) -> None:
    shown = visible(text, keep_newlines=keep, ascii_only=ascii_only)
    for char in shown:
        assert (char == "\n" and keep) or not (char < " " or "\x7f" <= char <= "\x9f")
    assert shown.isascii() or not ascii_only
    shown.encode()
    assert hidden_positions(shown) == ()


def test_every_invisible_category_is_covered() -> None:
    drawn = set(map(chr, [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]))
    left = [
        f"U+{code:04X}"
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp", "Cs"}
        and chr(code) not in drawn
        and visible(f"a{chr(code)}b", tab_size=1) == f"a{chr(code)}b"
    ]
    assert left == []
