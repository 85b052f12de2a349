import pytest

from cockpit.localise import named_tests

KNOWN = (
    "tests/test_tax.py::test_net",
    "tests/test_tax.py::test_gross",
    "tests/test_sum.py::TestSum::test_zero",
    "tests/test_sum.py::TestMore::test_zero",
    "tests/test_sum.py::test_rates[1]",
    "tests/test_sum.py::test_rates[2]",
)


@pytest.mark.parametrize(
    ("issue", "named"),
    [
        ("tests/test_tax.py::test_net fails.", KNOWN[:1]),
        ("run `./tests/test_tax.py::test_net`", KNOWN[:1]),
        ("FAILED tests/test_sum.py::test_rates[2] - assert", KNOWN[5:]),
        ("tests/test_sum.py::test_rates fails", KNOWN[4:]),
        ("test_gross fails since yesterday", (KNOWN[1],)),
        ("see test_gross() and test_net", (KNOWN[1], KNOWN[0])),
        ("test_rates is red", KNOWN[4:]),
        ("test_zero fails", ()),
        ("TestSum::test_zero fails", (KNOWN[2],)),
        ("TestMore.test_zero fails", (KNOWN[3],)),
        ("test_grossly fails, mytest_gross too", ()),
        ("look into tests/test_tax.py", ()),
        ("tests/other.py::test_unknown", ()),
        ("", ()),
    ],
)
def test_only_known_tests_that_are_named_for_certain_are_taken(issue: str, named: tuple[str, ...]) -> None:
    assert named_tests(issue, KNOWN) == tuple(sorted(named))


def test_a_very_long_issue_is_read_in_one_go() -> None:
    assert named_tests("a." * 500_000, KNOWN) == ()
