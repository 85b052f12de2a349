"""The stories this tool was built against: none of them may end in review, each ends with its own name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.domain.states import State
from tests.engine.house import House, Recorded, record_answers
from tests.engine.project import CART, FIXED_CART, ISSUE, RIGHT_ANSWER, TESTS, blocks, make_project, whole

pytestmark = pytest.mark.e2e

DIFF = """The loop stops too early.

```diff
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -5,7 +5,7 @@
     result = 0
-    for price in prices[0:-1]:
+    for price in prices:
         result += price
```
"""
LOOP = "    for price in prices[:-1]:\n"
LONG_MODULE = CART + "".join(
    f"\n\ndef step_{n}(value):\n    return value + {n}  # one of many small steps\n" for n in range(900)
)
REWRITTEN = LONG_MODULE.replace("prices[:-1]", "prices").replace("return value +", "return int(value) +")
GREEN_TESTS = TESTS.replace("total([1, 2, 3]) == 6", "total([0]) == 0")


@pytest.fixture(scope="module")
def house(root: Path) -> Iterator[House]:
    made = House(root)
    made.start()
    yield made
    made.stop()


STORIES: dict[str, tuple[list[str | Recorded], dict[str, str], str]] = {
    "a diff that does not apply": ([DIFF], {}, "format_invalid"),
    "an answer that changes nothing": ([whole("shop/cart.py", CART)], {}, "edit_noop"),
    "REPLACE equal to SEARCH": ([blocks("shop/cart.py", (LOOP, LOOP))], {"shop/long.py": LONG_MODULE}, "edit_noop"),
    "a rewrite of a 58 KB file": (
        [blocks("shop/cart.py", (LONG_MODULE, REWRITTEN))],
        {"shop/cart.py": LONG_MODULE},
        "bloat",
    ),
    "a whole answer for a file too long for it": (
        [whole("shop/cart.py", REWRITTEN)],
        {"shop/cart.py": LONG_MODULE},
        "format_invalid",
    ),
    "an answer cut by the token limit": ([Recorded(RIGHT_ANSWER[:300], "length")], {}, "gen_length"),
    "tests that pass on the untouched tree": (
        [blocks("shop/cart.py", ("    for cost in prices[:-1]:\n", "    for cost in prices:\n"))],
        {"tests/test_cart.py": GREEN_TESTS},
        "search_missing",
    ),
    "a new file that .gitignore hides": ([whole("build/cart.py", FIXED_CART)], {}, "edit_ignored_path"),
    "an edit of the tests": ([whole("tests/test_cart.py", GREEN_TESTS)], {}, "tampered"),
    "a change that breaks another test": (
        [whole("shop/cart.py", FIXED_CART.replace("min(prices)", "max(prices)"))],
        {},
        "regression",
    ),
    "code that does not parse": (
        [whole("shop/cart.py", FIXED_CART.replace("for price in", "for price on"))],
        {},
        "syntax_new",
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_story_never_reaches_review_and_has_its_own_name(name: str, house: House, tmp_path: Path) -> None:
    answers, extra, label = STORIES[name]
    repo = make_project(tmp_path / "repo", extra)
    model = record_answers(tmp_path / "recorded", answers)
    state = house.wait(house.add(repo, ISSUE, model))
    assert (state.state, state.label) == (State.FAILED, label), state.reason
    assert state.reason


def test_an_answer_that_says_nothing_needs_to_change_ends_as_no_change(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    model = record_answers(tmp_path / "recorded", ["NO CHANGE: the function is right as it is"])
    state = house.wait(house.add(repo, ISSUE, model))
    assert state.state is State.NO_CHANGE


def test_the_right_answer_is_proven_by_the_test_that_flips(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    state = house.wait(house.add(repo, ISSUE, record_answers(tmp_path / "recorded", [RIGHT_ANSWER])))
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    assert state.round is not None
    assert state.round.runs[-1].flipped == ("tests/test_cart.py::test_total",)
    assert state.round.runs[-1].tree == state.round.harvest.tree  # type: ignore[union-attr]  # it was harvested


def test_a_refused_answer_is_followed_by_a_round_that_mends_it(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    model = record_answers(tmp_path / "recorded", [DIFF, whole("shop/cart.py", CART), RIGHT_ANSWER])
    state = house.wait(house.add(repo, ISSUE, model))
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    assert [item.verdict.label for item in state.attempts[0].rounds if item.verdict] == [
        "format_invalid",
        "edit_noop",
        "",
    ]


def test_the_same_answer_twice_starts_a_fresh_attempt(house: House, tmp_path: Path) -> None:
    repo = make_project(tmp_path / "repo")
    recorded = tmp_path / "recorded"
    record_answers(recorded, [DIFF, DIFF])
    model = record_answers(recorded, [RIGHT_ANSWER], attempt=2)
    state = house.wait(house.add(repo, ISSUE, model))
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    assert state.attempts[0].ended is not None
    assert state.attempts[0].ended.label == "stuck"
    assert state.attempts[1].lessons
