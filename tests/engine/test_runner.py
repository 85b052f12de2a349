"""What a task's runner takes, refuses and survives, without a process or a model."""

import asyncio
import errno
from pathlib import Path

import pytest

from cockpit.domain.commands import Approve, Discard, Kill, Pause, Resume, Steer, TaskCommand, Undo
from cockpit.domain.entries import CommandRefused, Decided, StateChanged, TaskAdded
from cockpit.domain.errors import HoldError
from cockpit.domain.states import State
from cockpit.engine.runner import TaskRunner
from cockpit.journal.log import read_records
from tests.engine.scripted import make_context

TASK = "0000aaaa"


@pytest.fixture
def runner(tmp_path: Path) -> TaskRunner:
    ctx = make_context(tmp_path)
    ctx.record(TaskAdded(TASK, ctx.state.ask))
    return TaskRunner(ctx, asyncio.Semaphore(1))


def refusal(runner: TaskRunner, command: TaskCommand) -> CommandRefused | None:
    runner.take(command)
    last = read_records(runner.ctx.folder.journal)[0][-1].entry
    return last if isinstance(last, CommandRefused) and last.command == command.id else None


@pytest.mark.parametrize(
    ("state", "command", "sentence"),
    [
        (State.WORKING, Approve("c", TASK), "is working, not in review"),
        (State.QUEUED, Discard("c", TASK), "is queued, not in review"),
        (State.REVIEW, Undo("c", TASK), "no decision on 0000aaaa to undo"),
        (State.REVIEW, Pause("c", TASK), "is in state review"),
        (State.FAILED, Kill("c", TASK), "is in state failed"),
        (State.APPROVED, Steer("c", TASK, "more"), "is in state approved"),
        (State.WORKING, Resume("c", TASK), "is not paused"),
    ],
)
async def test_a_command_that_makes_no_sense_is_refused_with_what_to_do(
    state: State, command: TaskCommand, sentence: str, runner: TaskRunner
) -> None:
    runner.ctx.record(StateChanged(state))
    refused = refusal(runner, command)
    assert refused is not None
    assert sentence in refused.reason
    assert refused.hint


async def test_while_one_decision_is_on_its_way_another_waits(runner: TaskRunner) -> None:
    runner.ctx.record(StateChanged(State.REVIEW))
    assert refusal(runner, Approve("c1", TASK)) is None
    refused = refusal(runner, Discard("c2", TASK))
    assert refused is not None
    assert "is being carried out" in refused.reason


async def test_a_decided_task_is_undone_first(runner: TaskRunner) -> None:
    runner.ctx.record(Decided("approve", "refs/heads/x", "abc", "x"))
    runner.ctx.record(StateChanged(State.APPROVED))
    refused = refusal(runner, Discard("c", TASK))
    assert refused is not None
    assert refused.hint == "undo it first"


async def test_a_command_that_comes_again_is_not_even_answered_again(runner: TaskRunner) -> None:
    runner.take(Pause("c", TASK))
    before = runner.ctx.state
    runner.take(Pause("c", TASK))
    assert runner.ctx.state is before
    assert before.paused


async def test_a_task_at_rest_rests_until_the_next_command(runner: TaskRunner) -> None:
    runner.ctx.record(StateChanged(State.REVIEW))
    job = asyncio.create_task(runner.run())
    await asyncio.sleep(0)
    before = runner.is_resting
    runner.take(Approve("c", TASK))
    assert (before, runner.is_resting) == (True, False)
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


async def test_a_paused_task_is_not_at_rest(runner: TaskRunner) -> None:
    runner.take(Pause("c", TASK))
    job = asyncio.create_task(runner.run())
    await asyncio.sleep(0)
    assert not runner.is_resting
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


async def test_a_full_disk_met_anywhere_is_waited_for_and_no_failure_of_the_task(runner: TaskRunner) -> None:
    held = runner._unforeseen(OSError(errno.ENOSPC, "No space left on device"))
    assert isinstance(held, HoldError)
    assert held.label == "disk_full"
    assert runner.ctx.state.state is State.QUEUED


async def test_a_mistake_of_ours_fails_the_task_and_keeps_the_traceback(runner: TaskRunner) -> None:
    assert runner._unforeseen(KeyError("lost")) is None
    state = runner.ctx.state
    assert (state.state, state.label, state.trouble) == (State.FAILED, "engine_error", "KeyError: 'lost'")
    assert "KeyError" in runner.ctx.folder.journal.read_text("utf-8")
