"""Comes to a verdict on a round, and moves a task to rest."""

from cockpit.domain.entries import StateChanged, VerdictReached
from cockpit.domain.errors import HoldError
from cockpit.domain.plan import Finish
from cockpit.domain.verdict import Verdict, facts_of, rule
from cockpit.engine.context import TaskContext
from cockpit.engine.moves.judging import load_evidence, load_tested


async def settle(ctx: TaskContext) -> None:
    """Rule on the outcomes of the round."""
    now = ctx.round
    harvest = now.harvest
    assert harvest is not None  # noqa: S101  # next_move comes here after the harvest only
    facts = facts_of(
        load_evidence(ctx),
        load_tested(ctx),
        says_no_change=bool(harvest.no_change),
        review_unproven=ctx.limits.review_unproven,
    )
    ruling = rule(now.outcomes, facts)
    if ruling.verdict is Verdict.HOLD:
        raise HoldError(ruling.reason, hint="mend that, then resume the task", label=ruling.label)
    ctx.record(
        VerdictReached(
            attempt=ctx.attempt.number,
            round=now.number,
            verdict=str(ruling.verdict),
            label=ruling.label,
            reason=ruling.reason,
            grade=str(ruling.grade or ""),
        )
    )


async def finish(ctx: TaskContext, move: Finish) -> None:
    """Move the task to a state where a person decides, or has nothing more to hope for."""
    ctx.record(StateChanged(move.state, move.reason, move.label, move.grade))
