"""Asks the operating system about memory, cores and processes."""

import contextlib
import os
import time

import psutil

SAME_START_S = 0.05
"""Two start times nearer than this are the same process: the kernel counts in hundredths of a second."""


def physical_cores() -> int:
    """Return the cores this process may compute on; two threads of one core count once."""
    allowed = len(os.sched_getaffinity(0))
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed))


def free_mib() -> int:
    """Return the memory that can be had without swapping, in MiB."""
    return int(psutil.virtual_memory().available // (1024 * 1024))


def started_s(pid: int) -> float | None:
    """Return when a process was created, seconds since 1970; None when it does not live any more."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except psutil.Error:
        return None


def is_alive(pid: int, created_s: float) -> bool:
    """Tell whether this very process lives; a pid that was given to another one does not count."""
    found = started_s(pid)
    return found is not None and abs(found - created_s) < SAME_START_S


def end_process(pid: int, created_s: float, grace_s: float) -> bool:
    """Ask a process to end and kill it after ``grace_s``; False when it was not alive."""
    if not is_alive(pid, created_s):
        return False
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        process.terminate()
        if not _is_gone(pid, created_s, grace_s):
            process.kill()
            _is_gone(pid, created_s, grace_s)
    return True


def _is_gone(pid: int, created_s: float, wait_s: float) -> bool:
    deadline = time.monotonic() + wait_s
    while is_alive(pid, created_s):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True
