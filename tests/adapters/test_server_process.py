"""The background server is started once, found again, and ended for sure; the process here is a real, tiny one."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.adapters import host, server_process
from cockpit.adapters.server_process import ServerRecord
from cockpit.domain.errors import ServerError
from cockpit.settings import Settings

TINY = (sys.executable, "-P", str(Path(__file__).with_name("tiny_server.py")))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    server_process.stop(tmp_path / "home", grace_s=5)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    return path


def start(home: Path, model: Path, wait_s: float = 60.0) -> ServerRecord:
    return server_process.start(home, Settings(), model, wait_s=wait_s, command=TINY)


def test_a_started_server_has_generated_and_is_found_again(home: Path, model: Path) -> None:
    said: list[str] = []
    record = server_process.start(
        home, Settings(), model, wait_s=60, command=TINY, progress=lambda _, what: said.append(what)
    )
    assert server_process.status(home) == record
    assert any("loading" in what for what in said)
    assert start(home, model) == record


def test_it_runs_in_a_session_of_its_own_and_its_key_is_private(home: Path, model: Path) -> None:
    record = start(home, model)
    assert os.getsid(record.pid) == record.pid
    assert Path(record.api_key_file).stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o777 == 0o700


def test_stopping_ends_the_process_and_forgets_the_key(home: Path, model: Path) -> None:
    record = start(home, model)
    assert server_process.stop(home, grace_s=5) is True
    assert not host.is_alive(record.pid, record.started_s)
    assert server_process.status(home) is None
    assert not Path(record.api_key_file).exists()
    assert server_process.stop(home) is False


def test_two_starts_at_once_end_with_one_server(home: Path, model: Path) -> None:
    records: list[ServerRecord] = []
    threads = [threading.Thread(target=lambda: records.append(start(home, model))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(records) == 3
    assert len({record.pid for record in records}) == 1


def test_a_server_that_dies_shows_the_end_of_its_log(home: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY", "dies")
    with pytest.raises(ServerError, match="ended before it was ready") as caught:
        start(home, model)
    assert "cannot load the model\nit has no head" in caught.value.message
    assert server_process.status(home) is None


def test_a_server_that_loads_for_ever_is_given_up_and_ended(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY", "loads for ever")
    with pytest.raises(ServerError, match=r"not ready after .* the model is loading"):
        start(home, model, wait_s=2)
    assert server_process.status(home) is None


def test_a_pid_that_went_to_another_process_is_not_the_server(home: Path) -> None:
    home.mkdir()
    mine = ServerRecord(os.getpid(), 1.0, "http://127.0.0.1:1", "k", "m", "l")
    (home / "server.json").write_text(json.dumps({name: getattr(mine, name) for name in mine.__slots__}))
    assert server_process.status(home) is None
    assert server_process.stop(home) is False
    assert host.started_s(os.getpid()) is not None


def test_another_model_than_the_running_one_is_refused(home: Path, model: Path, tmp_path: Path) -> None:
    start(home, model)
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    with pytest.raises(ServerError, match="runs with another model") as caught:
        start(home, other)
    assert caught.value.label == "model_mismatch"
    assert server_process.status(home) is not None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_no_server(home: Path, content: str) -> None:
    home.mkdir()
    (home / "server.json").write_text(content)
    assert server_process.status(home) is None


def test_the_machine_is_read() -> None:
    assert host.physical_cores() >= 1
    assert host.free_mib() > 0
    assert host.started_s(2**22 + 1) is None
