"""A home whose engine asks the one real model server, and what can be read from the files of its tasks."""

import asyncio
import itertools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.llama import LlamaServer, Transport
from cockpit.adapters.server_process import ServerRecord
from cockpit.cli.demo_repository import BUGS, FILES
from cockpit.client.engine_process import engine_environment
from cockpit.domain.state import RoundState
from cockpit.domain.stream import Delta, Open, StreamLine, answer_of
from cockpit.journal.streamlog import read_stream
from tests.engine.house import House

PATIENCE_S = 1500.0
"""A model on two cores that others use as well may read 5 tokens a second."""

NEVER = "tests/test_never.py"
NEVER_TEST = """def test_never():
    assert False, "no change of the code makes this pass"
"""
NEVER_ID = f"{NEVER}::test_never"
PAGING = (FILES / "issues" / "paging.md").read_text("utf-8")
PAGING_TEST = BUGS[0].test


@dataclass
class Judge(House):
    """A house with a real model."""

    url: str = ""
    key: str = ""

    @classmethod
    def of(cls, root: Path, server: ServerRecord, **env: str) -> "Judge":
        """Make a house that asks this server; no settings of the machine's user reach it."""
        key = Path(server.api_key_file).read_text("utf-8").strip()
        fixed = {
            "COCKPIT_SERVER_URL": server.url,
            "COCKPIT_API_KEY": key,
            "XDG_CONFIG_HOME": str(root.parent / "no-settings"),
        }
        return cls(root, {**fixed, **env}, patience_s=PATIENCE_S, poll_s=0.2, url=server.url, key=key)

    def cockpit(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line as a user would."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "cockpit", *words],
            env={**os.environ, **engine_environment(self.home), **self.env},
            cwd=self.root.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def lines(self, task: str, attempt: int = 1, step: int = 1) -> list[StreamLine]:
        """Read what a model call left; nothing before it began."""
        path = self.home.task(task).step(attempt, step).stream
        return read_stream(path)[0] if path.exists() else []

    def until_it_writes(self, task: str, tokens: int) -> None:
        """Wait until the model itself wrote that many tokens behind everything that was put in for it."""
        self.until(lambda: own_tokens(self.lines(task)) >= tokens, f"the model wrote {tokens} tokens")

    def until_idle(self) -> None:
        """Wait until no slot of the server works."""
        self.until(lambda: not asyncio.run(self._busy_slots()), "every slot of the server is idle")

    async def _busy_slots(self) -> list[object]:
        server = LlamaServer(Transport(self.url, self.key))
        try:
            return [slot["id"] for slot in await server.slots() if slot["is_processing"]]
        finally:
            await server.aclose()

    def opened(self, task: str, attempt: int, item: RoundState) -> Open:
        """Return the call of a round as it was sent."""
        assert item.step is not None
        first = self.lines(task, attempt, item.step.step)[0]
        assert isinstance(first, Open)
        return first


def own_tokens(lines: list[StreamLine]) -> int:
    """Count the tokens after the last text that was put in."""
    count = 0
    for line in lines:
        count = count + len(line.ids) if isinstance(line, Delta) else 0 if line.kind == "insert" else count
    return count


@dataclass(frozen=True, slots=True)
class Growth:
    """From one model call to the next of the same attempt."""

    known: tuple[int, ...]
    """The ids of the first call and of its whole answer."""
    sent: tuple[int, ...]
    """The ids of the second call."""
    cached_share: float
    """Of the second call's prompt, as the server counted."""


def growths(judge: Judge, task: str) -> list[Growth]:
    """Return every pair of consecutive calls of a task."""
    found = []
    for attempt in judge.state(task).attempts:
        rounds = [item for item in attempt.rounds if item.answer is not None and item.step is not None]
        for before, after in itertools.pairwise(rounds):
            assert before.step is not None
            assert after.answer is not None
            first = judge.opened(task, attempt.number, before)
            answer = answer_of(judge.lines(task, attempt.number, before.step.step))
            found.append(
                Growth(
                    known=(*first.prompt_ids, *answer.ids),
                    sent=judge.opened(task, attempt.number, after).prompt_ids,
                    cached_share=after.answer.cached_tokens / after.answer.prompt_tokens,
                )
            )
    return found
