"""Plays a scripted model server in a process of its own, and reads what it saw."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.adapters.watched import watched
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, CompletionServer, Finished, Piece, Turn
from cockpit.domain.watchdog import Alarm, Watchdog, WatchLimits

CASES = Path(__file__).parents[1] / "cases" / "llama_server"
TWINS = Path(__file__).parent / "llama_twins"
PLAYER = CASES / "C02-client-errors-are-final" / "replay.py"
USUAL = WatchLimits()
ASKED = CompletionRequest(turns=(Turn("user", "Fix it."),), prompt_ids=tuple(range(12)), max_tokens=8192)


@dataclass(frozen=True)
class Played:
    """A server that plays a script."""

    url: str
    log: Path

    def posts(self, path: str) -> list[dict[str, Any]]:
        """The completion requests that are over, as the server logged them."""
        lines = self.log.read_text("utf-8").splitlines()
        return [seen for line in lines if (seen := json.loads(line))["path"] == path and seen["method"] == "POST"]

    def wait_for_post(self, path: str) -> dict[str, Any]:
        """The first completion request, once the server is through with it."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if posts := self.posts(path):
                return posts[0]
            time.sleep(0.05)
        raise AssertionError("the server is still sending")


@contextmanager
def play(script: Path, folder: Path) -> Iterator[Played]:
    """Start the server of one script."""
    log = folder / f"{script.stem}.requests.jsonl"
    log.touch()
    process = subprocess.Popen(
        [sys.executable, str(PLAYER), str(script), "--log", str(log)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        port = process.stdout.readline().split()[1]
        yield Played(f"http://127.0.0.1:{port}", log)
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Heard:
    """What came of one call, in the words of the cases."""

    outcome: str
    text: str = ""
    reasoning: str = ""
    ids: tuple[int, ...] = ()
    finished: Finished | None = None
    error: ServerError | None = None


LABEL_OUTCOMES = {
    "ctx_overflow": "context_overflow",
    "auth_error": "auth_error",
    "decode_timeout": "stalled",
    "prefill_timeout": "stalled",
    "gen_repetition": "repetition",
    "server_unavailable": "error",
}


async def ask(server: CompletionServer, limits: WatchLimits = USUAL, request: CompletionRequest = ASKED) -> Heard:
    """Make one call under a watchdog."""
    pieces: list[Piece] = []
    finished: Finished | None = None
    watchdog = Watchdog(limits, time.monotonic())
    outcome, error = "incomplete", None
    try:
        async for event in watched(server.stream(request), watchdog):
            match event:
                case Piece():
                    pieces.append(event)
                case Finished():
                    finished, outcome = event, "complete"
                case Alarm():
                    outcome = LABEL_OUTCOMES[event.label]
                case _:
                    pass
    except ServerError as raised:
        outcome, error = LABEL_OUTCOMES[raised.label], raised
    return Heard(
        outcome,
        "".join(piece.text for piece in pieces if not piece.is_reasoning),
        "".join(piece.text for piece in pieces if piece.is_reasoning),
        tuple(token for piece in pieces for token in piece.ids),
        finished,
        error,
    )
