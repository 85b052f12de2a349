"""Feedback speaks of the failures that matter, and only of these."""

from cockpit.roles.digest import failure_digest

OUTPUT = """\
=================================== FAILURES ===================================
_________________________________ test_total ___________________________________

    def test_total():
>       assert total([1, 2, 3]) == 6
E       assert 3 == 6

tests/test_cart.py:5: AssertionError
____________________________ TestOther.test_old[a-b] ___________________________

>       assert False
E       assert False
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 6
2 failed, 1 passed in 0.03s
"""


def test_only_wanted_tests_are_told_and_only_their_telling_lines() -> None:
    digest = failure_digest(OUTPUT, ["tests/test_cart.py::test_total"])
    assert digest == (
        "tests/test_cart.py::test_total:\n>       assert total([1, 2, 3]) == 6\nE       assert 3 == 6"
    )  # fmt: skip


def test_methods_and_parameters_are_found_by_their_title() -> None:
    assert "assert False" in failure_digest(OUTPUT, ["tests/test_cart.py::TestOther::test_old[a-b]"])


def test_without_a_section_the_end_of_the_output_is_told() -> None:
    assert failure_digest("one\ntwo\n\nthree\n", ["tests/test_x.py::test_y"]) == "one\ntwo\nthree"
    assert failure_digest("", []) == ""
