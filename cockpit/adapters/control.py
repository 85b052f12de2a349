"""Lets an operator freeze, thaw and kill commands while they run; a wish made earlier or later is kept."""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator

from cockpit.adapters.reaper import FREEZE, KILL, THAW


class RunControl:
    """The handle on the commands of one task, used by as many runs as like, one after the other or at once.

    Frozen or killed before a run starts, the run does not start: it waits, or ends at once. Use it on the thread
    of the event loop.
    """

    def __init__(self) -> None:
        self._links: set[int] = set()
        self._may_go = asyncio.Event()
        self._may_go.set()
        self._is_killed = False
        self._frozen_since: float | None = None
        self._frozen_s = 0.0

    @property
    def is_frozen(self) -> bool:
        """Whether commands are, or would be, frozen."""
        return self._frozen_since is not None

    @property
    def is_killed(self) -> bool:
        """Whether commands were, or would be, killed; this never ends."""
        return self._is_killed

    @property
    def running_clock_s(self) -> float:
        """A clock in seconds that stands still while frozen."""
        now = time.monotonic() if self._frozen_since is None else self._frozen_since
        return now - self._frozen_s

    def freeze(self) -> None:
        """Stop every process of every run; their time limits stand still."""
        if self._frozen_since is None and not self._is_killed:
            self._frozen_since = time.monotonic()
            self._may_go.clear()
            self._send(FREEZE)

    def thaw(self) -> None:
        """Let everything go on."""
        if self._frozen_since is not None:
            self._start_clock()
            self._may_go.set()
            self._send(THAW)

    def kill(self) -> None:
        """End every run, frozen or not."""
        if not self._is_killed:
            self._start_clock()
            self._is_killed = True
            self._may_go.set()
            self._send(KILL)

    def _start_clock(self) -> None:
        if self._frozen_since is not None:
            self._frozen_s += time.monotonic() - self._frozen_since
            self._frozen_since = None

    async def may_start(self) -> bool:
        """Wait until a run may start; False when it was killed instead."""
        await self._may_go.wait()
        return not self._is_killed

    @contextlib.contextmanager
    def link(self) -> Iterator[int]:
        """Yield the reading end of a pipe that carries the orders; leaving closes it, which is an order to kill."""
        reading, writing = os.pipe()
        self._links.add(writing)
        try:
            yield reading
        finally:
            self._links.discard(writing)
            os.close(writing)

    def _send(self, order: bytes) -> None:
        for writing in self._links:
            with contextlib.suppress(BrokenPipeError):
                os.write(writing, order)
