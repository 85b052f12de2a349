"""Hands out the server's slots, one step at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SlotPool:
    """Slots of one server; a lease lasts one step, so that the GPU works while another task tests."""

    def __init__(self, slots: int) -> None:
        self._free = list(range(slots))
        self._changed = asyncio.Condition()
        self.holders: dict[int, str] = {}
        """Which task holds which slot."""

    @asynccontextmanager
    async def lease(self, task: str, prefer: int | None) -> AsyncIterator[int]:
        """Wait for a slot, by preference the one that holds this task's prompt in its cache."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._free))
            slot = prefer if prefer in self._free else self._free[0]
            self._free.remove(slot)
            self.holders[slot] = task
        try:
            yield slot
        finally:
            async with self._changed:
                del self.holders[slot]
                self._free.append(slot)
                self._free.sort()
                self._changed.notify_all()  # a waiter that was cancelled just now would swallow a single call
