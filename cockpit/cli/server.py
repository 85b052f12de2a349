"""Starts, stops and looks at the embedded model server."""

import argparse
from dataclasses import asdict

from cockpit.adapters import server_process
from cockpit.adapters.embedded import read_options, serve
from cockpit.cli.common import home_of, settings_of
from cockpit.cli.output import note, print_json, say
from cockpit.cli.serving import extras_wanted, start_server
from cockpit.journal.layout import Home


def start(args: argparse.Namespace) -> int:
    """``cockpit server start``: returns when it has generated a token."""
    home, settings = home_of(args), settings_of(args)
    if error := extras_wanted():
        raise error
    home.create()
    serving = start_server(settings, home, note)
    if args.json:
        print_json({**_plain(home), "assembling_s": serving.assembling_s, "starting_s": serving.starting_s})
    else:
        say(_sentence(home))
    return 0


def stop(args: argparse.Namespace) -> int:
    """``cockpit server stop``: not running is fine, too."""
    was_running = server_process.stop(home_of(args).root)
    if args.json:
        print_json({"running": False, "was_running": was_running})
    else:
        say("the model server has stopped" if was_running else "no embedded model server runs")
    return 0


def status(args: argparse.Namespace) -> int:
    """``cockpit server status``: 0 when it runs, 1 when not."""
    home = home_of(args)
    is_running = server_process.status(home.root) is not None
    if args.json:
        print_json(_plain(home))
    else:
        say(_sentence(home))
    return 0 if is_running else 1


def run(args: argparse.Namespace) -> int:
    """``cockpit server run``: the server itself, with the options that ``server start`` left."""
    serve(read_options(home_of(args).root))
    return 0


def _plain(home: Home) -> dict[str, object]:
    record = server_process.status(home.root)
    return {"running": record is not None, **(asdict(record) if record else {})}


def _sentence(home: Home) -> str:
    record = server_process.status(home.root)
    if record is None:
        return "no embedded model server runs; it starts by itself with a task when server.url is not set"
    return f"the model server runs as process {record.pid} at {record.url} with {record.model}; its log is {record.log}"
