"""What a command in bubblewrap sees, reaches and can change, and what it does not."""

import os
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level
from tests.adapters.commands import PYTHON, Room, both_levels, needs_bubblewrap

pytestmark = needs_bubblewrap
INSIDE = Level.BUBBLEWRAP


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(("network", "answer"), [(False, "refused\n"), (True, "connected\n")])
async def test_a_server_of_the_machine_is_reached_only_with_the_network(
    room: Room, listener: int, network: bool, answer: str
) -> None:
    code = (
        "import socket\n"
        f"try: socket.create_connection(('127.0.0.1', {listener}), 5); print('connected')\n"
        "except OSError: print('refused')"
    )
    assert (await room.python(code, level=INSIDE, network=network)).tail == answer


async def test_a_test_may_talk_to_itself_without_the_network(room: Room) -> None:
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('heard')"
    )
    assert (await room.python(code, level=INSIDE)).tail == "heard\n"


async def test_a_socket_of_the_machine_without_a_file_is_out_of_reach(room: Room) -> None:
    name = f"\0cockpit-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = (
            "import socket\n"
            f"try: socket.socket(socket.AF_UNIX).connect({name!r}); print('connected')\n"
            "except OSError: print('refused')"
        )
        assert (await room.python(code, level=INSIDE)).tail == "refused\n"


async def test_the_home_of_the_user_is_not_there(room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_home = tmp_path / "user"
    (user_home / ".ssh").mkdir(parents=True)
    (user_home / ".ssh" / "id_ed25519").write_text("secret")
    (user_home / "bin").mkdir()
    monkeypatch.setenv("HOME", str(user_home))
    monkeypatch.setenv("PATH", f"{user_home}/bin:{os.environ['PATH']}")
    result = await room.shell(f"ls -A {user_home}; cat {user_home}/.ssh/id_ed25519", level=INSIDE)
    assert "secret" not in result.tail
    assert result.tail.startswith("bin\n")


async def test_a_file_beside_the_worktree_is_not_there(room: Room) -> None:
    (room.base / "secret").write_text("secret")
    result = await room.shell(f"cat {room.base}/secret", level=INSIDE)
    assert result.exit_code == 1
    assert "No such file" in result.tail


@pytest.mark.parametrize("place", ["/", "/usr", "/etc", "/dev", "/home", "/var", "/usr/local/bin"])
async def test_no_place_of_the_system_can_be_written(room: Room, place: str) -> None:
    result = await room.shell(f"touch {place}/cockpit-was-here && echo written", level=INSIDE)
    assert "written" not in result.tail
    assert "cockpit-was-here" not in os.listdir(place)  # noqa: PTH208 - one name is all that is asked


async def test_the_worktree_can_be_written_and_a_readable_part_of_it_not(room: Room) -> None:
    vendored = room.work / "vendored"
    vendored.mkdir()
    code = "echo new > made; touch vendored/x && echo written"
    result = await room.shell(code, level=INSIDE, readable=(vendored,))
    assert "Read-only file system" in result.tail
    assert "written" not in result.tail
    assert (room.work / "made").read_text() == "new\n"


async def test_a_writable_part_of_a_readable_tree_can_be_written(room: Room) -> None:
    shared = room.base / "shared"
    (shared / "cache").mkdir(parents=True)
    code = f"touch {shared}/cache/ok; touch {shared}/bad && echo written"
    result = await room.shell(code, level=INSIDE, readable=(shared,), writable=(room.work, shared / "cache"))
    assert "written" not in result.tail
    assert (shared / "cache" / "ok").exists()


async def test_a_link_out_of_the_worktree_leads_nowhere(room: Room) -> None:
    outside = room.base / "outside.txt"
    outside.write_text("mine")
    (room.work / "link").symlink_to(outside)
    result = await room.shell("echo stolen > link; cat link", level=INSIDE)
    assert outside.read_text() == "mine"
    assert "mine" not in result.tail


async def test_a_worktree_reached_through_a_link_works_under_both_names(room: Room) -> None:
    alias = room.base / "alias"
    alias.symlink_to(room.work)
    code = f"touch {alias}/a; touch {room.work}/b; touch c"
    result = await room.shell(code, level=INSIDE, cwd=alias, writable=(alias, room.home))
    assert (result.exit_code, sorted(path.name for path in room.work.iterdir())) == (0, ["a", "b", "c"])


async def test_processes_of_the_machine_cannot_be_seen_or_signalled(room: Room) -> None:
    code = (
        "import os, signal\n"
        "pids = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())\n"
        "print(len(pids) < 5, b'bwrap' in open('/proc/1/cmdline', 'rb').read())\n"
        f"try: os.kill({os.getpid()}, 0); print('reached')\n"
        "except ProcessLookupError: print('nobody there')"
    )
    assert (await room.python(code, level=INSIDE)).tail == "True True\nnobody there\n"


async def test_the_environment_of_the_first_process_holds_no_secret(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "swordfish")
    result = await room.shell("cat /proc/1/environ /proc/1/cmdline | tr '\\0' '\\n'", level=INSIDE, token="me-1")  # noqa: S106
    assert "COCKPIT_RUN=me-1" in result.tail
    assert "swordfish" not in result.tail
    assert "PATH=" not in result.tail


async def test_killing_everybody_kills_nobody_but_the_command(room: Room) -> None:
    code = "import os\ntry: os.kill(-1, 9)\nexcept ProcessLookupError: print('nobody else')"
    result = await room.python(code, level=INSIDE)
    assert (result.exit_code, result.tail) == (0, "nobody else\n")


async def test_there_are_no_privileges_and_no_way_to_more(room: Room) -> None:
    result = await room.shell("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status", level=INSIDE)
    assert result.tail.split() == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]


