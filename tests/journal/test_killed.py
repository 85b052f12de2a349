"""Kill -9 at any instant: what was written stands, and the next process goes on."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cockpit.domain.entries import Trouble
from cockpit.domain.stream import answer_of
from cockpit.journal.layout import Home
from cockpit.journal.log import JournalWriter, read_records
from cockpit.journal.streamlog import StreamWriter, read_stream
from cockpit.journal.summary import read_live

APPEND = """
import pathlib, sys
from cockpit.domain.entries import Trouble
from cockpit.journal.log import JournalWriter
with JournalWriter(pathlib.Path(sys.argv[1])) as writer:
    while True:
        record = writer.append(Trouble("x" * (writer.seq * 7919 % 90_000)), 1.0)
        print(record.seq, flush=True)
"""
STREAM = """
import pathlib, sys, time
from cockpit.journal.streamlog import StreamWriter
with StreamWriter(pathlib.Path(sys.argv[1]), time.monotonic) as writer:
    while True:
        writer.delta("token " * 50, (writer.index,))
        writer.flush()
        print(writer.index, flush=True)
"""
LIVE = """
import pathlib, sys
from cockpit.journal.layout import Home
from cockpit.journal.summary import write_live
home, count = Home(pathlib.Path(sys.argv[1])), 0
while True:
    count += 1
    write_live(home, {"count": count, "text": "x" * 50_000})
    print(count, flush=True)
"""


def killed_while(code: str, path: Path) -> int:
    """Run code that prints a number after each write, kill it at some instant, return the last number."""
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(random.uniform(0, 0.05))  # noqa: S311  # any instant will do
    process.kill()
    rest, _ = process.communicate()
    return [int(line) for line in (first + rest).splitlines(keepends=True) if line.endswith(b"\n")][-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.jsonl"


def test_no_record_that_was_written_is_lost(path: Path) -> None:
    for _ in range(4):
        acknowledged = killed_while(APPEND, path)
        records, _ = read_records(path)
        assert [record.seq for record in records] == list(range(1, len(records) + 1))
        assert len(records) in (acknowledged, acknowledged + 1)
        with JournalWriter(path) as writer:
            assert writer.append(Trouble("mended"), 2.0).seq == len(records) + 1


def test_no_token_that_was_written_is_lost(path: Path) -> None:
    for _ in range(2):
        acknowledged = killed_while(STREAM, path)
        ids = answer_of(read_stream(path)[0]).ids
        assert ids == tuple(range(len(ids)))
        assert len(ids) in (acknowledged, acknowledged + 1)
        with StreamWriter(path, time.monotonic) as writer:
            assert writer.index == len(ids)


def test_a_file_that_is_replaced_is_always_whole(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for _ in range(2):
        acknowledged = killed_while(LIVE, tmp_path)
        assert json.loads(home.live_json.read_bytes()) == read_live(home)
        assert read_live(home)["count"] in (acknowledged, acknowledged + 1)
