"""Works one task: decide the next move, make it, decide again, until a person is needed."""

import asyncio
import contextlib
import traceback
from typing import assert_never

from cockpit.domain.commands import Approve, Discard, Kill, Pause, Resume, Steer, TaskCommand, Undo
from cockpit.domain.entries import (
    AttemptEnded,
    CommandDone,
    CommandRefused,
    CommandTaken,
    Entry,
    PauseChanged,
    StateChanged,
    Trouble,
)
from cockpit.domain.errors import CockpitError, HoldError, ServerError
from cockpit.domain.plan import (
    AskModel,
    CarryOut,
    EndAttempt,
    Finish,
    Harvest,
    Localise,
    MeasureBaseline,
    Move,
    PrepareEnvironment,
    PrepareRepository,
    Rest,
    RunTests,
    Settle,
    StartAttempt,
    next_move,
)
from cockpit.domain.states import AT_REST, State
from cockpit.engine.context import TaskContext
from cockpit.engine.moves.asking import ask_model
from cockpit.engine.moves.attempt import end_attempt, localise, start_attempt
from cockpit.engine.moves.deciding import carry_out
from cockpit.engine.moves.judging import harvest_answer
from cockpit.engine.moves.prepare import measure_tests, prepare_repository, prepare_test_environment
from cockpit.engine.moves.settling import finish, settle
from cockpit.engine.moves.testing import run_round_tests
from cockpit.engine.signals import AttemptOverError, Interrupted
from cockpit.journal.files import write_error

SELF_HEALING = frozenset({"server_unavailable", "prefill_timeout", "decode_timeout", "disk_full"})
"""Reasons to wait that may pass by themselves; for all others somebody has to act and press resume."""
DECIDING = frozenset({"approve", "discard", "undo"})


