"""Starts the engine when none runs, and stops it; the engine itself is another program."""

import os
import site
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import cockpit
from cockpit.domain.errors import CockpitError
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineRecord, is_engine_alive, read_engine

ENGINE = (sys.executable, "-P", "-m", "cockpit", "engine", "run")
POLL_S = 0.05
FRESH_S = 10.0
"""An engine whose heartbeat is older does not turn any more, or not yet."""
LOG_LINES = 12
"""How much of its log is shown when it ends at once."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Whether an engine runs, and whether it moves."""

    is_running: bool
    """It holds the lock."""
    is_fresh: bool
    """Its heartbeat is young."""
    record: EngineRecord | None
    """What it, or the last one, told of itself."""


def engine_status(home: Home) -> EngineStatus:
    """Look at lock and heartbeat."""
    is_running, record = is_engine_alive(home), read_engine(home)
    return EngineStatus(is_running, is_running and record is not None and _is_fresh(record), record)


def ensure_engine(home: Home, *, wait_s: float = 20.0, command: Sequence[str] = ENGINE) -> EngineRecord:
    """Return the running engine's record; start an engine first when there is none.

    Two clients that start at once end with one engine: the lock decides. Raises ``CockpitError`` with the end of
    ``engine.log`` when the engine ends at once, and when it is not ready within ``wait_s``.
    """
    home.create()
    if is_engine_alive(home):
        return _wait_ready(home, wait_s, _never)
    from cockpit.adapters.shell import spawn_detached  # imported late: a running engine needs no starting

    log_size = home.engine_log.stat().st_size if home.engine_log.exists() else 0
    pid = spawn_detached(command, cwd=home.root, env=engine_environment(home), log=home.engine_log)

    def raise_if_ended() -> None:
        if not _exists(pid) and not is_engine_alive(home):
            raise _ended(home, log_size)

    return _wait_ready(home, wait_s, raise_if_ended)


def stop_engine(home: Home, wait_s: float = 20.0) -> bool:
    """End the engine cleanly and wait until it is gone; False when none ran.

    Raises ``CockpitError`` when it does not end within ``wait_s``; the wish is then withdrawn, so that it does not
    meet the next engine.
    """
    if not is_engine_alive(home):
        return False
    from cockpit.domain.commands import StopEngine  # imported late, with all that reads and writes commands
    from cockpit.journal.inbox import clear, drop

    wish = drop(home.inbox, StopEngine(os.urandom(4).hex()))
    try:
        _wait_gone(home, wait_s)
    finally:
        clear(wish)
    return True


def engine_environment(home: Home) -> dict[str, str]:
    """Return the environment of the engine: the client's, with an absolute home and this very package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["COCKPIT_HOME"] = str(home.root.absolute())
    source = str(Path(cockpit.__file__).parents[1])
    if source not in (*site.getsitepackages(), site.getusersitepackages()):
        environment["PYTHONPATH"] = source
    return environment


def _wait_ready(home: Home, wait_s: float, raise_if_ended: Callable[[], None]) -> EngineRecord:
    deadline_s = time.monotonic() + wait_s
    while True:
        raise_if_ended()
        status = engine_status(home)
        if status.is_fresh and status.record is not None:
            return status.record
        if time.monotonic() > deadline_s:
            raise _not_ready(home, status, wait_s)
        time.sleep(POLL_S)


def _wait_gone(home: Home, wait_s: float) -> None:
    deadline_s = time.monotonic() + wait_s
    while is_engine_alive(home):
        if time.monotonic() > deadline_s:
            record = read_engine(home)
            raise CockpitError(
                f"the engine did not end within {wait_s:g} s",
                hint=f"it is process {record.pid if record else 'unknown'}; nothing is lost if you kill it",
            )
        time.sleep(POLL_S)


def _never() -> None:
    """Stand in where no engine of ours can end."""


def _is_fresh(record: EngineRecord) -> bool:
    """Tell whether a record is young, and not the last word of an engine that just died."""
    return abs(time.time() - record.heartbeat_s) < FRESH_S and _exists(record.pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _ended(home: Home, log_size: int) -> CockpitError:
    with home.engine_log.open("rb") as log:
        log.seek(log_size)
        lines = log.read().decode("utf-8", "replace").splitlines()[-LOG_LINES:]
    said = "".join(f"\n  {line}" for line in lines) or "\n  (it said nothing)"
    return CockpitError(
        f"the engine ended as soon as it was started; the end of {home.engine_log}:{said}",
        hint="correct what it names and try again; `cockpit engine run` runs it in this terminal",
    )


def _not_ready(home: Home, status: EngineStatus, wait_s: float) -> CockpitError:
    if status.is_running and status.record is not None:
        return CockpitError(
            f"the engine (process {status.record.pid}) holds {home.engine_lock} but gave no sign for {wait_s:g} s",
            hint=f"see {home.engine_log}; nothing is lost if you kill it and start another",
        )
    return CockpitError(f"the engine was not ready within {wait_s:g} s", hint=f"see {home.engine_log}")
