from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.localise import shortlist

TREE: dict[str, str] = {
    "shop/tax.py": "def parse_rate(text):\n    return float(text)\n",
    "shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n",
    "shop/__init__.py": "",
    "src/billing/invoice.py": "def render():\n    return 'invoice'\n",
    "lib/tax.py": "RATE = 1\n",
    "tests/test_tax.py": "from shop.tax import parse_rate\n\n\ndef test_parse_rate():\n    parse_rate('1')\n",
    "vendor/tax/parse_rate.py": "def parse_rate(): ...\n",
    "core/queue.c": "static int queue_push(struct queue *q, int v)\n{\n    return 0;\n}\n",
    "core/main.c": "int main(void)\n{\n    queue_push(q, 1);\n}\n",
    "setup.cfg": "[metadata]\nname = shop\n",
    "docs/tax.md": "parse_rate parse_rate parse_rate\n",
    "logo.png": "\0\0",
}


class Tree:
    """Files in memory, some of which cannot be read."""

    def __init__(self, files: Mapping[str, str], broken: str = "") -> None:
        self.files = files
        self.broken = broken

    def paths(self) -> list[str]:
        return sorted(self.files, reverse=True)

    def read(self, path: str) -> bytes:
        if path == self.broken:
            raise OSError(path)
        return self.files[path].encode()


def best(issue: str, files: Mapping[str, str] = TREE) -> list[str]:
    return [candidate.path for candidate in shortlist(issue, Tree(files))]


@pytest.mark.parametrize(
    ("issue", "first"),
    [
        ("`shop/tax.py` is wrong about the Cart total of prices", "shop/tax.py"),
        ("the bug is in shop/tax.py:2", "shop/tax.py"),
        ("broken: C:\\work\\shop\\tax.py", "shop/tax.py"),
        ('File "/home/me/proj/shop/cart.py", line 3, in total\nTypeError', "shop/cart.py"),
        ("billing.invoice.render returns nothing", "src/billing/invoice.py"),
        ("importing shop.cart fails", "shop/cart.py"),
        ("calling parse_rate('x') raises", "shop/tax.py"),
        ("the `Cart` is empty", "shop/cart.py"),
        ("queue_push() loses values", "core/queue.c"),
        ("the name in setup.cfg is wrong", "setup.cfg"),
        ("the sum of all prices is off", "shop/cart.py"),
    ],
)
def test_the_file_an_issue_is_about_comes_first(issue: str, first: str) -> None:
    assert best(issue)[0] == first


def test_what_is_named_outranks_what_only_reads_alike() -> None:
    files = {"a.py": "rate rate rate tax tax\n" * 50, "b.py": "x = 1\n"}
    assert best("tax rate rate rate is wrong, see b.py", files) == ["b.py", "a.py"]


def test_the_innermost_frame_of_a_traceback_comes_first() -> None:
    files = {"a/one.py": "", "a/two.py": "", "a/three.py": ""}
    issue = "".join(f'  File "/x/a/{name}.py", line 1, in f\n' for name in ("two", "three", "one"))
    assert best(issue, files) == ["a/one.py", "a/three.py", "a/two.py"]


def test_tests_rank_below_code_unless_they_are_named() -> None:
    found = best("parse_rate('x') raises")
    assert found.index("shop/tax.py") < found.index("tests/test_tax.py")
    assert best("tests/test_tax.py hangs")[0] == "tests/test_tax.py"


def test_vendored_binary_unreadable_and_huge_files_are_not_listed() -> None:
    assert "vendor/tax/parse_rate.py" not in best("parse_rate")
    assert "docs/tax.md" not in best("parse_rate")
    files = {"a.py": "needle\n", "b.py": "needle\0", "c.py": "needle\n" * 200_000, "d.py": "needle\n"}
    found = shortlist("needle", Tree(files, broken="d.py"))
    assert [candidate.path for candidate in found] == ["a.py"]


def test_each_candidate_says_why_and_shows_its_outline() -> None:
    first = shortlist("parse_rate('x') raises", Tree(TREE))[0]
    assert first.reasons[0] == "defines parse_rate"
    assert first.outline == "def parse_rate(text)  (1-2)"


def test_the_list_is_as_long_as_asked_and_the_same_every_time() -> None:
    files = {f"m{number:02}.py": "needle = 1\n" for number in range(30)}
    once = shortlist("needle", Tree(files))
    assert [candidate.path for candidate in once] == sorted(files)[:10]
    assert shortlist("needle", Tree(dict(reversed(files.items())))) == once
    assert len(shortlist("needle", Tree(files), limit=3)) == 3


@pytest.mark.parametrize("issue", ["", "the and of", "@" * 100_000, "`a(" * 40_000, "a/" * 60_000, "A" * 100_000])
def test_an_issue_that_says_nothing_gives_an_empty_list(issue: str) -> None:
    assert shortlist(issue, Tree({"x.py": "value = 1\n"})) == ()


def test_an_empty_tree_gives_an_empty_list() -> None:
    assert shortlist("anything in shop/tax.py", Tree({})) == ()


@given(st.text(max_size=200))
def test_any_issue_can_be_searched_for(issue: str) -> None:
    found = shortlist(issue, Tree(TREE))
    assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
