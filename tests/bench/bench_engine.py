"""Measures the engine with nothing and with ten thousand tasks: ``python tests/bench/bench_engine.py``."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from cockpit.adapters.shell import Confinement, Level, base_environment, probe, run
from cockpit.client.engine_process import ENGINE, engine_environment
from cockpit.domain.ask import Ask
from cockpit.domain.entries import CommandDone, StateChanged, StepEnded, TaskAdded
from cockpit.domain.states import State
from cockpit.journal.askfile import write_ask
from cockpit.journal.layout import Home
from cockpit.journal.log import JournalWriter

COUNT = 10_000
REPEATS = 5
ROUNDS = 3
IDLE_S = 20.0
NOW_S = 1.8e9
FIRST = f"{0:08x}"
ISSUE = "Loading a file without a header fails.\n\n" + "It says: list index out of range. " * 30
ASK = Ask("/home/me/project", ISSUE, title="Loading a file without a header fails")

Row = tuple[str, str]


def main() -> None:
    """Print the table."""
    for row in (*_engines(0), *_engines(COUNT), *_sandbox()):
        print("{:<58} {:>12}".format(*row), flush=True)


def _engines(count: int) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        if count:
            _fill(home, count)
            yield f"start, {count:,} tasks, all read from their journals", _seconds(_start(home))
        _start(home)
        for end, name in ((signal.SIGTERM, "a clean stop"), (signal.SIGKILL, "kill -9")):
            _start(home, end)
            yield f"start, {count:,} tasks, after {name}", _seconds(median(_start(home, end) for _ in range(REPEATS)))
        yield from _idle(home, count)
        if count:
            yield from _listing(home)


def _idle(home: Home, count: int) -> Iterator[Row]:
    with _running(home) as engine:
        time.sleep(2)
        before, since = sum(engine.cpu_times()[:2]), time.monotonic()
        time.sleep(IDLE_S)
        share = (sum(engine.cpu_times()[:2]) - before) / (time.monotonic() - since)
        yield f"memory of an idle engine, {count:,} tasks", f"{engine.memory_info().rss / 2**20:.0f} MiB"
        yield f"CPU of an idle engine over {IDLE_S:.0f} s, {count:,} tasks", f"{share:.2%}"


def _listing(home: Home) -> Iterator[Row]:
    words = [sys.executable, "-P", "-m", "cockpit", "tasks"]
    empty = _best(lambda: _call([sys.executable, "-c", "pass"], home))
    listing = _best(lambda: _call(words, home))
    yield "python -c pass", _seconds(empty)
    yield f"cockpit tasks, {COUNT:,} tasks", _seconds(listing)
    yield "ratio", f"{listing / empty:.1f}"


def _sandbox() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        yield "`true`, by itself", _seconds(_best(lambda: subprocess.run(["true"], check=True)))
        yield "`true`, plain", _seconds(_best(lambda: _run_true(Path(folder), Level.PLAIN)))
        if probe().level is Level.BUBBLEWRAP:
            yield "`true`, bubblewrap", _seconds(_best(lambda: _run_true(Path(folder), Level.BUBBLEWRAP)))


def _run_true(folder: Path, level: Level) -> None:
    confinement = Confinement(writable=(folder,))
    job = run(
        ["true"], cwd=folder, env=base_environment(folder), confinement=confinement, log=folder / "log", level=level
    )
    assert asyncio.run(job).exit_code == 0


def _fill(home: Home, count: int) -> None:
    """Make tasks in review, as an engine would have left them long ago; the first as it does, the others after it."""
    folder = home.task(FIRST)
    folder.inbox.mkdir(parents=True)
    write_ask(folder.task_toml, FIRST, ASK, NOW_S)
    with JournalWriter(folder.journal) as journal:
        journal.append(TaskAdded(FIRST, ASK), NOW_S)
        for number in range(1, ROUNDS + 1):
            journal.append(StepEnded(1, number, number, "stop", 1500, 90, 1410, 212, 9e3, 2e4, 30.0), NOW_S)
        journal.append(StateChanged(State.REVIEW, "a failing test flipped", grade="proven"), NOW_S)
    with JournalWriter(home.journal, durable=False) as journal:
        for number in range(count):
            journal.append(CommandDone(f"{number:08x}", "add_task", f"{number:08x}"), NOW_S)
    files = {path.name: path.read_text("utf-8") for path in (folder.task_toml, folder.journal)}
    for number in range(1, count):
        other = home.task(f"{number:08x}")
        other.inbox.mkdir(parents=True)
        for name, text in files.items():
            (other.root / name).write_text(text.replace(FIRST, f"{number:08x}"), "utf-8")


@contextmanager
def _running(home: Home) -> Iterator[psutil.Process]:
    """Run an engine until it is ready, and stop it in the end."""
    with (home.root / "engine.log").open("ab") as log:
        process = subprocess.Popen(ENGINE, env=engine_environment(home), stdout=log, stderr=log, start_new_session=True)
    try:
        while not _is_ready(home, process):
            time.sleep(0.005)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _is_ready(home: Home, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise SystemExit(home.engine_log.read_text("utf-8"))
    return f"engine {process.pid} is ready" in home.engine_log.read_text("utf-8")


def _start(home: Home, end: signal.Signals = signal.SIGTERM) -> float:
    """Return the seconds from the start of an engine until it takes commands; then end it by this signal."""
    began_s = time.perf_counter()
    with _running(home) as engine:
        ready_s = time.perf_counter()
        engine.send_signal(end)
    return ready_s - began_s


def _call(words: list[str], home: Home) -> None:
    subprocess.run(words, env=engine_environment(home), check=True, stdout=subprocess.DEVNULL)


def _best(job: Callable[[], object]) -> float:
    """Return the median seconds of a job."""
    times_s = []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        job()
        times_s.append(time.perf_counter() - began_s)
    return median(times_s)


def _seconds(elapsed_s: float) -> str:
    return f"{elapsed_s:.3f} s"


if __name__ == "__main__":
    main()
