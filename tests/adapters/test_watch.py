import asyncio
import resource
from contextlib import aclosing
from pathlib import Path

from cockpit.adapters.watch import changes

NEVER_S = 120.0


async def test_a_new_file_wakes_the_loop(tmp_path: Path) -> None:
    async with aclosing(changes([tmp_path], poll_s=NEVER_S)) as wakes:
        waking = asyncio.ensure_future(anext(wakes))
        while not waking.done():
            (tmp_path / "command.json").write_text("")
            (tmp_path / "command.json").unlink()
            await asyncio.sleep(0.02)
        await waking


async def test_a_file_renamed_in_wakes_the_loop_again_and_again(tmp_path: Path) -> None:
    inbox, beside = tmp_path / "inbox", tmp_path / "beside"
    inbox.mkdir()
    async with aclosing(changes([inbox], poll_s=0.05)) as wakes:
        await anext(wakes)  # now the folder is watched
    async with aclosing(changes([inbox], poll_s=NEVER_S)) as wakes:
        for _ in range(3):
            waking = asyncio.ensure_future(anext(wakes))
            while not waking.done():
                beside.write_text("")
                beside.rename(inbox / "command.json")
                await asyncio.sleep(0.02)
            await waking


async def test_it_wakes_from_time_to_time_when_nothing_happens(tmp_path: Path) -> None:
    async with aclosing(changes([tmp_path], poll_s=0.02)) as wakes:
        for _ in range(3):
            await anext(wakes)


async def test_a_folder_that_is_missing_is_polled(tmp_path: Path) -> None:
    async with aclosing(changes([tmp_path / "gone"], poll_s=0.02)) as wakes:
        for _ in range(3):
            await anext(wakes)


async def test_without_watches_left_it_polls(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with aclosing(changes([tmp_path], poll_s=0.02)) as wakes:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))  # no descriptor left for inotify
        try:
            for _ in range(3):
                await anext(wakes)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_loop_that_is_cancelled_ends_at_once(tmp_path: Path) -> None:
    async def wait() -> None:
        async with aclosing(changes([tmp_path], poll_s=NEVER_S)) as wakes:
            await anext(wakes)

    waiting = asyncio.ensure_future(wait())
    await asyncio.sleep(0.1)
    waiting.cancel()
    done, _ = await asyncio.wait([waiting], timeout=60)
    assert waiting in done
    assert waiting.cancelled()
