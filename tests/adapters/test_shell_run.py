"""Commands end with their exit code, their output and within their limits, at both levels."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cockpit.adapters.shell import Confinement, Level, run
from cockpit.domain.errors import SandboxError
from tests.adapters.commands import PYTHON, Room, both_levels, is_alive, until

F06 = Path(__file__).parents[1] / "cases" / "test_runs" / "F06-hundred-megabytes-of-output"
ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def loud(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """The worktree of case F06 and what the case expects."""
    case = json.loads((F06 / "case.json").read_text())
    subprocess.run(["bash", F06 / case["build"], tmp_path / "case"], check=True)
    return tmp_path / "case" / case["inputs"]["task"], case


@both_levels
async def test_exit_code_and_both_streams_are_kept(room: Room, level: Level) -> None:
    result = await room.shell("echo out; echo err >&2; exit 7", level=level)
    assert (result.exit_code, result.tail, result.problem) == (7, "out\nerr\n", "")
    assert (result.level, result.timed_out, result.killed, result.output_bytes) == (level, False, False, 8)
    assert result.log.read_bytes() == b"out\nerr\n"


@both_levels
async def test_a_command_killed_by_a_signal_counts_as_128_and_the_signal(room: Room, level: Level) -> None:
    assert (await room.shell("kill -9 $$", level=level)).exit_code == 137


@both_levels
async def test_a_missing_command_is_named(room: Room, level: Level) -> None:
    result = await room.run("no-such-program", level=level)
    assert (result.exit_code, result.problem) == (127, "command not found: no-such-program")


@both_levels
async def test_a_command_that_is_no_program_says_so(room: Room, level: Level) -> None:
    room.write("notes.txt", "hello\n").chmod(0o644)
    result = await room.run("./notes.txt", level=level)
    assert (result.exit_code, result.problem) == (126, "not executable: ./notes.txt")


@both_levels
async def test_an_exit_code_of_127_from_the_command_itself_is_no_problem_of_ours(room: Room, level: Level) -> None:
    result = await room.shell("echo 'bwrap: execvp x: No such file or directory'; exit 127", level=level)
    assert (result.exit_code, result.problem) == (127, "")


async def test_a_missing_directory_is_an_error_with_a_hint(room: Room) -> None:
    confinement = Confinement(writable=(room.home,))
    with pytest.raises(SandboxError, match="is not a directory") as caught:
        await run(["true"], cwd=room.base / "gone", env={}, confinement=confinement, log=room.log)
    assert caught.value.hint


async def test_a_missing_writable_path_is_an_error_with_a_hint(room: Room) -> None:
    confinement = Confinement(writable=(room.base / "gone",))
    with pytest.raises(SandboxError, match="does not exist") as caught:
        await run(["true"], cwd=room.work, env={}, confinement=confinement, log=room.log)
    assert caught.value.hint


async def test_no_command_at_all_is_an_error(room: Room) -> None:
    with pytest.raises(SandboxError, match="no command"):
        await room.run()


@both_levels
async def test_nothing_of_the_users_environment_comes_along(
    room: Room, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "swordfish")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    seen = (await room.shell("env", level=level)).tail
    assert "swordfish" not in seen
    assert "LD_LIBRARY_PATH" not in seen
    assert f"HOME={room.home}\n" in seen


@both_levels
async def test_only_the_standard_streams_are_open(room: Room, level: Level) -> None:
    result = await room.python("import os; print(sorted(os.listdir('/proc/self/fd')))", level=level)
    # The fourth one is the directory being listed.
    assert result.tail == "['0', '1', '2', '3']\n"


@both_levels
async def test_there_is_no_terminal_and_nothing_to_read(room: Room, level: Level) -> None:
    code = "import sys\nprint(sys.stdin.read() == '')\ntry: open('/dev/tty')\nexcept OSError: print('no terminal')"
    assert (await room.python(code, level=level)).tail == "True\nno terminal\n"


@both_levels
async def test_signals_start_out_as_a_login_shell_has_them(room: Room, level: Level) -> None:
    result = await room.shell("grep -E 'Sig(Ign|Blk)' /proc/self/status", level=level)
    assert result.tail.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]


@both_levels
async def test_no_program_can_gain_privileges(room: Room, level: Level) -> None:
    assert (await room.shell("grep NoNewPrivs /proc/self/status", level=level)).tail.split() == ["NoNewPrivs:", "1"]


@both_levels
async def test_a_run_inside_a_run_works_without_a_second_sandbox(room: Room, level: Level) -> None:
    code = (
        f"import asyncio, sys; sys.path.append({str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from cockpit.adapters.shell import Confinement, Level, run\n"
        "options = {'cwd': Path.cwd(), 'env': {'PATH': '/usr/bin:/bin'}, 'log': Path('inner.log')}\n"
        "confinement = Confinement(writable=())\n"
        "inner = run(['echo', 'inside'], confinement=confinement, level=Level.PLAIN, **options)\n"
        "print(asyncio.run(inner).tail)"
    )
    result = await room.run(sys.executable, "-c", code, level=level, readable=(ROOT / "cockpit",))
    assert (result.exit_code, result.tail) == (0, "inside\n\n")


@both_levels
async def test_escape_codes_and_binary_stay_as_they_are_in_the_log(room: Room, level: Level) -> None:
    result = await room.shell(r"printf '\033[2J\033]0;title\007\377\000end'", level=level)
    assert result.log.read_bytes() == b"\x1b[2J\x1b]0;title\x07\xff\x00end"
    assert result.tail == "\x1b[2J\x1b]0;title\x07�\x00end"


@both_levels
async def test_a_command_that_closes_its_output_is_waited_for(room: Room, level: Level) -> None:
    code = "exec >&- 2>&-; sleep 0.5; touch done; exit 4"
    result = await room.shell(code, level=level)
    assert (result.exit_code, result.tail) == (4, "")
    assert (room.work / "done").exists()


@both_levels
async def test_all_of_a_hundred_megabytes_is_counted_and_the_reason_at_the_end_is_kept(
    room: Room, level: Level, loud: tuple[Path, dict[str, Any]]
) -> None:
    task, case = loud
    expected = case["expected"]["value"]
    argv = (PYTHON, *case["inputs"]["test_command"][1:])
    result = await room.run(*argv, cwd=task, writable=(task, room.home), level=level)
    assert result.exit_code == expected["exit"]
    assert len(result.tail.encode()) <= expected["kept_bytes_max"]
    assert expected["kept_contains"] in result.tail
    assert "bytes left out ...]" in result.tail
    assert result.output_bytes > 100 * MIB
    assert result.log_truncated
    assert result.log.stat().st_size <= 65 * MIB
    assert expected["kept_contains"].encode() in result.log.read_bytes()[-MIB:]


@both_levels
async def test_a_hundred_megabytes_without_a_line_end_do_not_hold_up_the_loop(room: Room, level: Level) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    counting = asyncio.ensure_future(count())
    result = await room.shell("head -c 104857600 /dev/zero | tr '\\0' x; printf end", level=level, output_mib=2)
    counting.cancel()
    assert result.output_bytes == 100 * MIB + 3
    assert result.tail.endswith("xend")
    assert result.log.stat().st_size <= 2 * MIB + 100
    assert turns > 20


@both_levels
async def test_a_log_on_a_full_disk_does_not_stop_the_command(room: Room, level: Level) -> None:
    room.log_path = Path("/dev/full")
    result = await room.shell("echo lost; exit 5", level=level)
    assert (result.exit_code, result.output_bytes) == (5, 5)
    assert "No space left" in result.problem


async def test_a_log_that_cannot_be_written_is_an_error(room: Room) -> None:
    room.log.mkdir(parents=True)
    with pytest.raises(SandboxError, match="could not be watched"):
        await room.run("true")


@both_levels
async def test_the_memory_of_a_process_is_limited(room: Room, level: Level) -> None:
    result = await room.python("x = bytearray(512 << 20)", level=level, memory_mib=256)
    assert result.exit_code == 1
    assert "MemoryError" in result.tail


@both_levels
async def test_a_sparse_file_of_ten_gigabytes_is_refused(room: Room, level: Level) -> None:
    result = await room.shell("truncate -s 10G big", level=level, file_mib=16)
    assert result.exit_code != 0
    assert (room.work / "big").stat().st_size <= 16 * MIB


@both_levels
async def test_a_file_stops_growing_at_its_limit(room: Room, level: Level) -> None:
    result = await room.shell("head -c 64M /dev/zero > big", level=level, file_mib=16)
    assert result.exit_code != 0
    assert (room.work / "big").stat().st_size <= 16 * MIB


@both_levels
async def test_a_fork_bomb_is_stopped_and_cleared_away(room: Room, level: Level) -> None:
    code = (
        "import os, time\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(300)\n"
        "except OSError:\n"
        "    print('refused by the kernel')\n"
    )
    marker = f"bomb-{level}-{room.base.name}"
    result = await room.run(PYTHON, "-c", code, marker, level=level, processes=40)
    assert "refused by the kernel" in result.tail or "more than 40 processes" in result.problem
    assert not is_alive(marker)


@both_levels
async def test_the_time_limit_ends_a_tree_that_ignores_every_polite_signal(room: Room, level: Level) -> None:
    marker = f"stubborn-{level}-{room.base.name}"
    code = "trap '' TERM INT HUP QUIT; (sleep 300; : $0) & setsid sh -c 'sleep 300; : $0' $0 & sleep 300; sleep 300"
    result = await room.run("sh", "-c", code, marker, level=level, wall_s=1.0)
    assert (result.timed_out, result.killed, result.exit_code) == (True, False, None)
    assert result.elapsed_s >= 1.0
    assert not is_alive(marker)


@both_levels
async def test_a_test_run_that_hangs_says_where_before_it_ends(room: Room, level: Level) -> None:
    room.write("hang.py", "import time\n\ndef wait_for_godot():\n    time.sleep(300)\n\nwait_for_godot()\n")
    result = await room.run(PYTHON, "hang.py", level=level, wall_s=2.0)
    assert result.timed_out
    assert "in wait_for_godot" in result.tail


@both_levels
async def test_work_left_in_the_background_is_ended_with_the_command(room: Room, level: Level) -> None:
    marker = f"left-{level}-{room.base.name}"
    code = "(trap '' TERM HUP; sleep 300; : $0) & echo started"
    result = await room.run("sh", "-c", code, marker, level=level)
    assert (result.exit_code, result.tail) == (0, "started\n")
    assert not is_alive(marker)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@both_levels
async def test_node_has_room_for_its_workers_within_the_usual_memory(room: Room, level: Level) -> None:
    code = "const {Worker}=require('worker_threads'); new Worker('1',{eval:true}).on('exit',c=>console.log('worker',c))"
    result = await room.run("node", "-e", code, level=level)
    assert (result.exit_code, result.tail) == (0, "worker 0\n")


async def test_a_cancelled_run_leaves_nothing(room: Room) -> None:
    marker = f"cancelled-{room.base.name}"
    job = asyncio.ensure_future(room.run("sh", "-c", "touch started; sleep 300; : $0", marker))
    await until((room.work / "started").exists)
    assert is_alive(marker)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not is_alive(marker)


async def test_many_commands_run_side_by_side(tmp_path: Path) -> None:
    rooms = [Room(tmp_path / str(number)) for number in range(6)]
    results = await asyncio.gather(*(room.shell(f"echo {number}") for number, room in enumerate(rooms)))
    assert [result.tail for result in results] == [f"{number}\n" for number in range(6)]
