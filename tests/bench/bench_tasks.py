"""Measures how fast ten thousand tasks open: ``python tests/bench/bench_tasks.py``."""

import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from cockpit.domain.ask import Ask
from cockpit.domain.state import TaskState
from cockpit.domain.states import State
from cockpit.domain.summary import TaskSummary, summarise
from cockpit.journal.layout import Home
from cockpit.journal.summary import read_tasks, write_tasks

COUNT = 10_000
REPEATS = 7
ISSUE = "Loading a file without a header fails.\n\n" + "It says: list index out of range. " * 30
GUARDS = tuple((name, "pass") for name in ("applied", "bytes", "bloat", "scope", "lost-code", "syntax", "green"))
LIST = """
import pathlib, sys
from cockpit.client.client import Client
from cockpit.journal.layout import Home
rows = Client(Home(pathlib.Path(sys.argv[1]))).tasks()
sys.stdout.write("\\n".join(f"{row.id} {row.state} {row.phase} {row.title}" for row in rows))
"""


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder))
        summaries = [_summary(number) for number in range(COUNT)]
        write_ms = _measure(lambda: write_tasks(home, summaries))
        size_mib = home.tasks_json.stat().st_size / 2**20
        rows = [
            (f"write_tasks, {COUNT:,} tasks, {size_mib:.1f} MiB", write_ms),
            (f"read_tasks, {COUNT:,} tasks", _measure(lambda: read_tasks(home))),
            ("python -c pass", _measure(lambda: _run("pass", folder))),
            ("python: import the client", _measure(lambda: _run("import cockpit.client.client", folder))),
            (f"python: start to {COUNT:,} printed lines", _measure(lambda: _run(LIST, folder))),
        ]
    for label, elapsed_ms in rows:
        print(f"{label:<48} {elapsed_ms:8.1f} ms")


def _summary(number: int) -> TaskSummary:
    task = f"{number:08x}"
    row = summarise(TaskState(task, Ask("/home/me/project", ISSUE), State.REVIEW, added_at_s=1.8e9))
    return dataclasses.replace(row, guards=GUARDS, attempt=1, round=2, generated_tokens=1234)


def _run(code: str, folder: str) -> None:
    subprocess.run([sys.executable, "-c", code, folder], check=True, stdout=subprocess.DEVNULL)


def _measure(job: Callable[[], object]) -> float:
    """Return the median time of a job in milliseconds."""
    times_ms = []
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        job()
        times_ms.append((time.perf_counter() - start_s) * 1000)
    return median(times_ms)


if __name__ == "__main__":
    main()
