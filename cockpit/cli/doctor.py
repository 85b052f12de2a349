"""Checks what a task needs here, and says what to do about the rest."""

import argparse
import asyncio
from dataclasses import asdict

from cockpit.cli.checks import Row, is_ready, machine_rows, row_lines
from cockpit.cli.common import home_of, settings_of
from cockpit.cli.model_checks import model_rows
from cockpit.cli.output import is_ascii_only, print_json, say, say_all, width
from cockpit.cli.serving import find_server
from cockpit.journal.layout import Home
from cockpit.settings import Settings


def doctor(args: argparse.Namespace) -> int:
    """``cockpit doctor``: 0 when a task could run."""
    rows = asyncio.run(_rows(home_of(args), settings_of(args), is_shown=not args.json))
    ready = is_ready(rows)
    if args.json:
        print_json({"ready": ready, "rows": [asdict(row) for row in rows]})
    else:
        say("a task can run here" if ready else "no task can run here yet: see the lines marked bad")
    return 0 if ready else 1


async def _rows(home: Home, settings: Settings, *, is_shown: bool) -> list[Row]:
    rows: list[Row] = []

    def take(row: Row) -> None:
        rows.append(row)
        if is_shown:
            say_all(row_lines(row, width(), ascii_only=is_ascii_only()))

    for row in await machine_rows(home):
        take(row)
    for row in model_rows(settings, home):
        take(row)
    address = find_server(settings, home)
    if address is not None:
        from cockpit.cli.server_checks import server_rows  # httpx costs half a second

        async for row in server_rows(settings, address):
            take(row)
    return rows
