"""A slot is lent for one step, by preference to the task whose prompt it holds."""

import asyncio

import pytest

from cockpit.engine.leases import SlotPool


async def test_a_task_gets_the_slot_that_holds_its_prompt() -> None:
    pool = SlotPool(3)
    async with pool.lease("a", 2) as slot:
        assert slot == 2
        assert pool.holders == {2: "a"}
    assert pool.holders == {}


@pytest.mark.parametrize("wish", [None, 7, 0])
async def test_a_wish_that_cannot_be_met_gets_the_first_free_slot(wish: int | None) -> None:
    pool = SlotPool(2)
    async with pool.lease("a", 0), pool.lease("b", wish) as slot:
        assert slot == 1


async def test_who_comes_when_all_are_taken_waits_for_the_next_free_one() -> None:
    pool = SlotPool(1)
    order: list[str] = []

    async def work(task: str) -> None:
        async with pool.lease(task, None):
            order.append(task)
            await asyncio.sleep(0)

    async with pool.lease("first", None):
        waiting = [asyncio.create_task(work(name)) for name in ("second", "third")]
        await asyncio.sleep(0)
        assert order == []
    await asyncio.gather(*waiting)
    assert order == ["second", "third"]


async def test_a_slot_comes_back_when_its_step_fails_and_when_it_is_cancelled() -> None:
    pool = SlotPool(1)
    with pytest.raises(RuntimeError, match="broken"):
        async with pool.lease("a", None):
            raise RuntimeError("broken")

    async def hold() -> None:
        async with pool.lease("b", None):
            await asyncio.Event().wait()

    job = asyncio.create_task(hold())
    await asyncio.sleep(0)
    waiting = asyncio.create_task(hold())
    await asyncio.sleep(0)
    for cancelled in (waiting, job):
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    async with pool.lease("c", None) as slot:
        assert slot == 0
