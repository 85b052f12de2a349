"""A scripted model server with a small tokenizer of its own, and a task in its hands; no process, no network."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from cockpit.adapters.shell import Level
from cockpit.domain.ask import Ask
from cockpit.domain.serving import CompletionRequest, ServerFacts, StreamEvent, Turn
from cockpit.domain.state import TaskState
from cockpit.engine.context import TaskContext
from cockpit.engine.servers import Servers
from cockpit.journal.layout import Home
from cockpit.journal.log import JournalWriter
from cockpit.settings import Settings

MARKS = ("<|start|>", "<|end|>")
"""Control tokens of the little model, with ids 1 and 2."""
START, END = 1, 2
SILENCE = None
"""In a script: say nothing more, and keep the line open."""


def ids_of(text: str) -> tuple[int, ...]:
    """A token for every character, none of them a control token."""
    return tuple(100 + ord(char) for char in text)


class ScriptedServer:
    """Says what a script says, call by call, and notes what it was asked."""

    def __init__(self, *calls: Sequence[StreamEvent | Exception | None]) -> None:
        self.calls = list(calls)
        self.requests: list[CompletionRequest] = []
        self.open_streams = 0

    async def facts(self) -> ServerFacts:
        return ServerFacts("scripted", "llama", "little", slots=2, context_tokens=4096)

    async def render(self, turns: tuple[Turn, ...]) -> str:
        said = "".join(f"{MARKS[0]}{turn.speaker}\n{turn.text}{MARKS[1]}\n" for turn in turns)
        return f"{said}{MARKS[0]}assistant\n"

    async def tokenize(self, text: str, *, special: bool) -> tuple[int, ...]:
        if not special:
            return ids_of(text)
        pattern = "|".join(re.escape(mark) for mark in MARKS)
        ids: list[int] = []
        for part in re.split(f"({pattern})", text):
            ids += [MARKS.index(part) + 1] if part in MARKS else ids_of(part)
        return tuple(ids)

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        self.open_streams += 1
        try:
            for event in self.calls.pop(0):
                await asyncio.sleep(0)
                if event is SILENCE:
                    await asyncio.Event().wait()
                elif isinstance(event, Exception):
                    raise event
                else:
                    yield event
        finally:
            self.open_streams -= 1

    async def aclose(self) -> None:
        """Nothing is open."""


def make_context(folder: Path, settings: Settings | None = None) -> TaskContext:
    """A task at its very beginning, on a real home."""
    home = Home(folder / "home")
    home.create()
    task = home.task("0000aaaa")
    task.root.mkdir(parents=True)
    chosen = settings or Settings()
    return TaskContext(
        home=home,
        folder=task,
        settings=chosen,
        journal=JournalWriter(task.journal),
        state=TaskState(task="0000aaaa", ask=Ask(repo="/r", issue="It is wrong.")),
        servers=Servers(home, chosen, lambda _url, _state, _reason: None),
        level=Level.PLAIN,
        engine_id="test",
    )
