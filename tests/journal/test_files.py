import os
from pathlib import Path

import pytest

from cockpit.domain.errors import CockpitError, HoldError
from cockpit.journal.files import disk_of, write_atomic
from tests.journal.limits import room_for


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_atomic(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_full_disk_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, b"old")
    with room_for(100), pytest.raises(HoldError, match="MiB free") as caught:
        write_atomic(path, b"x" * 101)
    assert caught.value.label == "disk_full"
    assert str(disk_of(path)) in caught.value.hint
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(CockpitError, match="No such file"):
        write_atomic(tmp_path / "gone" / "a.json", b"")


def test_a_folder_in_the_way_is_an_error_and_leaves_no_litter(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(CockpitError, match="cannot write"):
        write_atomic(tmp_path / "a", b"")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_the_disk_is_the_mount_point_a_file_lies_on(tmp_path: Path) -> None:
    assert os.path.ismount(disk_of(tmp_path / "not" / "yet" / "there"))
    assert disk_of(Path("/proc/self/status")) == Path("/proc")
