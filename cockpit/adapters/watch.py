"""Door to watchfiles: wakes a loop when files change, and from time to time anyway."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch

DEBOUNCE_MS = 50
STEP_MS = 25


async def changes(paths: Sequence[Path], *, poll_s: float) -> AsyncGenerator[None, None]:
    """Yield when something changes directly in one of the folders, and at least every ``poll_s`` seconds.

    A hint, never a fact: look at the files themselves. Falls back to yielding every ``poll_s`` when the system has
    no watches left or a folder does not exist.
    """
    watching = awatch(
        *paths,
        watch_filter=None,
        debounce=DEBOUNCE_MS,
        step=STEP_MS,
        rust_timeout=max(1, round(poll_s * 1000)),
        yield_on_timeout=True,
        recursive=False,
    )
    try:
        async with aclosing(watching):
            async for _ in watching:
                yield
    except (OSError, RuntimeError):  # inotify is exhausted, or a path is missing
        while True:
            await asyncio.sleep(poll_s)
            yield
