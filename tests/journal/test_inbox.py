import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.commands import Command, Kill, Pause, Resume
from cockpit.domain.errors import JournalError, NotFoundError, UsageError
from cockpit.journal.inbox import clear, drop, ring, rung, waiting
from tests.journal.strategies import COMMANDS


@given(st.lists(COMMANDS, max_size=5))
@settings(max_examples=25)
def test_commands_come_out_as_and_in_the_order_they_went_in(commands: list[Command]) -> None:
    named = [dataclasses.replace(command, id=f"{9 - place}") for place, command in enumerate(commands)]
    with TemporaryDirectory() as folder:
        paths = [drop(Path(folder) / "inbox", command) for command in named]
        assert waiting(Path(folder) / "inbox") == list(zip(paths, named, strict=True))


def test_order_survives_a_clock_that_is_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_000)
    first, second = drop(tmp_path / "inbox", Pause("b", "t")), drop(tmp_path / "inbox", Resume("a", "t"))
    assert [path for path, _ in waiting(tmp_path / "inbox")] == [first, second]


def test_a_command_is_taken_once(tmp_path: Path) -> None:
    path = drop(tmp_path / "inbox", Kill("1", "t"))
    clear(path)
    clear(path)
    assert waiting(tmp_path / "inbox") == []
    assert list((tmp_path / "inbox").iterdir()) == []


def test_half_written_and_foreign_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".00001-a.json.77-0.tmp", ".x.json", "README", "x.json~"):
        (tmp_path / name).write_text("{")
    (tmp_path / "folder.json").mkdir()
    assert waiting(tmp_path) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind":"pause","id":"1"}', '{"kind":"dance","id":"1"}'])
def test_a_command_nobody_understands_comes_as_its_error_and_stops_no_other(tmp_path: Path, text: str) -> None:
    (tmp_path / "00000-bad.json").write_text(text)
    good = drop(tmp_path, Pause("1", "t"))
    assert waiting(tmp_path) == [(tmp_path / "00000-bad.json", ANY), (good, Pause("1", "t"))]
    error = waiting(tmp_path)[0][1]
    assert isinstance(error, JournalError)
    assert "00000-bad.json" in error.message


def test_an_inbox_nobody_made_is_empty(tmp_path: Path) -> None:
    assert waiting(tmp_path / "inbox") == []


def test_there_is_no_sending_to_a_task_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no"):
        drop(tmp_path / "gone" / "inbox", Pause("1", "t"))


@pytest.mark.parametrize("name", ["", "../../x", "a/b", "a b", "x" * 65, ".tmp"])
def test_an_id_cannot_lead_out_of_the_inbox(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a command"):
        drop(tmp_path / "inbox", Pause(name, "t"))


def test_a_ring_names_the_task_once_and_is_no_command(tmp_path: Path) -> None:
    ring(tmp_path, "0123abcd")
    ring(tmp_path, "0123abcd")
    ring(tmp_path, "00000001")
    assert waiting(tmp_path) == []
    assert rung(tmp_path) == ["00000001", "0123abcd"]
    assert rung(tmp_path) == []
