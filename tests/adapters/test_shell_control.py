"""An operator freezes, thaws and kills a run before, while and after it goes."""

import asyncio
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, RunControl
from tests.adapters.commands import PYTHON, Room, both_levels, is_alive, until

TICKING = """
import os, time
for tick in range(100000):
    if os.fork() == 0:
        with open("ticks", "a") as file: file.write(".")
        os._exit(0)
    os.wait()
    time.sleep(0.01)
    if os.path.exists("enough"): break
"""


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def ticks(room: Room) -> int:
    path = room.work / "ticks"
    return path.stat().st_size if path.exists() else 0


async def still(room: Room) -> int:
    """Return the number of ticks once it does not change any more."""
    before = -1
    while before != ticks(room):
        before = ticks(room)
        await asyncio.sleep(0.4)
    return before


@both_levels
async def test_a_frozen_run_stands_still_with_its_clock_and_goes_on_where_it_was(room: Room, level: Level) -> None:
    control = RunControl()
    job = asyncio.ensure_future(room.python(TICKING, level=level, control=control, wall_s=20))
    await until(lambda: ticks(room) > 3)
    control.freeze()
    assert control.is_frozen
    frozen_at = await still(room)
    await asyncio.sleep(1.5)
    assert ticks(room) == frozen_at
    control.thaw()
    await until(lambda: ticks(room) > frozen_at)
    (room.work / "enough").touch()
    result = await job
    assert (result.exit_code, result.timed_out, control.is_frozen) == (0, False, False)
    assert result.elapsed_s < control.running_clock_s


@both_levels
async def test_a_freeze_longer_than_the_time_limit_is_no_timeout(room: Room, level: Level) -> None:
    control = RunControl()
    job = asyncio.ensure_future(room.shell("touch started; sleep 2; echo done", level=level, control=control, wall_s=4))
    await until((room.work / "started").exists)
    control.freeze()
    await asyncio.sleep(5)
    control.thaw()
    result = await job
    assert (result.timed_out, result.exit_code, result.tail) == (False, 0, "done\n")
    assert result.elapsed_s < 4.5


@both_levels
async def test_a_killed_run_has_no_exit_code_and_leaves_nothing(room: Room, level: Level) -> None:
    control = RunControl()
    marker = f"killed-{level}-{room.base.name}"
    code = "trap '' TERM INT; (setsid sleep 300; : $0) & echo begun; touch started; sleep 300; sleep 300"
    job = asyncio.ensure_future(room.run("sh", "-c", code, marker, level=level, control=control))
    await until((room.work / "started").exists)
    control.kill()
    result = await job
    assert (result.killed, result.timed_out, result.exit_code, result.tail) == (True, False, None, "begun\n")
    assert not is_alive(marker)


@both_levels
async def test_a_frozen_run_can_be_killed(room: Room, level: Level) -> None:
    control = RunControl()
    job = asyncio.ensure_future(room.shell("touch started; sleep 300", level=level, control=control))
    await until((room.work / "started").exists)
    control.freeze()
    control.kill()
    result = await job
    assert (result.killed, control.is_frozen, control.is_killed) == (True, False, True)


async def test_a_run_killed_beforehand_never_starts(room: Room) -> None:
    control = RunControl()
    control.kill()
    result = await room.shell("touch started", control=control)
    assert (result.killed, result.exit_code, result.problem) == (True, None, "killed before it started")
    assert not (room.work / "started").exists()


async def test_a_run_frozen_beforehand_waits_for_the_thaw(room: Room) -> None:
    control = RunControl()
    control.freeze()
    job = asyncio.ensure_future(room.shell("touch started", control=control))
    await asyncio.sleep(0.5)
    assert not (room.work / "started").exists()
    control.thaw()
    assert (await job).exit_code == 0


async def test_wishes_after_the_end_are_harmless(room: Room) -> None:
    control = RunControl()
    assert (await room.shell("exit 3", control=control)).exit_code == 3
    control.freeze()
    control.thaw()
    assert (await room.shell("exit 4", control=control)).exit_code == 4
    control.kill()
    control.freeze()
    assert not control.is_frozen


async def test_one_control_ends_two_runs_at_once(tmp_path: Path) -> None:
    control = RunControl()
    rooms = [Room(tmp_path / name) for name in ("a", "b")]
    jobs = [asyncio.ensure_future(room.shell("touch started; sleep 300", control=control)) for room in rooms]
    await until(lambda: all((room.work / "started").exists() for room in rooms))
    control.kill()
    assert [result.killed for result in await asyncio.gather(*jobs)] == [True, True]


@both_levels
async def test_what_forks_all_the_time_is_frozen_as_a_whole(room: Room, level: Level) -> None:
    control = RunControl()
    code = "import os\nfor _ in range(3): os.fork()\n" + TICKING
    job = asyncio.ensure_future(room.run(PYTHON, "-c", code, level=level, control=control))
    await until(lambda: ticks(room) > 20)
    control.freeze()
    frozen_at = await still(room)
    await asyncio.sleep(1)
    assert ticks(room) == frozen_at
    control.kill()
    assert (await job).killed
