"""The demo model is put together once, proven, and never seen half."""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cockpit.adapters import model_parts
from cockpit.adapters.model_parts import PartedModel, ensure_model
from cockpit.domain.errors import CockpitError, HoldError, UsageError

CONTENT = [b"first part " * 1000, b"second part " * 1000, b"third " * 10]
WHOLE = b"".join(CONTENT)


def make_parts(folder: Path, package: str, count: int = 3) -> PartedModel:
    for number in range(1, count + 1):
        data = folder / f"{package}{number}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").write_text("raise RuntimeError('no code of a part may run')\n")
        (data / f"part{number:02d}.bin").write_bytes(CONTENT[number - 1])
    return PartedModel(
        "demo.gguf", package + "{number}", "data/part{number:02d}.bin", 3, hashlib.sha256(WHOLE).hexdigest()
    )


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PartedModel:
    monkeypatch.delenv("COCKPIT_MODEL_FILE", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return make_parts(tmp_path / "site", "fake_model_part")


def test_the_parts_are_joined_in_order_and_progress_is_told(model: PartedModel, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    made = ensure_model(model, folder=tmp_path / "cache", progress=lambda done, total: told.append((done, total)))
    assert made.path.read_bytes() == WHOLE
    assert made.was_cached is False
    assert [total for _, total in told] == [len(WHOLE)] * 3
    assert told[-1][0] == len(WHOLE)


def test_the_second_time_nothing_is_read_or_hashed(model: PartedModel, tmp_path: Path) -> None:
    ensure_model(model, folder=tmp_path / "cache")
    told: list[int] = []
    again = ensure_model(model, folder=tmp_path / "cache", progress=lambda done, _: told.append(done))
    assert again.was_cached
    assert told == []


def test_a_touched_file_is_hashed_again_and_kept_when_it_is_right(model: PartedModel, tmp_path: Path) -> None:
    made = ensure_model(model, folder=tmp_path / "cache")
    os.utime(made.path, (1, 1))
    told: list[int] = []
    again = ensure_model(model, folder=tmp_path / "cache", progress=lambda done, _: told.append(done))
    assert again.was_cached
    assert told == [len(WHOLE)]


@pytest.mark.parametrize("content", [WHOLE[:100], WHOLE[:-1] + b"x", b""])
def test_a_damaged_file_is_made_again(model: PartedModel, tmp_path: Path, content: bytes) -> None:
    made = ensure_model(model, folder=tmp_path / "cache")
    made.path.write_bytes(content)
    assert ensure_model(model, folder=tmp_path / "cache").was_cached is False
    assert made.path.read_bytes() == WHOLE


def test_what_a_killed_process_left_half_is_never_used(model: PartedModel, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "demo.half").write_bytes(WHOLE[:500])
    assert ensure_model(model, folder=tmp_path / "cache").path.read_bytes() == WHOLE
    assert not (tmp_path / "cache" / "demo.half").exists()


def test_a_damaged_part_leaves_no_model_behind(model: PartedModel, tmp_path: Path) -> None:
    part = tmp_path / "site" / "fake_model_part2" / "data" / "part02.bin"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(CockpitError, match="a part is damaged") as caught:
        ensure_model(model, folder=tmp_path / "cache")
    assert "--force-reinstall" in caught.value.hint
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["demo.lock"]


def test_missing_parts_are_named_with_the_command_that_brings_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COCKPIT_MODEL_FILE", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    model = make_parts(tmp_path / "site", "few_model_part", count=1)
    with pytest.raises(CockpitError, match=r"2 of 3 parts .* first few_model_part2") as caught:
        ensure_model(model, folder=tmp_path / "cache")
    assert "pip install 'llama-cockpit[demo-model]'" in caught.value.hint


def test_too_little_room_is_said_before_anything_is_written(
    model: PartedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_parts, "SPARE_BYTES", 1 << 60)
    with pytest.raises(HoldError, match=r"the demo model needs \d+ MiB in .* MiB are free") as caught:
        ensure_model(model, folder=tmp_path / "cache")
    assert caught.value.label == "disk_full"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["demo.lock"]


def test_another_model_can_be_named_and_has_to_be_there(
    model: PartedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCKPIT_MODEL_FILE", str(tmp_path / "mine.gguf"))
    with pytest.raises(UsageError, match="there is no model file"):
        ensure_model(model, folder=tmp_path / "cache")
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert ensure_model(model, folder=tmp_path / "cache").path == tmp_path / "mine.gguf"


def test_two_processes_at_once_make_it_once(model: PartedModel, tmp_path: Path) -> None:
    code = textwrap.dedent(f"""
        import sys
        sys.path[:0] = [{str(Path(__file__).parents[2])!r}, {str(tmp_path / "site")!r}]
        from pathlib import Path
        from cockpit.adapters.model_parts import PartedModel, ensure_model
        made = ensure_model(PartedModel(*{(model.file_name, model.package, model.data, model.count, model.sha256)!r}),
                            folder=Path({str(tmp_path / "cache")!r}))
        print(made.was_cached)
    """)
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = sorted(process.communicate()[0].strip() for process in processes)
    assert said == ["False", "True", "True"]
    assert (tmp_path / "cache" / "demo.gguf").read_bytes() == WHOLE
    assert json.loads((tmp_path / "cache" / "demo.verified.json").read_text())["size_bytes"] == len(WHOLE)
