"""A home, a client on it, and the end of every engine a test started."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.client.client import Client
from cockpit.journal.layout import Home
from cockpit.journal.lock import is_engine_alive, read_engine


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "home")
    made.create()
    yield made
    record = read_engine(made)
    if record is not None and is_engine_alive(made):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGKILL)


@pytest.fixture
def client(home: Home) -> Client:
    return Client(home)
