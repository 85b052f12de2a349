"""Nothing of a run is alive after it, even when the engine or the reaper is killed without warning."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.adapters import processes, shell
from cockpit.adapters.shell import Level, sweep
from tests.adapters.commands import PYTHON, Room, both_levels, is_alive, swept, until

DAEMON = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0: os._exit(0)
    os.chdir("/")
    for descriptor in range(10):
        try: os.close(descriptor)
        except OSError: pass
    os.open(os.devnull, os.O_RDWR)
    open(sys.argv[2], "w").write("up")
    time.sleep(300)
    os._exit(0)
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
time.sleep(float(sys.argv[3]))
"""
"""Daemonises by the book; arguments: a marker, a file to make when it is up, seconds the parent stays."""

ENGINE = """
import asyncio, sys
from pathlib import Path
from cockpit.adapters.shell import Confinement, Level, base_environment, run
base, level, *argv = sys.argv[1:]
work, home = Path(base, "work"), Path(base, "home")
confinement = Confinement(writable=(work, home))
options = {"cwd": work, "env": base_environment(home), "confinement": confinement, "log": Path(base, "log")}
asyncio.run(run(argv, level=Level(level), token=base, **options))
"""


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with swept(str(tmp_path)):
        yield Room(tmp_path)


def daemon(room: Room, level: Level, stay_s: float) -> tuple[str, list[str]]:
    marker = f"daemon-{level}-{room.base.name}"
    return marker, [PYTHON, "-c", DAEMON, marker, str(room.work / "up"), str(stay_s)]


def start_engine(room: Room, level: Level, argv: list[str]) -> subprocess.Popen[bytes]:
    root = str(Path(processes.__file__).parents[2])
    command = [sys.executable, "-c", ENGINE, str(room.base), str(level), *argv]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": root}, start_new_session=True)


@both_levels
async def test_a_daemon_does_not_outlive_its_command(room: Room, level: Level) -> None:
    marker, argv = daemon(room, level, 0)
    result = await room.run(*argv, level=level)
    assert result.exit_code == 0
    assert (room.work / "up").exists()
    assert not is_alive(marker)


@both_levels
async def test_a_killed_engine_leaves_no_orphan(room: Room, level: Level) -> None:
    marker, argv = daemon(room, level, 300)
    engine = start_engine(room, level, argv)
    await until((room.work / "up").exists)
    assert is_alive(marker)
    engine.kill()
    engine.wait()
    await until(lambda: not is_alive(marker))


@both_levels
async def test_an_engine_killed_while_frozen_leaves_no_orphan(room: Room, level: Level) -> None:
    marker, argv = daemon(room, level, 300)
    engine = start_engine(room, level, argv)
    await until((room.work / "up").exists)
    processes.stop_tree(reaper_of(str(room.base), engine.pid))
    engine.kill()
    engine.wait()
    await until(lambda: not is_alive(marker))


@both_levels
async def test_a_killed_reaper_is_noticed_and_cleaned_up_after(room: Room, level: Level) -> None:
    marker, argv = daemon(room, level, 300)
    job = asyncio.ensure_future(room.run(*argv, level=level, token=str(room.base)))
    await until((room.work / "up").exists)
    os.kill(reaper_of(str(room.base), os.getpid()), signal.SIGKILL)
    result = await job
    assert (result.killed, result.exit_code) == (True, None)
    assert "watched" in result.problem
    assert not is_alive(marker)


def reaper_of(token: str, engine: int) -> int:
    table = processes.read_table()
    return next(pid for pid in processes.marked(token) if table[pid].parent == engine)


async def test_a_plain_command_that_kills_its_reaper_is_cleaned_up_after(room: Room) -> None:
    marker = f"rebel-{room.base.name}"
    code = "(trap '' TERM HUP; sleep 300; : $0) & kill -9 $PPID; sleep 300; : $0"
    result = await room.run("sh", "-c", code, marker, level=Level.PLAIN)
    assert result.killed
    assert not is_alive(marker)


async def test_a_plain_command_that_stops_its_reaper_is_ended_all_the_same(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "PATIENCE_S", 1.0)
    marker = f"sleeper-{room.base.name}"
    code = "(trap '' TERM HUP; sleep 300; : $0) & kill -STOP $PPID; sleep 300; : $0"
    result = await room.run("sh", "-c", code, marker, level=Level.PLAIN, wall_s=0.5)
    assert result.killed
    assert not is_alive(marker)


async def test_a_polite_request_to_the_reaper_ends_the_command(room: Room) -> None:
    result = await room.shell("kill $PPID; sleep 300", level=Level.PLAIN)
    assert (result.killed, result.exit_code) == (True, None)


async def test_sweep_finds_what_a_crash_left_by_the_front_of_its_token(room: Room) -> None:
    ours, other = f"{room.base}/engine-1", f"{room.base}/engine-2"
    left = [spawn(f"{ours}/task-{number}") for number in range(2)]
    spared = spawn(f"{other}/task-1")
    try:
        assert sweep(ours) == 2
        assert [process.wait() for process in left] == [-signal.SIGKILL] * 2
        assert spared.poll() is None
        assert sweep(ours) == 0
    finally:
        spared.kill()
        spared.wait()


async def test_sweep_takes_children_that_dropped_the_token_along(room: Room) -> None:
    marker = f"bare-{room.base.name}"
    code = f"env -i sh -c 'sleep 300; : {marker}' & echo; wait"
    process = spawn(str(room.base), "sh", "-c", code)
    await until(lambda: len(processes.descendants([process.pid], processes.read_table())) >= 2)
    assert sweep(str(room.base)) >= 2
    process.wait()
    assert not is_alive(marker)


async def test_sweep_spares_the_caller_and_what_started_it(room: Room) -> None:
    code = f"from cockpit.adapters.shell import sweep; print(sweep({str(room.base)!r}))"
    root = str(Path(processes.__file__).parents[2])
    env = os.environ | {"COCKPIT_RUN": str(room.base), "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)  # noqa: ASYNC221
    assert (done.returncode, done.stdout) == (0, "0\n")


def test_sweep_refuses_to_kill_everybodys_runs() -> None:
    with pytest.raises(ValueError, match="empty prefix"):
        sweep("")


def spawn(token: str, *argv: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(argv or ("sleep", "300"), env=os.environ | {"COCKPIT_RUN": token})
    while process.pid not in processes.marked(token):
        pass
    return process
