"""Answers model calls from a task's recorded streams, so that a session can be run again without a model.

What stood in the end is what is said again: text that was cut is left out, text an operator put in is kept.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cockpit.adapters.server_errors import ended_early
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import (
    CompletionRequest,
    Finish,
    Finished,
    Piece,
    Progress,
    ServerFacts,
    StreamEvent,
    Turn,
    Usage,
)

MADE_UP_ID = 1_000_000
"""The first id for pieces recorded without ids; no model has as many tokens."""
BYTES_PER_TOKEN = 4

Key = tuple[str, int, int]
"""Role, attempt and ordinal."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded call."""

    prompt_tokens: int
    server: dict[str, Any]
    pieces: tuple[Piece, ...]
    times_ms: tuple[int, ...]
    """When each piece arrived, since the call was sent."""
    finished: Finished | None
    """None when the recording breaks off."""


class ReplayServer:
    """Plays the calls of one task's folder, found by role, attempt and ordinal.

    ``speed`` 1 takes the time the recorded call took, 4 a quarter of it; None plays as fast as it is read.
    """

    def __init__(self, folder: Path, speed: float | None = None) -> None:
        self._folder = folder
        self._speed = speed
        self._files: dict[Key, Path] | None = None

    async def facts(self) -> ServerFacts:
        """Return what the recorded server said of itself; raises when nothing is recorded there."""
        files = self._index()
        if not files:
            raise ServerError(
                f"{self._folder} holds no recorded model calls",
                hint="name the folder of a task that has worked: $COCKPIT_HOME/tasks/ID",
                label="replay_exhausted",
                is_final=True,
            )
        said = read_call(next(iter(files.values()))).server
        return ServerFacts(
            url=f"replay:{self._folder}",
            dialect="llama",
            model=str(said.get("model") or "replay"),
            build=said.get("build"),
        )

    async def render(self, turns: tuple[Turn, ...]) -> str:
        """Return a plain stand-in for a template: it only grows when turns are added."""
        return "".join(f"<{turn.speaker}>\n{turn.text}\n" for turn in turns) + "<assistant>\n"

    async def tokenize(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Return stand-in ids, the same for the same text: one for four bytes of UTF-8, so lengths are a guess."""
        data = text.encode("utf-8", errors="surrogatepass")
        return tuple(
            int.from_bytes(data[start : start + BYTES_PER_TOKEN], "big")
            for start in range(0, len(data), BYTES_PER_TOKEN)
        )

    async def stream(self, request: CompletionRequest) -> AsyncGenerator[StreamEvent]:
        """Yield what was recorded for this call, from ``skip_tokens`` on.

        Raises ``ServerError`` ``replay_exhausted`` when nothing is recorded for it, and like a server that went
        away where the recording breaks off.
        """
        call = read_call(self._file_of(request))
        yield Progress(call.prompt_tokens, cached=0, processed=call.prompt_tokens, elapsed_ms=0.0)
        seen, before_ms = 0, 0
        for piece, at_ms in zip(call.pieces, call.times_ms, strict=True):
            seen += len(piece.ids)
            if seen > request.skip_tokens:
                await self._wait(at_ms - before_ms)
                yield piece
            before_ms = at_ms
        if call.finished is None:
            raise ended_early(f"replay:{self._folder}")
        yield call.finished

    async def aclose(self) -> None:
        """Nothing is open."""

    async def _wait(self, recorded_ms: int) -> None:
        if self._speed is not None:
            await asyncio.sleep(max(0, recorded_ms) / 1000 / self._speed)

    def _file_of(self, request: CompletionRequest) -> Path:
        found = self._index().get((request.role.value, request.attempt, request.ordinal))
        if found is None:
            raise ServerError(
                f"no step {request.ordinal} of the {request.role.value} is recorded for attempt {request.attempt}",
                hint="the run went another way than the recorded one; compare settings, repository and version",
                label="replay_exhausted",
                is_final=True,
            )
        return found

    def _index(self) -> dict[Key, Path]:
        """Read the first line of every recording once; of two with one key the later step counts."""
        if self._files is None:
            found = sorted(self._folder.glob("attempts/*/steps/*/stream.jsonl"), key=_place)
            self._files = {_key(opened): path for path in found if (opened := next(_lines(path), None)) is not None}
        return self._files


def read_call(path: Path) -> Recorded:
    """Fold the lines of one recording into what stood in the end."""
    opened: dict[str, Any] = {}
    pieces: list[Piece] = []
    times: list[int] = []
    finished: Finished | None = None
    for line in _lines(path):
        match line.get("kind"):
            case "open":
                opened = opened or line
            case "delta" | "insert":
                pieces.append(_piece(line, len(pieces)))
                times.append(int(line.get("ms") or 0))
                finished = None
            case "cut":
                pieces, finished = _kept(pieces, int(line.get("at") or 0)), None
            case "end":
                finished = Finished(_finish(str(line.get("finish"))), _usage(line.get("usage") or {}))
    prompt_tokens, server = int(opened.get("prompt_tokens") or 0), opened.get("server") or {}
    return Recorded(prompt_tokens, server, tuple(pieces), tuple(times[: len(pieces)]), finished)


def _finish(recorded: str) -> Finish:
    """Read why a call ended: one that a watchdog ended was cut, and its text alarms the watchdog again."""
    return Finish(recorded) if recorded in set(Finish) else Finish.CUT


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a recording; a torn last one is the end."""
    with path.open("rb") as handle:
        for raw in handle:
            try:
                line = json.loads(raw)
            except ValueError:
                return
            if isinstance(line, dict):
                yield line


def _piece(line: dict[str, Any], number: int) -> Piece:
    ids = tuple(line.get("ids") or ()) or (MADE_UP_ID + number,)
    return Piece(str(line.get("text") or ""), ids, is_reasoning=line.get("channel") == "reasoning")


def _kept(pieces: list[Piece], count: int) -> list[Piece]:
    """Keep whole pieces while their tokens fit into ``count``."""
    total = 0
    for index, piece in enumerate(pieces):
        total += len(piece.ids)
        if total > count:
            return pieces[:index]
    return pieces


def _usage(said: dict[str, Any]) -> Usage:
    known = {name: said[name] for name in Usage.__dataclass_fields__ if name in said}
    return Usage(**known)


def _key(opened: dict[str, Any]) -> Key:
    return str(opened.get("role")), int(opened.get("attempt") or 1), int(opened.get("ordinal") or 1)


def _place(path: Path) -> tuple[tuple[int, str], ...]:
    """Sort ``10`` behind ``9``."""
    return tuple((int(part) if part.isdigit() else 0, part) for part in path.parts)
