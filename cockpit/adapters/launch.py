"""Turns a freshly forked process into the command of a run: session, limits, sandbox."""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
from collections.abc import Mapping
from typing import Any, NoReturn

from cockpit.adapters import processes

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PIPE_BYTES = 1024 * 1024
OOM_SCORE = "500"
"""When memory runs out the kernel takes the command first, not the engine or the model server."""
COUNTS_BY_NAMESPACE = (5, 14)
"""First kernel that counts RLIMIT_NPROC per user namespace instead of per user of the machine."""

Plan = Mapping[str, Any]


class Launched:
    """A command that is on its way."""

    def __init__(self, pid: int, output: int, status: int, gate: int) -> None:
        self.pid = pid
        """The command, or bubblewrap around it."""
        self.output = output
        """Where its output can be read."""
        self.status = status
        """Where bubblewrap reports as JSON lines, or the command why it could not start."""
        self.gate = gate
        """One byte written here lets bubblewrap go on."""


def prctl(option: int, value: int) -> None:
    """Set a property of this process; what the kernel does not know is skipped."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def launch(plan: Plan) -> Launched:
    """Start the command of the plan below this process."""
    output, output_end = _wide_pipe()
    status, status_end = os.pipe()
    gate_end, gate = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_command(plan, parent, output_end, status_end, gate_end)
    for end in (output_end, status_end, gate_end):
        os.close(end)
    return Launched(pid, output, status, gate)


def _wide_pipe() -> tuple[int, int]:
    ends = os.pipe()
    # A user with many pipes may not widen another one; it works without.
    with contextlib.suppress(OSError):
        fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return ends


def _become_command(plan: Plan, parent: int, output: int, status: int, gate: int) -> NoReturn:
    try:
        _leave_reaper(parent, output)
        _set_limits(plan)
        if plan["bwrap"]:
            _exec_bwrap(plan, status, gate)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        os.chdir(plan["cwd"])
        os.execvpe(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606 - no shell on purpose
    except OSError as error:
        os.write(status, json.dumps({"errno": error.errno, "reason": error.strerror}).encode())
    finally:
        os._exit(127)


def _leave_reaper(parent: int, output: int) -> None:
    """Take a session, clean signals and standard streams of one's own, and die when the reaper does."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(127)
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # Python ignores SIGPIPE and SIGXFSZ, and a background engine may ignore more: all of that is inherited.
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for standard, stream in enumerate((nothing, output, output)):
        os.dup2(stream, standard)
    os.umask(0o022)


def _set_limits(plan: Plan) -> None:
    # RLIMIT_DATA rather than RLIMIT_AS: with 4 GiB of address space Node starts no worker and no WebAssembly,
    # because they reserve far more than they touch. Python, Java and Rust are stopped by either.
    _limit(resource.RLIMIT_DATA, plan["memory_bytes"])
    _limit(resource.RLIMIT_FSIZE, plan["file_bytes"])
    _limit(resource.RLIMIT_CORE, 0)
    if not plan["bwrap"] and os.getuid() != 0:
        _limit(resource.RLIMIT_NPROC, plan["processes"] + processes.threads_of_user(os.getuid()))
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123  # imports stay few
        file.write(OOM_SCORE)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (allowed, allowed))


def _exec_bwrap(plan: Plan, status: int, gate: int) -> None:
    """Replace this process by bubblewrap; its arguments travel in a file, so that no list of processes shows them."""
    arguments = ["--json-status-fd", str(status), "--block-fd", str(gate)]
    for target, text in plan["files"].items():
        arguments += ["--ro-bind-data", str(_memory_file(text)), target]
    packed = _memory_file("".join(f"{word}\0" for word in [*arguments, *plan["bwrap"][1:]]))
    for descriptor in (status, gate):
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the only way to call it
    os.chdir("/")
    command = [plan["bwrap"][0], "--args", str(packed), "--", *plan["argv"]]
    # Its own environment stays empty: a library path meant for the command must not load code out here.
    token = {processes.MARK: plan["env"].get(processes.MARK, "")}
    os.execve(command[0], command, token)  # noqa: S606  # what this program is for


def _memory_file(text: str) -> int:
    descriptor = os.memfd_create("cockpit", 0)
    os.write(descriptor, text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def limit_processes_inside(pid: int, count: int) -> None:
    """Limit the threads below ``pid``, the first process of a new user namespace.

    From outside and after the namespace exists: set earlier, the limit would be compared with all threads the
    user has on the machine. Root is exempt in every namespace; the reaper counts for it.
    """
    if os.getuid() == 0:
        return
    kernel = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    allowed = count if kernel >= COUNTS_BY_NAMESPACE else count + processes.threads_of_user(os.getuid())
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_NPROC, (allowed, allowed))
