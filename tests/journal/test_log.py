from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.domain.entries import PauseChanged, Record, Trouble
from cockpit.domain.errors import CockpitError, HoldError, JournalError
from cockpit.domain.state import fold
from cockpit.journal.codec import encode_record
from cockpit.journal.log import JournalWriter, read_records
from tests.journal.limits import room_for
from tests.journal.strategies import JOURNALS, numbered

NOTE = PauseChanged(paused=True)


def write(path: Path, records: list[Record]) -> bytes:
    with JournalWriter(path, durable=False) as writer:
        for record in records:
            assert writer.append(record.entry, record.at_s) == record
    return path.read_bytes()


@given(JOURNALS)
@settings(max_examples=40)
def test_at_every_cut_the_whole_records_are_read_and_fold_goes_on_from_there(records: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        data = write(path, records)
        assert read_records(path) == (records, len(data))
        offset = 0
        for place, record in enumerate(records):
            assert read_records(path, offset) == (records[place:], len(data))
            assert fold(records[place:], fold(records[:place])) == fold(records)
            offset += len(encode_record(record)) + 1


@given(JOURNALS, st.data())
@settings(max_examples=40)
def test_a_cut_inside_a_record_costs_that_record_only(records: list[Record], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        whole = write(path, records)
        for cut in data.draw(st.lists(st.integers(0, len(whole)), min_size=1, max_size=20)):
            path.write_bytes(whole[:cut])
            found, end = read_records(path)
            assert found == records[: whole[:cut].count(b"\n")]
            assert end == whole.rfind(b"\n", 0, cut) + 1


def test_every_byte_of_a_torn_tail_is_mended_and_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    records = numbered([NOTE, Trouble("ä\ud800\r\n" * 20_000), Trouble("short")])
    whole = write(path, records)
    head = whole.rfind(b"\n", 0, len(whole) - 1) + 1
    cuts = [*range(len(encode_record(records[0])) + 2), *range(head, len(whole) + 1), head - 1, head - 70_000]
    for cut in cuts:
        path.write_bytes(whole[:cut])
        path.with_suffix(".torn").unlink(missing_ok=True)
        kept = whole[:cut].count(b"\n")
        with JournalWriter(path, durable=False) as writer:
            added = writer.append(NOTE, 5.0)
        assert added.seq == kept + 1
        assert read_records(path)[0] == [*records[:kept], added]
        torn = whole[whole.rfind(b"\n", 0, cut) + 1 : cut]
        assert (path.with_suffix(".torn").read_bytes() if torn else b"\n") == torn + b"\n"


def test_writing_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        writer.append(NOTE, 1.0)
    with JournalWriter(path) as writer:
        assert writer.seq == 1
        assert writer.append(NOTE, 2.0).seq == 2
        assert writer.offset == path.stat().st_size
    assert [record.seq for record in read_records(path)[0]] == [1, 2]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_reader_sees_only_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        first = writer.append(NOTE, 1.0)
        records, offset = read_records(path)
        second = writer.append(NOTE, 2.0)
    assert records == [first]
    assert read_records(path, offset)[0] == [second]


def test_a_journal_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_records(tmp_path / "journal.jsonl") == ([], 0)


@pytest.mark.parametrize("from_start", [True, False])
def test_damage_in_the_middle_names_file_and_line(tmp_path: Path, from_start: bool) -> None:
    path = tmp_path / "journal.jsonl"
    lines = write(path, numbered([NOTE] * 4)).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"seq":3,"at_s":1,"kind":"from_the_future"}\n', lines[3]]))
    with pytest.raises(JournalError, match=r"journal\.jsonl, line 3: 'from_the_future' is unknown"):
        read_records(path, 0 if from_start else len(lines[0]))


def test_a_writer_does_not_touch_a_journal_whose_last_line_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"seq":1,"at_s":1,"kind":"from_the_future"}\n')
    before = path.read_bytes()
    with pytest.raises(JournalError, match="last line"):
        JournalWriter(path)
    assert path.read_bytes() == before


def test_a_full_disk_holds_the_task_and_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        writer.append(NOTE, 1.0)
        before = path.read_bytes()
        for room in (0, 1, 20):
            with room_for(len(before) + room), pytest.raises(HoldError, match="disk") as caught:
                writer.append(Trouble("x" * 100), 2.0)
            assert caught.value.label == "disk_full"
            assert path.read_bytes() == before
        assert writer.append(Trouble("later"), 3.0).seq == 2
    assert [record.seq for record in read_records(path)[0]] == [1, 2]


def test_a_device_without_space_is_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.symlink_to("/dev/full")
    with JournalWriter(path) as writer:
        with pytest.raises(HoldError, match="No space left"):
            writer.append(NOTE, 1.0)
        assert writer.seq == 0


def test_a_folder_that_is_missing_is_no_full_disk(tmp_path: Path) -> None:
    with pytest.raises(CockpitError, match="cannot write") as caught:
        JournalWriter(tmp_path / "gone" / "journal.jsonl")
    assert not isinstance(caught.value, HoldError)
