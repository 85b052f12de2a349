import dataclasses
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.entries import PauseChanged, Record, Trouble
from cockpit.domain.errors import JournalError
from cockpit.domain.state import TaskState, fold
from cockpit.journal.codec import encode_record
from cockpit.journal.layout import TaskFolder
from cockpit.journal.log import JournalWriter, read_records
from cockpit.journal.snapshot import load_state, save_snapshot
from tests.journal.strategies import JOURNALS, numbered


@pytest.fixture
def folder(tmp_path: Path) -> TaskFolder:
    """A task with two records, and a snapshot of the first."""
    made = TaskFolder(tmp_path)
    with JournalWriter(made.journal, durable=False) as writer:
        writer.append(PauseChanged(paused=True), 1.0)
        save_snapshot(made, load_state(made)[0], writer.offset)
        writer.append(Trouble("oops"), 2.0)
    return made


def truth(folder: TaskFolder) -> tuple[TaskState, int]:
    records, end = read_records(folder.journal)
    return fold(records), end


@given(JOURNALS, st.data())
@settings(max_examples=40)
def test_snapshot_and_tail_are_the_whole_journal_at_every_cut(records: list[Record], data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = TaskFolder(Path(name))
        cut = data.draw(st.integers(0, len(records)))
        with JournalWriter(folder.journal, durable=False) as writer:
            for record in records[:cut]:
                writer.append(record.entry, record.at_s)
            save_snapshot(folder, fold(records[:cut]), writer.offset)
            for record in records[cut:]:
                writer.append(record.entry, record.at_s)
            assert load_state(folder) == (fold(records), writer.offset)


def test_the_snapshot_is_what_makes_opening_fast(folder: TaskFolder) -> None:
    """A label put into the snapshot by hand is believed: the head of the journal was not read again."""
    row = json.loads(folder.snapshot.read_bytes())
    row["state"]["label"] = "from the snapshot"
    folder.snapshot.write_text(json.dumps(row))
    assert load_state(folder)[0].label == "from the snapshot"


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: None,
        lambda row: {},
        lambda row: {**row, "reducer": "00000000"},
        lambda row: {**row, "offset": row["offset"] - 1},
        lambda row: {**row, "offset": row["offset"] + 1},
        lambda row: {**row, "offset": 0},
        lambda row: {**row, "offset": 10**9},
        lambda row: {**row, "offset": -5},
        lambda row: {**row, "state": {**row["state"], "seq": 2}},
        lambda row: {**row, "state": {**row["state"], "state": "dreaming"}},
    ],
)
def test_a_snapshot_that_does_not_fit_is_ignored(folder: TaskFolder, damage: object) -> None:
    row = json.loads(folder.snapshot.read_bytes())
    folder.snapshot.write_text(json.dumps(damage(row)))  # type: ignore[operator]
    assert load_state(folder) == truth(folder)


def test_every_torn_snapshot_is_ignored(folder: TaskFolder) -> None:
    whole = folder.snapshot.read_bytes()
    for cut in range(0, len(whole), 7):
        folder.snapshot.write_bytes(whole[:cut])
        assert load_state(folder) == truth(folder)


def test_a_snapshot_of_another_journal_is_ignored(folder: TaskFolder) -> None:
    folder.journal.write_bytes(
        b"".join(encode_record(record) + b"\n" for record in numbered([Trouble("a"), Trouble("b")]))
    )
    assert load_state(folder) == truth(folder)


def test_a_task_without_snapshot_or_journal_is_an_empty_state(tmp_path: Path) -> None:
    assert load_state(TaskFolder(tmp_path)) == (TaskState(), 0)


def test_a_damaged_journal_is_never_hidden_by_its_snapshot(folder: TaskFolder) -> None:
    with folder.journal.open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(JournalError, match="line 3"):
        load_state(folder)


def test_a_snapshot_is_exact_for_lone_surrogates(tmp_path: Path) -> None:
    folder = TaskFolder(tmp_path)
    state = dataclasses.replace(TaskState(), seq=0, trouble="\udcff", commands=frozenset({"b", "a\ud800"}))
    save_snapshot(folder, state, 0)
    folder.journal.touch()
    assert load_state(folder) == (state, 0)
