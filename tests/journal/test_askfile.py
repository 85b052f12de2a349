import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.ask import Ask, Budget
from cockpit.domain.errors import JournalError
from cockpit.journal.askfile import read_ask, write_ask
from tests.journal.strategies import of

AWKWARD = st.text(
    st.sampled_from(['"', "'", "\\", "\n", "\r", "\t", "\x00", "\x7f", "\ud800", " ", "u", "#", "\u2028"])
)


def round_trip(ask: Ask) -> Ask:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "task.toml"
        write_ask(path, "0123abcd", ask, 1.5)
        return read_ask(path)


@given(of(Ask))
def test_what_was_asked_comes_back_character_for_character(ask: Ask) -> None:
    assert round_trip(ask) == ask


@given(AWKWARD)
def test_no_mix_of_quotes_line_ends_and_controls_is_changed(issue: str) -> None:
    ask = Ask(repo="/r", issue=issue, test=issue[::-1])
    assert round_trip(ask) == ask


@pytest.mark.parametrize(
    "issue",
    ["a\r\nb\r\n", "a\rb", "\n\nfirst", "tab\tend\\", '"""', "'''\n\"\"\"\n\\\n", "\n", "x\\\n   y", "\ufeffbom"],
)
def test_awkward_issues_are_exact(issue: str) -> None:
    assert round_trip(Ask(repo="/r", issue=issue)).issue == issue


def test_a_person_can_read_the_issue_in_the_file(tmp_path: Path) -> None:
    write_ask(tmp_path / "task.toml", "0123abcd", Ask("/r", "Crash on load\n\nIt says no.\n"), 1.5)
    text = (tmp_path / "task.toml").read_text()
    assert "Crash on load\n\nIt says no.\n" in text
    assert tomllib.loads(text)["task"] == "0123abcd"


def test_a_limit_that_was_not_given_is_not_in_the_file(tmp_path: Path) -> None:
    write_ask(tmp_path / "task.toml", "0123abcd", Ask("/r", "i", budget=Budget(rounds=2)), 1.5)
    assert tomllib.loads((tmp_path / "task.toml").read_text())["ask"]["budget"] == {"rounds": 2}


@pytest.mark.parametrize("text", ["", "ask = 1", "[ask]\nrepo = 1\nissue = ''", "x ="])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(JournalError, match=r"task\.toml"):
        read_ask(tmp_path / "task.toml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        read_ask(tmp_path / "task.toml")
