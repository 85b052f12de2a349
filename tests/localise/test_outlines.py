import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.localise import context_for, enclosing_symbols, outline_text

SOURCE = b"""import os
\x0c

class Cart:
    def total(self):
        return sum(self.prices)

    def clear(self):
        self.prices = []


def parse_rate(text):
    return float(text)
"""


def test_an_outline_has_a_line_for_each_definition() -> None:
    assert outline_text("shop.py", SOURCE, 10).splitlines() == [
        "class Cart  (4-9)",
        "    def total(self)  (5-6)",
        "    def clear(self)  (8-9)",
        "def parse_rate(text)  (12-13)",
    ]


def test_a_short_outline_drops_the_deepest_first_and_counts_them() -> None:
    assert outline_text("shop.py", SOURCE, 3).splitlines() == [
        "class Cart  (4-9)",
        "    def total(self)  (5-6)",
        "def parse_rate(text)  (12-13)",
        "(1 more definitions)",
    ]
    assert outline_text("shop.py", SOURCE, 0) == "(4 more definitions)"


def test_a_file_without_definitions_has_an_empty_outline() -> None:
    assert outline_text("shop.py", b"", 5) == ""
    assert outline_text("notes.txt", SOURCE, 5) == ""


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["total"], ["Cart.total"]),
        (["Cart.clear"], ["Cart.clear"]),
        (["Cart", "total"], ["Cart"]),
        (["parse_rate", "total"], ["Cart.total", "parse_rate"]),
        (["6"], ["Cart.total"]),
        (["4"], ["Cart"]),
        (["1", "999", "missing", ""], []),
    ],
)
def test_symbols_are_found_by_name_and_by_line(names: list[str], found: list[str]) -> None:
    assert [symbol.name for symbol in enclosing_symbols("shop.py", SOURCE, names)] == found


def test_a_file_that_fits_is_shown_whole() -> None:
    assert context_for("shop.py", SOURCE, len(SOURCE), ["total"]) == SOURCE.decode()


BIG = SOURCE + b"\n\ndef long():\n" + b"    work()\n" * 200


def test_a_large_file_is_shown_as_whole_symbols_and_an_outline_of_the_rest() -> None:
    assert context_for("shop.py", BIG, 300, ["parse_rate"]).splitlines() == [
        "[lines 12-13: parse_rate]",
        "def parse_rate(text):",
        "    return float(text)",
        "",
        "[outline of the rest, 216 lines in all]",
        "class Cart  (4-9)",
        "    def total(self)  (5-6)",
        "    def clear(self)  (8-9)",
        "def long()  (16-216)",
    ]


def test_a_symbol_that_does_not_fit_is_left_to_the_outline() -> None:
    text = context_for("shop.py", BIG, 300, ["long", "total"])
    assert "work()" not in text
    assert "def long()  (16-216)" in text
    assert "return sum(self.prices)" in text


@given(st.integers(0, 3000), st.lists(st.sampled_from(["Cart", "total", "long", "parse_rate", "9", "x"]), max_size=4))
def test_context_keeps_its_budget_and_never_cuts_a_line(budget: int, wanted: list[str]) -> None:
    text = context_for("shop.py", BIG, budget, wanted)
    assert len(text.encode()) <= budget
    whole = set(BIG.decode().split("\n"))
    shown = [line for line in text.split("\n") if not line.startswith(("[", "(")) and not line.endswith(")")]
    assert set(shown) <= whole


def test_line_ends_and_foreign_bytes_of_a_shown_symbol_stay_in_place() -> None:
    source = b"def f():\r\n    return '\xff'\r\n" + b"# filler\r\n" * 50
    assert context_for("a.py", source, 120, ["f"]).startswith("[lines 1-2: f]\ndef f():\r\n    return '\ufffd'\r\n")
