"""Runs the engine process: takes the lock, recovers, works, and ends without losing anything."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import replace

from cockpit import __version__
from cockpit.domain.errors import CockpitError, HoldError
from cockpit.engine.supervisor import Supervisor
from cockpit.journal.layout import Home
from cockpit.journal.lock import EngineLock, EngineRecord, write_engine
from cockpit.settings import Settings

BEAT_S = 1.0


def run_engine(home: Home, settings: Settings) -> int:
    """Work until stopped; returns the exit code. A second engine on the same home ends at once with 1."""
    home.create()
    lock = EngineLock(home)
    if not lock.acquire():
        raise CockpitError(
            f"an engine is already running on {home.root}",
            hint="cockpit engine status shows it, cockpit engine stop ends it",
        )
    try:
        return asyncio.run(_serve(home, settings))
    finally:
        lock.release()


async def _serve(home: Home, settings: Settings) -> int:
    now_s, url = time.time(), settings.server.url
    record = EngineRecord(os.getpid(), __version__, started_s=now_s, heartbeat_s=now_s, server_url=url)
    beating = asyncio.create_task(_beat(home, record))
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    supervisor = Supervisor(home, settings, record)
    try:
        await supervisor.start(stopped)
        sys.stderr.write(f"engine {record.pid} is ready on {home.root}\n")
        await supervisor.serve()
    finally:
        await supervisor.stop()
        beating.cancel()
    return 0


async def _beat(home: Home, record: EngineRecord) -> None:
    """Show, from the lock on, that this engine's loop turns."""
    while True:
        with contextlib.suppress(HoldError):  # a full disk: the heartbeat grows old, and that is the truth
            write_engine(home, replace(record, heartbeat_s=time.time()))
        await asyncio.sleep(BEAT_S)
