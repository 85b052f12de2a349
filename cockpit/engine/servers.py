"""Finds the model server a task asks for, and keeps what it said of itself."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cockpit.adapters import embedded, server_process
from cockpit.adapters.replay import ReplayServer
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionServer, ServerFacts
from cockpit.engine.leases import SlotPool
from cockpit.journal.layout import Home
from cockpit.settings import Settings
from cockpit.settings.load import api_key_of

REPLAY = "replay:"
REPLAY_SLOTS = 8


class Link:
    """One connected server with its facts and slots."""

    def __init__(self, server: CompletionServer, facts: ServerFacts) -> None:
        self.server = server
        self.facts = facts
        self.pool = SlotPool(facts.slots or 1)
        self.bridge: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        """Tokens that close the model's turn and open the user's, and those that close it and open the model's."""


class Servers:
    """All servers this engine talks to, connected when first needed."""

    def __init__(self, home: Home, settings: Settings, on_change: Callable[[str, str, str], None]) -> None:
        self._home = home
        self._settings = settings
        self._on_change = on_change
        self._links: dict[str, Link] = {}
        self._states: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def link(self, model: str) -> Link:
        """Return the connected server for a task's model; raises ``ServerError`` when it cannot serve now."""
        async with self._lock:
            known = self._links.get(model)
            if known is not None:
                return known
            try:
                fresh = await self._connect(model)
            except ServerError as error:
                self._tell(model, _state_of(error), error.message)
                raise
            self._links[model] = fresh
            self._tell(model, "ready", "")
            return fresh

    async def drop(self, model: str) -> None:
        """Forget a connection that failed; the next use connects and reads the facts again."""
        async with self._lock:
            link = self._links.pop(model, None)
        if link is not None:
            await link.server.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            await link.server.aclose()
        self._links.clear()

    @property
    def links(self) -> dict[str, Link]:
        """Connected servers by the model they were asked for."""
        return self._links

    def _tell(self, model: str, state: str, reason: str) -> None:
        if self._states.get(model) != state + reason:
            self._states[model] = state + reason
            link = self._links.get(model)
            self._on_change(link.facts.url if link else model, state, reason)

    async def _connect(self, model: str) -> Link:
        if model.startswith(REPLAY):
            server: CompletionServer = _replay(model.removeprefix(REPLAY))
            facts = await server.facts()
            link = Link(server, facts)
            link.pool = SlotPool(REPLAY_SLOTS)
            return link
        # Imported late: httpx costs half a second, and a replay needs none of it.
        from cockpit.adapters.connect import connect

        url, key = await asyncio.to_thread(self._address)
        wished = self._settings.server.model_copy(update={"model": model})
        server = await connect(self._settings.model_copy(update={"server": wished}), url, key)
        facts = await server.facts()
        if not self._settings.server.url:
            facts = replace(facts, build=embedded.build_name())
        return Link(server, facts)

    def _address(self) -> tuple[str, str]:
        if self._settings.server.url:
            return self._settings.server.url, api_key_of(self._settings)
        record = server_process.status(self._home.root)
        if record is None:
            raise ServerError(
                "no model server: server.url is not set and the embedded server is not running",
                hint="set server.url in config.toml, or run: cockpit server start",
            )
        return record.url, Path(record.api_key_file).read_text("utf-8").strip()


def _replay(address: str) -> ReplayServer:
    """Open a recording: ``DIR``, or ``DIR?speed=2`` to play it in half its time."""
    folder, _, speed = address.partition("?speed=")
    try:
        return ReplayServer(Path(folder), float(speed) if speed else None)
    except ValueError:
        raise ServerError(
            f"replay:{address} has no number behind ?speed=",
            hint="write replay:DIR or replay:DIR?speed=2",
            is_final=True,
        ) from None


def _state_of(error: ServerError) -> str:
    if error.label == "auth_error":
        return "unauthorised"
    return "loading" if "loading" in error.message else "away"
