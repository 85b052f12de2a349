import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cockpit.domain.errors import CockpitError
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock, EngineRecord, is_engine_alive, read_engine, write_engine

HOLD = """
import pathlib, sys, time
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock
lock = EngineLock(Home(pathlib.Path(sys.argv[1])))
print(lock.acquire(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.create()
    return made


@contextmanager
def other_process(home: Home) -> Iterator[tuple[subprocess.Popen[bytes], bool]]:
    """Another process that tries for the lock and keeps it."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(home.root)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline() == b"True\n"
    finally:
        process.kill()
        process.communicate()


def test_one_engine_owns_a_home(home: Home) -> None:
    assert not is_engine_alive(home)
    with other_process(home) as (_, has_it):
        assert has_it
        assert is_engine_alive(home)
        assert not EngineLock(home).acquire()
        with other_process(home) as (_, has_it_too):
            assert not has_it_too


def test_the_lock_of_a_killed_engine_is_free_at_once(home: Home) -> None:
    with other_process(home) as (process, _):
        process.kill()
        process.wait()
        assert home.engine_lock.exists()
        assert not is_engine_alive(home)
        assert EngineLock(home).acquire()


def test_a_released_lock_can_be_taken_again(home: Home) -> None:
    lock = EngineLock(home)
    for _ in range(2):
        assert lock.acquire()
        assert lock.acquire()
        lock.release()
        lock.release()
        assert not is_engine_alive(home)


def test_clients_that_look_never_keep_an_engine_from_starting(home: Home) -> None:
    home.engine_lock.touch()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            is_engine_alive(home)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    lock = EngineLock(home)
    taken = []
    for _ in range(30):
        taken.append(lock.acquire())
        lock.release()
    is_over.set()
    for looker in lookers:
        looker.join()
    assert all(taken)


def test_a_child_of_the_engine_does_not_inherit_the_lock(home: Home) -> None:
    lock = EngineLock(home)
    assert lock.acquire()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
    lock.release()
    assert not is_engine_alive(home)
    child.kill()
    child.wait()


def test_what_an_engine_tells_of_itself_comes_back(home: Home) -> None:
    record = EngineRecord(4711, "0.1.0", 1_800_000_000.25, 1_800_000_001.5)
    write_engine(home, record)
    assert read_engine(home) == record


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid":"x","version":"","started_s":0,"heartbeat_s":0}'])
def test_a_record_that_cannot_be_read_is_none(home: Home, text: str) -> None:
    assert read_engine(home) is None
    home.engine_json.write_text(text)
    assert read_engine(home) is None


def test_a_lock_that_cannot_be_opened_is_named(home: Home) -> None:
    home.engine_lock.mkdir()
    with pytest.raises(CockpitError, match=r"engine\.lock"):
        EngineLock(home).acquire()
