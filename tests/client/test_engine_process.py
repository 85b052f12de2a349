import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cockpit
from cockpit.client.engine_process import (
    EngineStatus,
    engine_environment,
    engine_status,
    ensure_engine,
    stop_engine,
)
from cockpit.domain.errors import CockpitError
from cockpit.journal.inbox import waiting
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineRecord, is_engine_alive, read_engine, write_engine
from tests.client.stand_in import COMMAND

PATIENCE_S = 120.0


def test_an_engine_is_started_once_and_found_again(home: Home) -> None:
    assert engine_status(home) == EngineStatus(is_running=False, is_fresh=False, record=None)
    record = ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    assert engine_status(home) == EngineStatus(is_running=True, is_fresh=True, record=record)
    assert ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND) == record
    assert os.getsid(record.pid) != os.getsid(0)


def test_clients_that_start_at_once_end_with_one_engine(home: Home) -> None:
    found: list[EngineRecord] = []
    clients = [
        threading.Thread(target=lambda: found.append(ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)))
        for _ in range(3)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert len(found) == 3
    assert len({record.pid for record in found}) == 1


def test_a_killed_engine_is_replaced_though_its_record_is_young(home: Home) -> None:
    first = ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    os.kill(first.pid, signal.SIGKILL)
    while is_engine_alive(home):
        time.sleep(0.01)
    assert engine_status(home) == EngineStatus(is_running=False, is_fresh=False, record=first)
    assert ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND).pid != first.pid


def test_an_engine_that_ends_at_once_is_quoted(home: Home) -> None:
    home.engine_log.write_text("yesterday's trouble\n")
    script = "import sys; sys.stderr.write('line\\n' * 50 + 'no room for the model\\n'); sys.exit(3)"
    with pytest.raises(CockpitError, match="no room for the model") as caught:
        ensure_engine(home, wait_s=PATIENCE_S, command=(sys.executable, "-c", script))
    assert "yesterday" not in caught.value.message
    assert len(caught.value.message.splitlines()) < 20
    assert "cockpit engine run" in caught.value.hint


def test_an_engine_that_ends_without_a_word_is_noticed(home: Home) -> None:
    with pytest.raises(CockpitError, match="it said nothing"):
        ensure_engine(home, wait_s=PATIENCE_S, command=(sys.executable, "-c", ""))


def test_an_engine_that_gives_no_sign_is_not_waited_for_forever(home: Home) -> None:
    script = "import os, pathlib, time; pathlib.Path('pid').write_text(f'{os.getpid()}\\n'); time.sleep(600)"
    with pytest.raises(CockpitError, match="was not ready within") as caught:
        ensure_engine(home, wait_s=0.3, command=(sys.executable, "-c", script))
    assert "engine.log" in caught.value.hint
    pid = home.root / "pid"
    while not (pid.exists() and pid.read_text().endswith("\n")):
        time.sleep(0.01)
    os.kill(int(pid.read_text()), signal.SIGKILL)


def test_an_engine_that_hangs_is_named(home: Home) -> None:
    record = ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    write_engine(home, EngineRecord(record.pid, record.version, 1.0, 1.0))
    with pytest.raises(CockpitError, match=f"process {record.pid}.* gave no sign"):
        ensure_engine(home, wait_s=0.2, command=COMMAND)


def test_stopping_waits_until_the_lock_is_free(home: Home) -> None:
    assert stop_engine(home, PATIENCE_S) is False
    ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    assert stop_engine(home, PATIENCE_S) is True
    assert not is_engine_alive(home)
    assert waiting(home.inbox) == []


def test_a_wish_to_stop_that_was_not_heard_does_not_meet_the_next_engine(home: Home) -> None:
    record = ensure_engine(home, wait_s=PATIENCE_S, command=(*COMMAND, "--deaf"))
    with pytest.raises(CockpitError, match="did not end within") as caught:
        stop_engine(home, 0.1)
    assert str(record.pid) in caught.value.hint
    assert waiting(home.inbox) == []


def test_the_engine_runs_this_very_package_from_anywhere(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    monkeypatch.setenv("MARK", "kept")
    monkeypatch.chdir(home.root.parent)
    environment = engine_environment(Home(Path(home.root.name)))
    assert environment["COCKPIT_HOME"] == str(home.root)
    assert environment["MARK"] == "kept"
    assert "/somewhere/else" not in environment.get("PYTHONPATH", "")
    code = "import cockpit; print(cockpit.__file__)"
    found = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == cockpit.__file__


def test_the_record_names_the_process_that_holds_the_lock(home: Home) -> None:
    record = ensure_engine(home, wait_s=PATIENCE_S, command=COMMAND)
    os.kill(record.pid, 0)
    assert read_engine(home) == record
