"""Sends the operator's commands and says what the journal says became of them."""

import argparse
from collections.abc import Callable

from cockpit.cli.common import client_of
from cockpit.cli.output import print_json, safe, say
from cockpit.client.client import Client
from cockpit.client.engine_process import ensure_engine
from cockpit.domain.commands import (
    Approve,
    Command,
    Discard,
    Kill,
    Pause,
    PauseAll,
    Resume,
    ResumeAll,
    RootCommand,
    Steer,
    TaskCommand,
    Undo,
)
from cockpit.domain.entries import CommandDone, CommandRefused
from cockpit.domain.errors import CockpitError, UsageError

PATIENCE_S = 60.0
"""Seconds to wait for the journal; a prefill batch on a slow CPU ends within this."""

DONE = {
    "pause": "paused",
    "resume": "goes on",
    "kill": "killed",
    "approve": "approved",
    "discard": "discarded",
    "undo": "back in review",
    "steer": "will be told so at the start of its next round",
}


def pause(args: argparse.Namespace) -> int:
    """``cockpit pause TASK | --all``."""
    return _one_or_all(args, Pause, PauseAll)


def resume(args: argparse.Namespace) -> int:
    """``cockpit resume TASK | --all``."""
    return _one_or_all(args, Resume, ResumeAll)


def kill(args: argparse.Namespace) -> int:
    """``cockpit kill TASK``."""
    return _send(args, Kill)


def approve(args: argparse.Namespace) -> int:
    """``cockpit approve TASK``."""
    return _send(args, Approve)


def discard(args: argparse.Namespace) -> int:
    """``cockpit discard TASK``."""
    return _send(args, Discard)


def undo(args: argparse.Namespace) -> int:
    """``cockpit undo TASK``."""
    return _send(args, Undo)


def steer(args: argparse.Namespace) -> int:
    """``cockpit steer TASK TEXT``: waits until the line was taken; it is used when the next round begins."""
    if not args.text.strip():
        raise UsageError("there is nothing to tell the model", hint="cockpit steer TASK 'look at the last page only'")
    client = client_of(args)
    task = client.find(args.task)
    ensure_engine(client.home)
    command = Steer(client.new_id(), task, args.text)
    client.send(command)
    client.wait_state(task, lambda state: command.id in state.commands, timeout_s=PATIENCE_S)
    records, _ = client.records(task)
    refused = (record.entry for record in records if isinstance(record.entry, CommandRefused))
    answer = next((entry for entry in refused if entry.command == command.id), None)
    return _report(args, task, answer or CommandDone(command.id, "steer"))


def _one_or_all(
    args: argparse.Namespace, one: Callable[[str, str], TaskCommand], every: Callable[[str], RootCommand]
) -> int:
    if args.every == bool(args.task):
        raise UsageError(f"{args.verb} takes a task or --all", hint="cockpit tasks lists the tasks")
    if args.task:
        return _send(args, one)
    client = client_of(args)
    ensure_engine(client.home)
    command = every(client.new_id())
    return _report(args, None, _answer(client, command, None))


def _send(args: argparse.Namespace, make: Callable[[str, str], TaskCommand]) -> int:
    client = client_of(args)
    task = client.find(args.task)  # first: an unknown task starts no engine
    ensure_engine(client.home)
    return _report(args, task, _answer(client, make(client.new_id(), task), task))


def _answer(client: Client, command: Command, task: str | None) -> CommandDone | CommandRefused:
    client.send(command)
    return client.wait_for(command.id, task, PATIENCE_S)


def _report(args: argparse.Namespace, task: str | None, answer: CommandDone | CommandRefused) -> int:
    if isinstance(answer, CommandRefused):
        raise CockpitError(f"{args.verb} refused: {answer.reason}", hint=answer.hint)
    if args.json:
        print_json({"task": task, "verb": args.verb, "detail": answer.detail})
    else:
        done = DONE[args.verb]
        say(safe(f"{task or 'all tasks'}: {answer.detail or done}"))
    return 0