class TaskRunner:
    """The one job that works a task."""

    def __init__(self, ctx: TaskContext, turn: asyncio.Semaphore) -> None:
        self.ctx = ctx
        self._turn = turn
        self._wake = asyncio.Event()
        self._look_again = asyncio.Event()
        self._moving = False
        self._is_idle = False

    @property
    def is_resting(self) -> bool:
        """Tell whether the task rests and no command came since: nothing happens before the next one."""
        return self._is_idle and not self._wake.is_set() and self.ctx.state.state in AT_REST

    async def run(self) -> None:
        """Work until cancelled; rests while there is nothing to do."""
        while True:
            move = next_move(self.ctx.state, self.ctx.allowance)
            if isinstance(move, Rest):
                self._is_idle = True
                await self._wake.wait()
                self._is_idle = False
                self._wake.clear()
            elif isinstance(move, CarryOut):
                if await self._make(move) is not None:
                    await self._rest(self.ctx.settings.engine.retry_s)
            else:
                async with self._turn:
                    held = await self._work()
                if held is not None:
                    await self._wait_for(held)

    async def _work(self) -> HoldError | None:
        """Make moves until the task rests, so that a task once begun keeps its turn; returns why it has to wait."""
        while True:
            move = next_move(self.ctx.state, self.ctx.allowance)
            if isinstance(move, Rest | CarryOut):
                return None
            held = await self._make(move)
            if held is not None:
                return held

    async def _make(self, move: Move) -> HoldError | None:
        """Make one move; returns the infrastructure that is missing, when the task has to wait for it."""
        ctx = self.ctx
        ctx.stop.clear()
        self._look_again.clear()
        self._moving = True
        try:
            await self._dispatch(move)
            self._note_going_on()
        except Interrupted:
            return None
        except HoldError as error:
            if error.label != "replay_exhausted":
                return error
            return self._record(AttemptEnded(ctx.attempt.number, error.label, error.message))
        except AttemptOverError as error:
            return self._record(AttemptEnded(ctx.attempt.number, error.label, error.message))
        except CockpitError as error:
            return self._fail(error)
        except Exception as error:  # noqa: BLE001  # the boundary around one task: it becomes an entry
            return self._unforeseen(error)
        finally:
            self._moving = False
            ctx.control = None  # whatever it held is over: the next pause is not for it
        return None

    def _unforeseen(self, error: Exception) -> HoldError | None:
        """Fail the task with the traceback; only a full disk, wherever it is met, is a reason to wait."""
        if isinstance(error, OSError) and isinstance(held := write_error(self.ctx.home.root, error), HoldError):
            return held
        self._record(Trouble(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))))
        reason = "an error inside the engine, see the journal"
        return self._record(StateChanged(State.FAILED, reason, label="engine_error"))

    def _note_going_on(self) -> None:
        state = self.ctx.state
        if state.state is State.WAITING:
            began = State.WORKING if state.attempts else State.PREPARING
            self._record(StateChanged(began, "goes on"))

    def _record(self, entry: Entry) -> HoldError | None:
        """Write an entry where even a full disk must not end the job; what could not be written is done again."""
        try:
            self.ctx.record(entry)
        except HoldError as error:
            return error
        return None

    async def _wait_for(self, error: HoldError) -> None:
        """Wait for infrastructure; goes on by itself where that can help, else by ``resume``."""
        reason = f"{error.message}: {error.hint}" if error.hint else error.message
        state = self.ctx.state
        is_final = isinstance(error, ServerError) and error.is_final
        by_key = is_final or error.label not in SELF_HEALING
        if (state.state, state.reason) != (State.WAITING, reason):
            self._record(StateChanged(State.WAITING, reason, label=error.label, by_key=by_key))
        await self._rest(None if by_key else self.ctx.settings.engine.retry_s)

    async def _rest(self, patience_s: float | None) -> None:
        """Wait until a command comes, at most so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._look_again.wait()

    async def _dispatch(self, move: Move) -> None:  # noqa: C901  # one line a move, counted by the checker
        ctx = self.ctx
        match move:
            case PrepareRepository():
                await prepare_repository(ctx)
            case PrepareEnvironment():
                await prepare_test_environment(ctx)
            case MeasureBaseline():
                await measure_tests(ctx)
            case StartAttempt():
                await start_attempt(ctx, move)
            case Localise():
                await localise(ctx)
            case AskModel():
                await ask_model(ctx, move)
            case Harvest():
                await harvest_answer(ctx)
            case RunTests():
                await run_round_tests(ctx)
            case Settle():
                await settle(ctx)
            case EndAttempt():
                await end_attempt(ctx, move)
            case Finish():
                await finish(ctx, move)
            case CarryOut():
                await carry_out(ctx, move)
            case Rest():
                pass
            case _:
                assert_never(move)

    def _fail(self, error: CockpitError) -> HoldError | None:
        reason = f"{error.message}: {error.hint}" if error.hint else error.message
        return self._record(StateChanged(State.FAILED, reason, label=error.label or "engine_error"))

    def take(self, command: TaskCommand) -> None:
        """Take a command from the inbox; one already taken is ignored."""
        ctx = self.ctx
        if command.id in ctx.state.commands:
            return
        verb = command.kind
        refusal = self._refusal(command)
        if refusal:
            ctx.record(CommandRefused(command.id, verb, *refusal))
            return
        match command:
            case Pause() | Resume():
                self._pause(command)
            case Steer():
                ctx.record(CommandTaken(command.id, verb, command.text))
            case Kill():
                ctx.record(CommandTaken(command.id, verb))
                self._interrupt("kill")
            case Approve() | Discard() | Undo():
                ctx.record(CommandTaken(command.id, verb))
        self._look_again.set()
        self._wake.set()

    def _refusal(self, command: TaskCommand) -> tuple[str, str] | None:
        """Tell why a command makes no sense now, and what to do instead; None when it does."""
        state = self.ctx.state
        verb, now = command.kind, state.state
        if any(item.verb in DECIDING or item.verb == "kill" for item in state.pending):
            return f"another decision on {state.task} is being carried out", "wait a moment and look again"
        if verb in {"approve", "discard"} and now is not State.REVIEW:
            hint = "undo it first" if state.decision else "only a patch in review can be decided on"
            return f"task {state.task} is {now.value}, not in review", hint
        if verb == "undo" and state.decision is None:
            return f"there is no decision on {state.task} to undo", "approve and discard can be undone"
        if verb in {"pause", "kill", "steer"} and now in AT_REST:
            return f"nothing is running: task {state.task} is in state {now.value}", _at_rest_hint(now)
        if verb == "pause" and state.paused:
            return f"task {state.task} is paused already", "resume lets it go on"
        if verb == "resume" and not state.paused and now is not State.WAITING:
            return f"task {state.task} is not paused", "there is nothing to resume"
        return None

    def _pause(self, command: Pause | Resume) -> None:
        ctx = self.ctx
        wanted = isinstance(command, Pause)
        if ctx.state.paused != wanted:
            ctx.record(PauseChanged(wanted))
        if wanted and ctx.control is not None:
            ctx.control.freeze()
        elif wanted:
            self._interrupt("pause")
        elif ctx.control is not None:
            ctx.control.thaw()
        ctx.record(CommandDone(command.id, command.kind))

    def _interrupt(self, why: str) -> None:
        if self._moving:
            self.ctx.stop.ask(why)
        if why == "kill" and self.ctx.control is not None:
            self.ctx.control.kill()


def _at_rest_hint(now: State) -> str:
    return "approve or discard it" if now is State.REVIEW else "add it again to start over"
