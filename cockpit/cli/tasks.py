"""Lists the tasks; reads one file and imports nothing that reads journals, so that ten thousand tasks open at once."""

import argparse
import time

from cockpit.cli.common import client_of
from cockpit.cli.output import is_ascii_only, note, print_json, say, say_all, width
from cockpit.cli.table import in_order, task_table
from cockpit.domain.states import ACTIVE
from cockpit.journal.lock import is_engine_alive

NO_ENGINE = "no engine runs, so no task moves; they go on with: cockpit engine start"


def list_tasks(args: argparse.Namespace) -> int:
    """``cockpit tasks``: one row a task, those that wait for the operator first."""
    client = client_of(args)
    rows = in_order(row for row in client.tasks() if args.state in {None, row.state.value})
    if args.json:
        print_json([{name: getattr(row, name) for name in row.__slots__} for row in rows])
    elif rows:
        say_all(task_table(rows, time.time(), width(), ascii_only=is_ascii_only()))
        if any(row.state in ACTIVE for row in rows) and not is_engine_alive(client.home):
            note(NO_ENGINE)
    else:
        say("no tasks" + (f" in state {args.state}" if args.state else "; add one with: cockpit add REPO --text TEXT"))
    return 0
