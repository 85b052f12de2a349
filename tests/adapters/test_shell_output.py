"""The log is capped, its end survives, and the excerpt says what is missing."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.adapters.output import END_KEPT, START_KEPT, CappedLog, excerpt

MIB = 1024 * 1024


def store(path: Path, limit: int, *pieces: bytes) -> CappedLog:
    log = CappedLog(str(path), limit)
    for piece in pieces:
        log.write(piece)
    log.close()
    return log


def test_what_fits_is_kept_byte_by_byte(tmp_path: Path) -> None:
    data = os.urandom(3 * MIB)
    log = store(tmp_path / "log", 4 * MIB, data[:7], data[7:MIB], data[MIB:])
    assert (tmp_path / "log").read_bytes() == data
    assert (log.total_bytes, log.is_truncated) == (len(data), False)


@pytest.mark.parametrize("piece", [1000, 64 * 1024, 300_000, 9 * MIB])
def test_what_does_not_fit_loses_its_middle_and_says_how_much(tmp_path: Path, piece: int) -> None:
    data = bytes(range(256)) * (9 * 4096)
    log = store(tmp_path / "log", 2 * MIB, *(data[start : start + piece] for start in range(0, len(data), piece)))
    stored = (tmp_path / "log").read_bytes()
    start, end = 2 * MIB - END_KEPT, data[-END_KEPT:]
    missing = len(data) - start - END_KEPT
    assert stored == data[:start] + f"\n[... {missing:,} bytes left out ...]\n".encode() + end
    assert (log.total_bytes, log.is_truncated) == (len(data), True)


@given(sizes=st.lists(st.integers(0, 400_000), max_size=12), limit=st.integers(1, 3 * MIB))
def test_for_any_pieces_the_end_is_kept_and_the_log_stays_small(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], limit: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    pieces = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    log = store(path, limit, *pieces)
    whole, stored = b"".join(pieces), path.read_bytes()
    assert stored[-1000:] == whole[-1000:]
    assert len(stored) <= max(limit, 2 * END_KEPT) + 60
    assert log.is_truncated == (stored != whole)
    assert log.total_bytes == len(whole)


def test_a_short_log_is_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\xffb\n")
    assert excerpt(str(tmp_path / "log"), 4) == "a�b\n"


def test_a_long_log_shows_beginning_and_end_and_what_is_missing(tmp_path: Path) -> None:
    data = b"start" + b"x" * (2 * MIB) + b"end"
    log = store(tmp_path / "log", 64 * MIB, data)
    text = excerpt(str(tmp_path / "log"), log.total_bytes)
    missing = len(data) - START_KEPT - END_KEPT
    assert text.startswith("start")
    assert text.endswith("end")
    assert f"\n[... {missing:,} bytes left out ...]\n" in text


def test_the_excerpt_of_a_cut_log_counts_what_never_reached_the_disk(tmp_path: Path) -> None:
    log = store(tmp_path / "log", MIB, b"x" * (5 * MIB))
    text = excerpt(str(tmp_path / "log"), log.total_bytes)
    assert text.count("left out") == 1
    assert f"{5 * MIB - START_KEPT - END_KEPT:,} bytes" in text


def test_garbage_at_its_worst_stays_below_two_million_bytes(tmp_path: Path) -> None:
    log = store(tmp_path / "log", 4 * MIB, b"\xff" * (3 * MIB))
    assert len(excerpt(str(tmp_path / "log"), log.total_bytes).encode()) < 2_000_000


def test_a_character_cut_in_two_does_not_show_at_the_front_of_the_end(tmp_path: Path) -> None:
    log = store(tmp_path / "log", 4 * MIB, "€".encode() * MIB)
    end = excerpt(str(tmp_path / "log"), log.total_bytes).rpartition("...]\n")[2]
    assert set(end) == {"€"}


def test_a_log_that_is_gone_is_an_empty_text(tmp_path: Path) -> None:
    assert excerpt(str(tmp_path / "none"), 10) == ""


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "log").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"):
        CappedLog(str(tmp_path / "log"), MIB)
    assert (tmp_path / "mine").read_text() == "precious"