async def test_tmp_is_private_short_and_limited(room: Room) -> None:
    code = "echo $TMPDIR; ls -A /tmp; head -c 64M /dev/zero > /tmp/fill || echo full; stat -c %s /tmp/fill"
    result = await room.shell(code, level=INSIDE, file_mib=8)
    lines = result.tail.splitlines()
    assert lines[0] == "/tmp"  # noqa: S108
    assert int(lines[-1]) <= 8 << 20
    assert "fill" not in os.listdir("/tmp")  # noqa: S108, PTH208


async def test_many_files_cannot_fill_tmp_beyond_its_size(room: Room) -> None:
    code = "for i in 1 2 3 4; do head -c 4M /dev/zero > /tmp/$i || echo full; done; cat /tmp/* | wc -c"
    lines = (await room.shell(code, level=INSIDE, file_mib=8)).tail.splitlines()
    assert "full" in lines
    assert int(lines[-1]) <= 8 << 20


async def test_the_user_has_a_name_and_a_home_that_agree(room: Room) -> None:
    code = "import os, pwd; me = pwd.getpwuid(os.getuid()); print(me.pw_dir == os.environ['HOME'], me.pw_uid)"
    assert (await room.python(code, level=INSIDE)).tail == f"True {os.getuid()}\n"


async def test_a_home_that_is_not_shown_is_empty_and_gone_afterwards(room: Room) -> None:
    (room.home / "old").touch()
    result = await room.shell("ls -A ~; echo x > ~/new && cat ~/new", level=INSIDE, writable=(room.work,))
    assert result.tail == "x\n"
    assert not (room.home / "new").exists()


async def test_git_reads_a_worktree_whose_repository_is_read_only(room: Room) -> None:
    worktree = _worktree(room)
    code = "git status --porcelain; git log --oneline | wc -l; git commit -qam x || echo refused"
    result = await room.shell(code, level=INSIDE, cwd=worktree, writable=(worktree,), readable=(room.base / "repo",))
    lines = result.tail.splitlines()
    assert lines[:2] == [" M file", "1"]
    assert lines[-1] == "refused"


def _worktree(room: Room) -> Path:
    worktree = room.base / "tree"
    git: list[str | Path] = ["git", "-C", room.base / "repo", "-c", "user.name=A", "-c", "user.email=a@example.invalid"]
    subprocess.run(["git", "init", "-q", room.base / "repo"], check=True)
    (room.base / "repo" / "file").write_text("one\n")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", worktree], check=True, capture_output=True)
    (worktree / "file").write_text("two\n")
    return worktree


@both_levels
async def test_the_python_of_a_virtual_environment_runs_from_outside_the_worktree(room: Room, level: Level) -> None:
    environment = room.base / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    code = "import json, ssl, sqlite3, sys; print(sys.prefix)"
    result = await room.run(str(environment / "bin" / "python"), "-c", code, level=level)
    assert (result.exit_code, result.tail) == (0, f"{environment}\n")


@both_levels
async def test_a_script_of_a_virtual_environment_finds_its_interpreter_through_path(room: Room, level: Level) -> None:
    environment = room.base / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    tool = environment / "bin" / "mytool"
    tool.write_text(f"#!{environment}/bin/python\nimport sys; print(sys.prefix)\n")
    tool.chmod(0o755)
    room.extra["PATH"] = f"{environment}/bin:/usr/bin:/bin"
    result = await room.run("mytool", level=level)
    assert (result.exit_code, result.tail) == (0, f"{environment}\n")


@both_levels
async def test_the_interpreter_of_this_program_runs_wherever_it_is_installed(room: Room, level: Level) -> None:
    result = await room.run(sys.executable, "-c", "import asyncio, ssl, sys; print(sys.version_info[:2])", level=level)
    assert (result.exit_code, result.tail) == (0, f"{sys.version_info[:2]}\n")


@both_levels
async def test_a_shim_in_the_home_finds_the_python_it_stands_for(
    room: Room, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_home = room.base / "user"
    pyenv = user_home / ".pyenv"
    (pyenv / "shims").mkdir(parents=True)
    (pyenv / "versions" / "3.11" / "bin").mkdir(parents=True)
    (pyenv / "versions" / "3.11" / "bin" / "python3").symlink_to(PYTHON)
    shim = pyenv / "shims" / "python3"
    shim.write_text(f'#!/bin/sh\nexec "{pyenv}/versions/3.11/bin/python3" "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("HOME", str(user_home))
    room.extra["PATH"] = f"{pyenv}/shims:/usr/bin:/bin"
    result = await room.run("python3", "-c", "print('found')", level=level)
    assert (result.exit_code, result.tail) == (0, "found\n")
