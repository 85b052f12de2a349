"""Background processes go their own way; small trusted programs answer or say why not."""

import asyncio
import os
from pathlib import Path

import pytest

from cockpit.adapters.shell import capture, spawn_detached
from cockpit.domain.errors import SandboxError
from tests.adapters.commands import is_alive, until

ENV = {"PATH": "/usr/bin:/bin"}


async def test_a_detached_process_has_its_own_session_and_appends_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "deep" / "engine.log"
    log.parent.mkdir()
    log.write_text("before\n")
    code = "cat; echo out; echo err >&2; ps -o sid= -p $$ | tr -d ' '; sleep 0.2"
    pid = spawn_detached(["sh", "-c", code], cwd=tmp_path, env=ENV, log=log)
    await until(lambda: log.read_text().count("\n") == 4)
    assert log.read_text() == f"before\nout\nerr\n{pid}\n"
    assert pid != os.getsid(0)


async def test_the_end_of_a_detached_process_does_not_leave_its_pid_behind(tmp_path: Path) -> None:
    pid = spawn_detached(["true"], cwd=tmp_path, env=ENV, log=tmp_path / "log")
    await until(lambda: not Path("/proc", str(pid)).exists())


def test_a_detached_program_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot start no-such-program"):
        spawn_detached(["no-such-program"], cwd=tmp_path, env=ENV, log=tmp_path / "log")


async def test_capture_returns_code_and_both_streams(tmp_path: Path) -> None:
    code = "echo out; printf 'e\\377' >&2; pwd; exit 3"
    answer = await capture(["sh", "-c", code], cwd=tmp_path, env=ENV, timeout_s=60)
    assert answer == (3, f"out\n{tmp_path}\n", "e�")


async def test_capture_of_a_missing_program_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot run no-such-program") as caught:
        await capture(["no-such-program"], cwd=tmp_path, env=ENV, timeout_s=5)
    assert caught.value.hint


async def test_capture_ends_what_takes_too_long_with_its_children(tmp_path: Path) -> None:
    marker = f"slow-{tmp_path.name}"
    with pytest.raises(SandboxError, match="did not answer"):
        await capture(["sh", "-c", "(sleep 300; : $0) & sleep 300; :", marker], cwd=tmp_path, env=ENV, timeout_s=0.5)
    await until(lambda: not is_alive(marker))


async def test_a_cancelled_capture_leaves_nothing(tmp_path: Path) -> None:
    marker = f"dropped-{tmp_path.name}"
    code = "touch up; sleep 300; : $0"
    job = asyncio.ensure_future(capture(["sh", "-c", code, marker], cwd=tmp_path, env=ENV, timeout_s=60))
    await until((tmp_path / "up").exists)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await until(lambda: not is_alive(marker))
