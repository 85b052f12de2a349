"""Shows one task: where it stands, its receipt, its patch, its journal, what the model wrote."""

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from cockpit.cli.common import client_of
from cockpit.cli.output import grey, is_ascii_only, note, print_json, safe, safe_lines, say, say_all, width
from cockpit.cli.tasks import NO_ENGINE
from cockpit.client.client import Client
from cockpit.client.follow import CutMarker, EndMarker, Piece, StepMarker
from cockpit.client.follow import follow as follow_task
from cockpit.domain.entries import Record
from cockpit.domain.errors import CockpitError
from cockpit.domain.receipt import Receipt, receipt_json, receipt_of
from cockpit.domain.receipt_text import receipt_lines
from cockpit.domain.state import RoundState, TaskState
from cockpit.domain.states import ACTIVE, State
from cockpit.domain.stream import answer_of
from cockpit.domain.summary import phase_of
from cockpit.journal.codec import encode_record
from cockpit.journal.lock import is_engine_alive
from cockpit.journal.streamlog import read_stream

HINTS = {
    State.REVIEW: "look at it: cockpit show {task} --diff; then: cockpit approve {task}, or cockpit discard {task}",
    State.WAITING: "it goes on by itself; to look again at once: cockpit resume {task}",
    State.APPROVED: "to take it back: cockpit undo {task}",
    State.DISCARDED: "to take it back: cockpit undo {task}",
}
"""What a person can do in a state."""
BY_KEY = "it does not go on by itself; when that is mended: cockpit resume {task}"


def show(args: argparse.Namespace) -> int:
    """``cockpit show TASK``."""
    client = client_of(args)
    task = client.find(args.task)
    match args.what:
        case "diff":
            _show_diff(client, task, as_json=args.json)
        case "journal":
            _show_journal(client, task, as_json=args.json)
        case "stream":
            _show_stream(client, task, as_json=args.json)
        case what:
            _show_receipt(client, task, as_json=args.json, with_status=what is None)
    return 0


def follow(args: argparse.Namespace) -> int:
    """``cockpit follow TASK``: the text as it comes, until the task is at rest."""
    client = client_of(args)
    task = client.find(args.task)
    for piece in follow_task(client, task):
        if args.json:
            print_json(_piece_json(piece))
        else:
            sys.stdout.write(_piece_text(piece))
            sys.stdout.flush()
    return 0


def load_receipt(client: Client, task: str) -> Receipt:
    """Return a task's receipt, its times measured by the journal's clock."""
    return receipt_of(client.state(task), client.records(task)[0])


def print_receipt(receipt: Receipt) -> None:
    """Print a receipt for a person; one that rests on nothing that was run is grey."""
    lines = receipt_lines(receipt, width(), ascii_only=is_ascii_only())
    say_all(grey(line) for line in lines) if receipt.is_grey else say_all(lines)


def status_lines(state: TaskState, now_s: float) -> list[str]:
    """Return where a task stands in one or two lines."""
    phase = phase_of(state)
    words = [state.state.value.replace("_", " ")]
    if phase != words[0]:
        words.append(phase)
    if state.paused:
        words.append("paused")
    since = f"for {max(0.0, now_s - state.changed_at_s):.0f} s"
    line = f"{state.task}  {', '.join(words)} {since}"
    hint = (BY_KEY if state.by_key else HINTS.get(state.state, "")).format(task=state.task)
    return [line, *([f"  {hint}"] if hint else []), ""]


def _show_receipt(client: Client, task: str, *, as_json: bool, with_status: bool) -> None:
    receipt = load_receipt(client, task)
    if as_json:
        print_json(receipt_json(receipt))
        return
    if with_status:
        state = client.state(task)
        say_all(status_lines(state, time.time()))
        if state.state in ACTIVE and not is_engine_alive(client.home):
            note(NO_ENGINE)
    print_receipt(receipt)


def _show_diff(client: Client, task: str, *, as_json: bool) -> None:
    attempt, item = _last_patch(client.state(task))
    path = client.folder(task).round(attempt, item.number).patch
    try:
        patch = path.read_bytes()
    except OSError as error:
        raise CockpitError(
            f"cannot read {path}: {error.strerror}", hint=f"cockpit show {task} tells what the journal says of it"
        ) from error
    if as_json:
        print_json({"task": task, "file": str(path), "diff": patch.decode("utf-8", "backslashreplace")})
    elif sys.stdout.isatty():
        sys.stdout.write(safe_lines(patch.decode("utf-8", "replace")))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch)  # exact, so that it can be piped into git apply
        sys.stdout.buffer.flush()


def _last_patch(state: TaskState) -> tuple[int, RoundState]:
    """Return the last round with a patch: the accepted one, for a task in review."""
    for attempt in reversed(state.attempts):
        for item in reversed(attempt.rounds):
            if item.harvest is not None and item.harvest.files:
                return attempt.number, item
    raise CockpitError(f"task {state.task} has no patch yet", hint=f"cockpit show {state.task} says where it stands")


def _show_journal(client: Client, task: str, *, as_json: bool) -> None:
    for record in client.records(task)[0]:
        if as_json:
            sys.stdout.write(encode_record(record).decode("ascii") + "\n")
        else:
            say(_record_line(record))


def _record_line(record: Record) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(record.at_s))
    fields = {name: getattr(record.entry, name) for name in record.entry.__slots__ if name != "kind"}
    words = " ".join(f"{name}={_brief(value)}" for name, value in fields.items() if value not in ("", (), None))
    return safe(f"{record.seq:4} {at} {record.entry.kind} {words}".rstrip())


def _brief(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    text = repr(dict(value)) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _show_stream(client: Client, task: str, *, as_json: bool) -> None:
    state = client.state(task)
    now, attempt = state.round, state.attempt
    if attempt is None or now is None or now.step is None:
        raise CockpitError(f"no model was asked for task {task} yet", hint=f"cockpit show {task} says where it stands")
    path = client.folder(task).step(attempt.number, now.step.step).stream
    answer = answer_of(read_stream(path)[0])
    if as_json:
        said = {"text": answer.text, "reasoning": answer.reasoning, "tokens": len(answer.ids), "finish": answer.finish}
        print_json({"task": task, "attempt": attempt.number, "round": now.number, "step": now.step.step, **said})
    else:
        say(safe_lines(answer.raw))


def _piece_text(piece: Piece) -> str:
    match piece:
        case str():
            return safe_lines(piece)
        case StepMarker():
            return f"\n--- attempt {piece.attempt}, round {piece.round}, step {piece.step} ({safe(piece.role)})\n"
        case CutMarker():
            return f"\n--- cut ({safe(piece.why)}) at token {piece.at}\n"
        case EndMarker():
            named = f"{piece.state.value}, {piece.label}" if piece.label else piece.state.value
            return f"\n--- {safe(f'{named}: {piece.reason}' if piece.reason else named)}\n"


def _piece_json(piece: Piece) -> dict[str, Any]:
    match piece:
        case str():
            return {"text": piece}
        case StepMarker():
            return {"attempt": piece.attempt, "round": piece.round, "step": piece.step, "role": piece.role}
        case CutMarker():
            return {"cut": piece.why, "at": piece.at}
        case EndMarker():
            return {"state": piece.state.value, "reason": piece.reason, "label": piece.label}
