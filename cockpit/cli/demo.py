"""Shows the whole on a small repository made for it: three bugs, one local model, three receipts."""

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.cli.asking import add_task, is_at_rest
from cockpit.cli.common import client_of, settings_of
from cockpit.cli.demo_repository import BUGS, ask_of, make_repository
from cockpit.cli.output import note, print_json, say, say_all
from cockpit.cli.progress import Progress
from cockpit.cli.serving import Serving, ensure_server, stop_server, use_server_url
from cockpit.cli.show import load_receipt, print_receipt
from cockpit.client.client import Client
from cockpit.client.engine_process import engine_status, ensure_engine, stop_engine
from cockpit.client.tail import TaskTail
from cockpit.client.vigil import Vigil
from cockpit.domain.errors import CockpitError
from cockpit.domain.receipt import Receipt, receipt_json
from cockpit.domain.receipt_text import standing
from cockpit.domain.states import State
from cockpit.domain.text import pad_cells
from cockpit.domain.timing import Timing

POLL_S = 0.1
ENOUGH = 2
"""Of three bugs: a small model is not expected to fix every one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo came to."""

    serving: Serving
    receipts: tuple[Receipt, ...]
    elapsed_s: float
    """From the ready model to the last receipt."""

    @property
    def proven(self) -> int:
        """Number of tasks whose patch awaits review and is proven."""
        return sum(1 for receipt in self.receipts if receipt.state == State.REVIEW and receipt.grade == "proven")


def demo(args: argparse.Namespace) -> int:
    """``cockpit demo --headless``: 0 only when at least two of three patches await review, proven."""
    if not args.headless:
        note("the screens come with the next version; this is the demo without them")
    client = client_of(args)
    use_server_url(args, client.home)
    had_engine = engine_status(client.home).is_running
    serving = ensure_server(settings_of(args), client.home, note)
    try:
        outcome = play(client, serving)
    finally:
        if not args.keep_going:
            _tidy(client, serving, stops_engine=not had_engine)
    if args.json:
        print_json(_plain(outcome))
    else:
        _print(outcome)
    return 0 if outcome.proven >= ENOUGH else 1


def play(client: Client, serving: Serving, models: Mapping[str, str] | None = None) -> Outcome:
    """Make the repository, add the three tasks and wait; ``models`` names another model than the server's by bug."""
    chosen = models or {}
    started_s = time.monotonic()
    ensure_engine(client.home)
    repository = make_repository(client.home.root / "demo")
    note(f"the demo repository is {repository}")
    tasks = [add_task(client, ask_of(bug, repository, model=chosen.get(bug.name, ""))) for bug in BUGS]
    try:
        _wait(client, tasks)
    except KeyboardInterrupt:
        note("\ndetached; what was begun goes on at the next start of the engine: cockpit tasks")
        raise
    receipts = tuple(load_receipt(client, task) for task in tasks)
    return Outcome(serving, receipts, time.monotonic() - started_s)


def _wait(client: Client, tasks: list[str]) -> None:
    """Wait until every task is at rest, a line for each change."""
    started_s = time.monotonic()

    def say_at(line: str) -> None:
        note(f"{time.monotonic() - started_s:6.1f} s  {line}")

    tails = [TaskTail(client.folder(task)) for task in tasks]
    names = [f"{task} {pad_cells(bug.name, 7)} " for task, bug in zip(tasks, BUGS, strict=True)]
    shown = [Progress(say_at, prefix=name, is_terse=True) for name in names]
    vigil = Vigil(client.home)
    for tail, progress in zip(tails, shown, strict=True):
        progress.show(tail.state)
    while not all(is_at_rest(tail.state) for tail in tails):
        vigil.check()
        time.sleep(POLL_S)
        for tail, progress in zip(tails, shown, strict=True):
            if tail.advance():
                progress.show(tail.state)


def _tidy(client: Client, serving: Serving, *, stops_engine: bool) -> None:
    """Stop what the demo started; a failure to do so is told, and hides nothing that came before."""
    try:
        if stops_engine:
            stop_engine(client.home)
        if serving.was_started:
            stop_server(client.home)
    except CockpitError as error:
        note(f"{error.message}\n  {error.hint}")


def _print(outcome: Outcome) -> None:
    for receipt in outcome.receipts:
        print_receipt(receipt)
        say()
    say_all(_table(outcome))
    say()
    say(f"{outcome.proven} of {len(outcome.receipts)} patches await review, proven"
        f" ({outcome.elapsed_s:.0f} s from the ready model)")  # fmt: skip
    ready = next((receipt for receipt in outcome.receipts if receipt.state == State.REVIEW), None)
    if ready is not None:
        say(f"next: cockpit show {ready.task} --diff   then: cockpit approve {ready.task}")


COLUMNS = ("setup", "baseline", "model", "tests", "everything else", "waited")


def _table(outcome: Outcome) -> list[str]:
    total = sum((receipt.timing for receipt in outcome.receipts), Timing())
    rows: list[tuple[str, ...]] = [("task", "result", *COLUMNS)]
    rows += [(receipt.task, standing(receipt), *_seconds(receipt.timing)) for receipt in outcome.receipts]
    rows.append(("all", "", *_seconds(total)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(_cell(text, widths[at], at) for at, text in enumerate(row)).rstrip() for row in rows]
    serving = outcome.serving
    cached = " (it was there already)" if serving.was_cached else ""
    return [
        *lines,
        "",
        "download         with pip, not measured here",
        f"assembling       {serving.assembling_s:.1f} s{cached}",
        f"server start     {serving.starting_s:.1f} s",
        f"everything else  {total.other_share:.1%} of model plus tests",
    ]


def _cell(text: str, cells: int, column: int) -> str:
    return text.ljust(cells) if column < 2 else text.rjust(cells)


def _seconds(timing: Timing) -> tuple[str, ...]:
    spent = (timing.setup_s, timing.baseline_s, timing.model_s, timing.tests_s, timing.other_s, timing.waited_s)
    return tuple(f"{seconds:.1f} s" for seconds in spent)


def _plain(outcome: Outcome) -> dict[str, object]:
    total = sum((receipt.timing for receipt in outcome.receipts), Timing())
    return {
        "proven": outcome.proven,
        "enough": outcome.proven >= ENOUGH,
        "assembling_s": outcome.serving.assembling_s,
        "server_start_s": outcome.serving.starting_s,
        "elapsed_s": outcome.elapsed_s,
        "other_share": round(total.other_share, 4),
        "tasks": [receipt_json(receipt) for receipt in outcome.receipts],
    }
