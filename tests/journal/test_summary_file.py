import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.entries import Record
from cockpit.domain.errors import JournalError
from cockpit.domain.state import fold
from cockpit.domain.summary import summarise
from cockpit.journal.layout import Home
from cockpit.journal.summary import encode_row, read_live, read_tasks, write_live, write_rows, write_tasks
from tests.journal.strategies import JOURNALS

GUARDS = (("bloat", "pass"), ("lost-code", "warn"), ("bloat", "block"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@given(st.lists(JOURNALS, max_size=3))
@settings(max_examples=25)
def test_rows_come_back_as_they_were(journals: list[list[Record]]) -> None:
    rows = tuple(replace(summarise(fold(records)), guards=GUARDS) for records in journals)
    with TemporaryDirectory() as folder:
        write_tasks(Home(Path(folder)), rows)
        assert read_tasks(Home(Path(folder))) == rows


def test_a_home_without_tasks_has_no_rows(home: Home) -> None:
    assert read_tasks(home) == ()


@given(JOURNALS)
@settings(max_examples=5)
def test_other_programs_find_the_fields_they_know(records: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        write_tasks(home, [summarise(fold(records))])
        row = json.loads(home.tasks_json.read_text())["tasks"][0]
    known = {"id", "repo", "issue", "state", "pr_url", "verify_status", "verify_feedback", "rework_attempts"}
    assert known <= row.keys()


def test_a_row_with_more_or_less_than_this_version_knows_is_read(home: Home) -> None:
    write_tasks(home, [summarise(fold([]))])
    table = json.loads(home.tasks_json.read_text())
    table["tasks"][0]["mood"] = "good"
    del table["tasks"][0]["rework_attempts"]
    home.tasks_json.write_text(json.dumps(table))
    assert read_tasks(home) == (summarise(fold([])),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"tasks":[{}]}',
        '{"tasks":[1]}',
        '{"tasks":[{"state":"asleep"}]}',
        '{"tasks":[{"state":"review","guards":""}]}',
    ],
)
def test_a_damaged_list_says_what_to_do(home: Home, text: str) -> None:
    home.tasks_json.write_text(text)
    with pytest.raises(JournalError, match="damaged") as caught:
        read_tasks(home)
    assert "delete it" in caught.value.hint


def test_live_figures_come_back_and_their_absence_is_no_error(home: Home) -> None:
    assert read_live(home) == {}
    write_live(home, {"gpu": {"used_mib": 1}, "tasks": {"0123abcd": [1.5, None]}})
    assert read_live(home) == {"gpu": {"used_mib": 1}, "tasks": {"0123abcd": [1.5, None]}}
    home.live_json.write_text("{")
    assert read_live(home) == {}


def test_listing_tasks_imports_neither_pydantic_nor_entries() -> None:
    code = (
        "import sys; from cockpit.client.client import Client; from pathlib import Path; from cockpit.journal.layout"
        " import Home; Client(Home(Path('/nowhere'))).tasks();"
        "print([name for name in ('pydantic', 'asyncio', 'cockpit.domain.entries') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_rows_that_are_encoded_already_make_the_same_file(tmp_path: Path) -> None:
    row = summarise(fold([]))
    write_tasks(Home(tmp_path), [row, row])
    whole = Home(tmp_path).tasks_json.read_bytes()
    write_rows(Home(tmp_path), [encode_row(row)] * 2)
    assert Home(tmp_path).tasks_json.read_bytes() == whole
    assert read_tasks(Home(tmp_path)) == (row, row)
