"""Runs one command, watches its limits, and leaves only when nothing of it is alive: the program ``python -I -S``.

It is the parent of the command and the heir of every process that loses its own parent, so a daemon cannot
escape it. Orders come as single bytes through a pipe from the engine; the end of that pipe, which the kernel
brings about when the engine dies, is the order to kill.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from cockpit.adapters import launch, output, processes

FREEZE, THAW, KILL = b"F", b"T", b"K"
"""The orders."""
READ_BYTES = 256 * 1024
TICK_S = 0.25
ENDING_TICK_S = 0.02
GRACE_S = 2.0
"""After the time limit every process gets SIGINT first: test runners then print where they hang."""
SURVIVAL_S = 10.0
"""How long to go on killing before what is left is reported."""


class Clock:
    """Counts the seconds a command ran; time while frozen does not count."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._frozen_since: float | None = None

    @property
    def is_frozen(self) -> bool:
        """Whether the clock stands still."""
        return self._frozen_since is not None

    @property
    def elapsed_s(self) -> float:
        """Seconds so far."""
        now = time.monotonic() if self._frozen_since is None else self._frozen_since
        return now - self._started

    def freeze(self) -> None:
        """Stand still."""
        if self._frozen_since is None:
            self._frozen_since = time.monotonic()

    def thaw(self) -> None:
        """Go on from where it stood."""
        if self._frozen_since is not None:
            self._started += time.monotonic() - self._frozen_since
            self._frozen_since = None


