"""``--server-url`` with an engine that runs already: the same server is fine, another is refused."""

import argparse
import os
from pathlib import Path

import pytest

from cockpit.cli.serving import URL_VARIABLE, use_server_url
from cockpit.domain.errors import UsageError
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock, EngineRecord, write_engine

URL = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL_VARIABLE, "")  # what the call sets is taken back after the test


def test_a_second_task_may_name_the_server_of_the_first(tmp_path: Path) -> None:
    lock = running_engine(Home(tmp_path), URL)
    use_server_url(argparse.Namespace(server_url=URL), Home(tmp_path))
    lock.release()
    assert os.environ[URL_VARIABLE] == URL


def test_another_server_than_the_engines_is_refused(tmp_path: Path) -> None:
    lock = running_engine(Home(tmp_path), "http://127.0.0.1:10")
    with pytest.raises(UsageError, match="keeps the server"):
        use_server_url(argparse.Namespace(server_url=URL), Home(tmp_path))
    lock.release()
    use_server_url(argparse.Namespace(server_url=URL), Home(tmp_path))


def running_engine(home: Home, url: str) -> EngineLock:
    home.create()
    lock = EngineLock(home)
    assert lock.acquire()
    write_engine(home, EngineRecord(os.getpid(), "0.1.0", 1.0, 1.0, url))
    return lock
