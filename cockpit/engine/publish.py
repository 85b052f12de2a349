"""Publishes summaries for quick readers: ``tasks.json`` at most once a second, ``live.json`` twice a second."""

import asyncio
import time
from typing import Any

from cockpit.domain.errors import HoldError
from cockpit.domain.summary import TaskSummary, summarise
from cockpit.engine.context import TaskContext
from cockpit.engine.servers import Servers
from cockpit.journal.layout import Home
from cockpit.journal.summary import encode_row, write_live, write_rows

LIVE_S = 0.5
TASKS_S = 1.0


class Publisher:
    """Writes what changed; when the disk is full it tries again at the next beat."""

    def __init__(self, home: Home, servers: Servers) -> None:
        self._home = home
        self._servers = servers
        self.contexts: dict[str, TaskContext] = {}
        """Tasks that are being worked on, by id."""
        self.summaries: dict[str, TaskSummary] = {}
        self._rows: dict[str, bytes] = {}
        """Summaries as they stand in the file: of ten thousand, one is encoded anew when one task changes."""
        self._dirty = True
        self._last_live: dict[str, Any] | None = None

    def changed(self, ctx: TaskContext) -> None:
        """Note that a task's slow fields may have changed."""
        self.put(summarise(ctx.state))

    def put(self, row: TaskSummary) -> None:
        """Show this row of a task."""
        self.summaries[row.id] = row
        self._rows.pop(row.id, None)
        self._dirty = True

    async def run(self) -> None:
        """Beat until cancelled."""
        tasks_at = 0.0
        while True:
            now = time.monotonic()
            if self._dirty and now - tasks_at >= TASKS_S:
                tasks_at = now
                self.write_tasks()
            self._write_live()
            await asyncio.sleep(LIVE_S)

    def write_tasks(self) -> None:
        """Write ``tasks.json`` now."""
        try:
            write_rows(self._home, [self._row(task) for task in self.summaries])
            self._dirty = False
        except HoldError:
            self._dirty = True

    def _row(self, task: str) -> bytes:
        if task not in self._rows:
            self._rows[task] = encode_row(self.summaries[task])
        return self._rows[task]

    def _write_live(self) -> None:
        live = self._live()
        try:
            if live != self._last_live:
                write_live(self._home, {**live, "at_s": time.time()})
                self._last_live = live
        except HoldError:
            self._last_live = None

    def _live(self) -> dict[str, Any]:
        servers = [
            {
                "url": link.facts.url,
                "model": link.facts.model,
                "build": link.facts.build,
                "slots": link.facts.slots,
                "context_tokens": link.facts.context_tokens,
                "leases": {str(slot): task for slot, task in link.pool.holders.items()},
            }
            for link in self._servers.links.values()
        ]
        tasks = {task: dict(ctx.live) for task, ctx in self.contexts.items() if ctx.live}
        return {"gpu": None, "servers": servers, "tasks": tasks}