class Reaper:
    """One command from its start to the end of its last process."""

    def __init__(self, plan: launch.Plan, control: int) -> None:
        self._plan = plan
        self._control = control
        self._engine = os.getppid()
        self._wake, wake_end = os.pipe()
        _listen(wake_end, self._order_kill)
        self._log = output.CappedLog(plan["log"], plan["log_bytes"])
        self._machine_threads = processes.threads_of_machine()
        self._command = launch.launch(plan)
        self._clock = Clock()
        self._elapsed_s: float | None = None
        self._exit_code: int | None = None
        self._status = b""
        self._stopped: set[int] = set()
        self._is_killed = self._is_timed_out = self._is_alone = self._is_let_in = False
        self._problem = ""
        self._sources: dict[int, Callable[[], object]] = {}
        self._poll = select.poll()

    def run(self) -> dict[str, Any]:
        """Wait for the end and return the facts."""
        self._add(self._control, self._read_orders)
        self._add(self._command.output, self._read_output)
        self._add(self._command.status, self._read_status)
        self._add(self._wake, lambda: _read(self._wake))
        give_up = None
        while not self._is_alone:
            self._serve(ENDING_TICK_S if self._is_ending else TICK_S)
            self._reap()
            self._check_limits()
            if self._is_ending and not self._is_alone:
                give_up = give_up or time.monotonic() + SURVIVAL_S
                processes.kill_tree(os.getpid())
                if time.monotonic() > give_up:
                    break
        return self._finish()

    def _add(self, descriptor: int, handler: Callable[[], object]) -> None:
        os.set_blocking(descriptor, False)
        self._sources[descriptor] = handler
        self._poll.register(descriptor, select.POLLIN)

    def _drop(self, descriptor: int) -> None:
        if self._sources.pop(descriptor, None):
            self._poll.unregister(descriptor)

    def _serve(self, tick_s: float) -> None:
        for descriptor, _ in self._poll.poll(tick_s * 1000):
            if handler := self._sources.get(descriptor):
                handler()

    @property
    def _is_ending(self) -> bool:
        is_out_of_grace = self._is_timed_out and self._clock.elapsed_s > self._plan["wall_s"] + GRACE_S
        return self._elapsed_s is not None or self._is_killed or is_out_of_grace

    def _read_orders(self) -> None:
        orders = _read(self._control)
        if orders is None:
            return
        if not orders:
            self._drop(self._control)
            self._order_kill()
        obey = {FREEZE: self._freeze, THAW: self._thaw, KILL: self._order_kill}
        for number in orders:
            obey[bytes([number])]()

    def _order_kill(self) -> None:
        self._is_killed = self._is_killed or self._elapsed_s is None

    def _freeze(self) -> None:
        if not self._is_ending:
            self._clock.freeze()
            self._stopped |= processes.stop_tree(os.getpid())

    def _thaw(self) -> None:
        for pid in self._stopped & processes.read_table().keys():
            processes.send(pid, signal.SIGCONT)
        self._stopped.clear()
        self._clock.thaw()

    def _read_output(self) -> None:
        data = _read(self._command.output)
        if data:
            self._log.write(data)
        elif data is not None:
            self._drop(self._command.output)

    def _read_status(self) -> None:
        data = _read(self._command.status)
        if data:
            self._status += data
            self._let_in()
        elif data is not None:
            self._drop(self._command.status)

    def _let_in(self) -> None:
        """Let bubblewrap start the command, once its first process is known and limited."""
        inside = self._told("child-pid")
        if inside and not self._is_let_in:
            self._is_let_in = True
            launch.limit_processes_inside(inside, self._plan["processes"])
            os.write(self._command.gate, b"\n")

    def _told(self, key: str) -> int | None:
        lines = [json.loads(line) for line in self._status.splitlines() if line.endswith(b"}")]
        return next((int(line[key]) for line in lines if key in line), None)

    def _reap(self) -> None:
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._command.pid:
                    self._elapsed_s = self._clock.elapsed_s
                    code = os.waitstatus_to_exitcode(status)
                    self._exit_code = code if code >= 0 else 128 - code
        except ChildProcessError:
            self._is_alone = True

    def _check_limits(self) -> None:
        if os.getppid() != self._engine:
            self._order_kill()
        if self._is_ending or self._clock.is_frozen:
            return
        if self._clock.elapsed_s > self._plan["wall_s"] and not self._is_timed_out:
            self._is_timed_out = True
            self._interrupt()
        if self._has_too_many():
            self._problem = f"more than {self._plan['processes']} processes and threads: the command was ended"
            self._is_killed = True

    def _interrupt(self) -> None:
        table = processes.read_table()
        inside = self._told("child-pid") if self._plan["bwrap"] else os.getpid()
        for entry in processes.running([inside], table) if inside else ():
            processes.send(entry.pid, signal.SIGINT)

    def _has_too_many(self) -> bool:
        """Count the threads of the tree, but only when the machine has so many more than before."""
        allowed: int = self._plan["processes"]
        if processes.threads_of_machine() - self._machine_threads < allowed // 2:
            return False
        tree = processes.running([os.getpid()], processes.read_table())
        return sum(entry.threads for entry in tree) > allowed + 2

    def _finish(self) -> dict[str, Any]:
        while self._command.output in self._sources and _is_readable(self._command.output):
            self._read_output()
        while self._command.status in self._sources and _is_readable(self._command.status):
            self._read_status()
        self._log.close()
        is_cut_short = self._is_killed or self._is_timed_out
        return {
            "exit_code": None if is_cut_short else self._exit_code,
            "timed_out": self._is_timed_out and not self._is_killed,
            "killed": self._is_killed,
            "elapsed_s": self._clock.elapsed_s if self._elapsed_s is None else self._elapsed_s,
            "output_bytes": self._log.total_bytes,
            "log_truncated": self._log.is_truncated,
            "has_started": is_cut_short or self._has_started(),
            "errno": self._told("errno"),
            "problem": self._problem or self._survivors() or self._log.problem,
        }

    def _has_started(self) -> bool:
        failed_to_exec = self._told("errno") is not None
        has_run = self._told("exit-code") is not None
        return has_run if self._plan["bwrap"] else not failed_to_exec

    def _survivors(self) -> str:
        alive = processes.running([os.getpid()], processes.read_table())
        return f"{len(alive)} processes survive SIGKILL, first {alive[0].pid}" if alive else ""


def _listen(wake: int, order_kill: Callable[[], None]) -> None:
    """Wake the loop when a child ends; take a polite request to leave as the order to kill."""
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: order_kill())


def _read(descriptor: int) -> bytes | None:
    """Return what is there, nothing at the end, None when nothing is there yet."""
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return None


def _is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])


def main() -> None:
    """Read the plan from standard input, run it, print the facts as one JSON line."""
    launch.prctl(launch.PR_SET_CHILD_SUBREAPER, 1)
    plan = json.load(sys.stdin)
    control = int(sys.argv[2])
    os.set_inheritable(control, False)  # noqa: FBT003 - the command must not read its orders
    facts = Reaper(plan, control).run()
    sys.stdout.write(json.dumps(facts) + "\n")
