"""Adds tasks: checks everything first, so that a wrong call leaves nothing half-made; and waits for one."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.cli.common import client_of, settings_of
from cockpit.cli.output import note, print_json, safe, say
from cockpit.cli.progress import Progress
from cockpit.cli.serving import ensure_server, require_ready, use_server_url
from cockpit.cli.show import load_receipt, print_receipt
from cockpit.client.client import Client
from cockpit.client.engine_process import ensure_engine
from cockpit.domain.ask import Ask, Budget, title_of
from cockpit.domain.commands import AddTask
from cockpit.domain.entries import CommandRefused
from cockpit.domain.errors import CockpitError, NotFoundError, UsageError
from cockpit.domain.receipt import receipt_json
from cockpit.domain.state import TaskState
from cockpit.domain.states import AT_REST, State
from cockpit.journal.trust import trusts
from cockpit.sources.issue import MAX_BYTES, issue_from_bytes, issue_from_file, issue_from_text
from cockpit.sources.resolve import resolve
from cockpit.workspace.repository import inspect_source

if TYPE_CHECKING:
    from cockpit.settings import Settings

REPLAY = "replay:"
PATIENCE_S = 30.0


def add(args: argparse.Namespace) -> int:
    """``cockpit add``: prints the task's id."""
    client = client_of(args)
    ask = ask_of(args, client)
    task = _add(args, client, ask)
    if args.json:
        print_json({"task": task, "title": title_of(ask), "repo": ask.repo})
    else:
        say(task)
    return 0


def run(args: argparse.Namespace) -> int:
    """``cockpit run``: add, wait, receipt; 0 only when a patch awaits review."""
    client = client_of(args)
    ask = ask_of(args, client)
    task = _add(args, client, ask, is_awaited=True)
    progress = Progress(note)
    try:
        note(f"task {task}: {safe(title_of(ask))}")
        state = client.wait_state(task, is_over, None if args.quiet else progress.show)
    except KeyboardInterrupt:
        note(f"\ndetached; the task goes on. To come back: cockpit follow {task}; to end it: cockpit kill {task}")
        raise
    receipt = load_receipt(client, task)
    if args.json:
        print_json(receipt_json(receipt))
    else:
        print_receipt(receipt)
    if state.state is State.WAITING:
        note(f"cockpit: {safe(state.reason)}\n  the task waits for that; afterwards: cockpit resume {task}")
    return 0 if state.state is State.REVIEW else 1


def is_at_rest(state: TaskState) -> bool:
    """Tell whether the engine is done with a task until a person decides."""
    return state.state in AT_REST


def is_over(state: TaskState) -> bool:
    """Tell whether waiting for a task makes sense no more: it rests, or somebody has to act before it goes on."""
    return is_at_rest(state) or (state.state is State.WAITING and state.by_key)


def ask_of(args: argparse.Namespace, client: Client) -> Ask:
    """Check a call and return what it asks for; raises ``UsageError`` or ``GitError``, and changes nothing."""
    issue = _issue(args)
    repo = _repository(args, client)
    return Ask(
        repo=repo,
        issue=issue,
        title=args.title.strip(),
        base=args.base,
        test=args.test.strip(),
        setup=args.setup.strip(),
        model=_model(args.model),
        expect=tuple(args.expect),
        trust=args.trust,
        budget=Budget(
            rounds=args.budget_rounds,
            attempts=args.budget_attempts,
            minutes=args.budget_minutes,
            tokens=args.budget_tokens,
        ),
    )


def add_task(client: Client, ask: Ask) -> str:
    """Have the engine make a task and return its id; starts an engine when none runs."""
    ensure_engine(client.home)
    command = AddTask(client.new_id(), client.new_id(), ask)
    client.send(command)
    answer = client.wait_for(command.id, None, PATIENCE_S)
    if isinstance(answer, CommandRefused):
        raise CockpitError(f"the task was not added: {answer.reason}", hint=answer.hint)
    return command.task


def _add(args: argparse.Namespace, client: Client, ask: Ask, *, is_awaited: bool = False) -> str:
    """Add; a person who waits hears of a server that is away before anything is made."""
    settings: Settings = settings_of(args)
    use_server_url(args, client.home)
    if not ask.model.startswith(REPLAY):
        ensure_server(settings, client.home, note)
        if is_awaited:
            require_ready(settings, client.home, ask.model)
    return add_task(client, ask)


def _issue(args: argparse.Namespace) -> str:
    if args.text is not None:
        return issue_from_text(args.text)
    if args.issue_file is not None and args.issue_file != "-":
        return issue_from_file(Path(args.issue_file).expanduser())
    return issue_from_bytes(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")


def _repository(args: argparse.Namespace, client: Client) -> str:
    source = resolve(args.repo, client.home.mirrors)
    if source.url is None:
        inspect_source(source.path, args.base or None)
        return str(source.path)
    if not args.trust and not trusts(client.home, args.repo):
        raise UsageError(
            f"{args.repo} is a repository from elsewhere: its setup and its tests are programs that would run here as"
            " you, the setup with network",
            hint="look at it first; if you consent to that, repeat with --trust (the consent is remembered)",
        )
    return str(args.repo)


def _model(model: str) -> str:
    """Return the model; the folder of a replay is checked and made absolute, for the engine lives elsewhere."""
    if not model.startswith(REPLAY):
        return model
    folder = Path(model.removeprefix(REPLAY)).expanduser().absolute()
    if not (folder / "attempts").is_dir():
        raise NotFoundError(f"{folder} is no recorded task: it has no folder attempts", hint="give a task's folder")
    return f"{REPLAY}{folder}"
