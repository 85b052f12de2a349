"""Reads the process table from /proc and ends whole trees of processes.

Does without pathlib and dataclasses: the reaper loads this at the start of every command, and they take 20-50 ms.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MARK = "COCKPIT_RUN"
"""Environment variable that names the run a process belongs to."""

PROC = "/proc"
ENDED = frozenset("ZX")
STOPPED = frozenset("TtZX")
STOP_PASSES = 50
POLL_S = 0.01


class Entry(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    state: str
    """One letter, as the kernel gives it: R, S, D, T, Z, ..."""
    threads: int


Table = Mapping[int, Entry]


def read_table() -> dict[int, Entry]:
    """Return every process that is visible here, by pid."""
    pids = (int(name) for name in os.listdir(PROC) if name.isdigit())  # noqa: PTH208  # names alone
    return {entry.pid: entry for entry in map(_read_entry, pids) if entry is not None}


def _read_entry(pid: int) -> Entry | None:
    stat = _read(f"{PROC}/{pid}/stat")
    # The name may hold spaces and brackets: the fields start after its last bracket.
    fields = stat.rpartition(b")")[2].split()
    if len(fields) < 18:
        return None
    return Entry(pid, int(fields[1]), fields[0].decode(), int(fields[17]))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # the reaper does without pathlib
            return file.read()
    except OSError:
        return b""


def descendants(roots: Iterable[int], table: Table) -> list[Entry]:
    """Return what descends from ``roots``, parents before children, without the roots."""
    children: dict[int, list[Entry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    found: dict[int, Entry] = {}
    waiting = deque(roots)
    while waiting:
        for entry in children.get(waiting.popleft(), []):
            if entry.pid not in found:
                found[entry.pid] = entry
                waiting.append(entry.pid)
    return list(found.values())


def running(roots: Iterable[int], table: Table) -> list[Entry]:
    """Return the descendants of ``roots`` that have not ended."""
    return [entry for entry in descendants(roots, table) if entry.state not in ENDED]


def ancestors(pid: int, table: Table) -> set[int]:
    """Return ``pid`` and everything above it."""
    line: set[int] = set()
    while pid in table and pid not in line:
        line.add(pid)
        pid = table[pid].parent
    return line


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; False when the process is gone or belongs to somebody else."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def stop_tree(root: int) -> set[int]:
    """Stop all that descends from ``root``, also what forks meanwhile; returns the pids that were stopped."""
    stopped: set[int] = set()
    for _ in range(STOP_PASSES):
        tree = [entry.pid for entry in descendants([root], read_table()) if entry.state not in STOPPED]
        # What a stop was sent to cannot fork any more: only newcomers count.
        sent = {pid for pid in tree if pid not in stopped and send(pid, signal.SIGSTOP)}
        if not sent:
            break
        stopped |= sent
    return stopped


def kill_tree(root: int) -> None:
    """Send SIGKILL to all that descends from ``root``; stopped first, so that nothing forks away."""
    stop_tree(root)
    for entry in running([root], read_table()):
        send(entry.pid, signal.SIGKILL)


def marked(prefix: str) -> set[int]:
    """Return the pids whose environment carries a run token that starts with ``prefix``."""
    wanted = f"{MARK}={prefix}".encode()
    pids = (name for name in os.listdir(PROC) if name.isdigit())  # noqa: PTH208  # names alone
    return {int(pid) for pid in pids if _carries(_read(f"{PROC}/{pid}/environ"), wanted)}


def _carries(environ: bytes, wanted: bytes) -> bool:
    return any(item.startswith(wanted) for item in environ.split(b"\0"))


def sweep(token_prefix: str, *, patience_s: float = 5.0) -> int:
    """Kill every process of the runs whose token starts with ``token_prefix``; returns how many there were.

    The descendants of such a process are killed too, whatever they did to their environment. The caller and what
    stands above it are left alone. Raises ValueError for an empty prefix: that would be everybody's runs.
    """
    if not token_prefix:
        raise ValueError("sweep needs a token: an empty prefix names every run of this user")
    killed: set[int] = set()
    deadline = time.monotonic() + patience_s
    while leftover := _leftover(token_prefix):
        for pid in leftover:
            send(pid, signal.SIGSTOP)
        killed |= {pid for pid in leftover if send(pid, signal.SIGKILL)}
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
    return len(killed)


def _leftover(token_prefix: str) -> set[int]:
    table = read_table()
    roots = marked(token_prefix)
    every = roots | {entry.pid for entry in descendants(roots, table)}
    alive = {pid for pid in every if pid in table and table[pid].state not in ENDED}
    return alive - ancestors(os.getpid(), table)


def threads_of_user(uid: int) -> int:
    """Return how many threads this user has on the machine."""
    owned = (entry for entry in read_table().values() if _owner(entry.pid) == uid)
    return sum(entry.threads for entry in owned)


def _owner(pid: int) -> int:
    try:
        return os.stat(f"{PROC}/{pid}").st_uid  # noqa: PTH116  # as above
    except OSError:
        return -1


def threads_of_machine() -> int:
    """Return how many threads there are in all: one small read, far cheaper than the table."""
    words = _read(f"{PROC}/loadavg").split()
    return int(words[3].partition(b"/")[2]) if len(words) > 3 else 0
