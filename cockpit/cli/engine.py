"""Starts, stops and looks at the background process that does the work."""

import argparse
import time
from typing import Any

from cockpit.cli.common import home_of, settings_of
from cockpit.cli.output import print_json, say
from cockpit.cli.serving import use_server_url
from cockpit.client.engine_process import EngineStatus, engine_status, ensure_engine, stop_engine


def start(args: argparse.Namespace) -> int:
    """``cockpit engine start``."""
    home = home_of(args)
    use_server_url(args, home)
    record = ensure_engine(home)
    if args.json:
        print_json(_plain(engine_status(home)))
    else:
        say(f"the engine runs as process {record.pid}; its log is {home.engine_log}")
    return 0


def stop(args: argparse.Namespace) -> int:
    """``cockpit engine stop``: not running is fine, too."""
    was_running = stop_engine(home_of(args))
    if args.json:
        print_json({"running": False, "was_running": was_running})
    else:
        say("the engine has stopped; running tasks go on at the next start" if was_running else "no engine runs")
    return 0


def status(args: argparse.Namespace) -> int:
    """``cockpit engine status``: 0 when it runs, 1 when not."""
    home = home_of(args)
    found = engine_status(home)
    if args.json:
        print_json(_plain(found))
    else:
        say(_sentence(found))
    return 0 if found.is_running else 1


def run(args: argparse.Namespace) -> int:
    """``cockpit engine run``: the engine itself, until it is told to stop."""
    from cockpit.engine.main import run_engine  # the only verb that is the engine

    return run_engine(home_of(args), settings_of(args))


def _plain(found: EngineStatus) -> dict[str, Any]:
    record = found.record
    told = {"pid": record.pid, "version": record.version, "heartbeat_s": record.heartbeat_s} if record else {}
    return {"running": found.is_running, "fresh": found.is_fresh, **told}


def _sentence(found: EngineStatus) -> str:
    if not found.is_running or found.record is None:
        return "no engine runs; it starts by itself with the next task, or with: cockpit engine start"
    silent_s = max(0.0, time.time() - found.record.heartbeat_s)
    moves = "" if found.is_fresh else f", but gave no sign for {silent_s:.0f} s"
    return f"the engine runs as process {found.record.pid}, version {found.record.version}{moves}"
