"""Asks the model: makes the prompt of a round, or goes on with the one on disk, and streams the answer."""

import asyncio
import time
from dataclasses import asdict, replace

from cockpit.domain.entries import CommandDone, StateChanged, StepEnded, StepStarted
from cockpit.domain.errors import ServerError
from cockpit.domain.plan import AskModel
from cockpit.domain.serving import CompletionRequest, Role, Sampler, Turn
from cockpit.domain.states import State
from cockpit.domain.stream import Open
from cockpit.engine.context import TaskContext
from cockpit.engine.generate import Generated, Generation
from cockpit.engine.prompts import Prompt, first_prompt, follow_up
from cockpit.engine.servers import REPLAY, Link
from cockpit.engine.signals import AttemptOverError
from cockpit.journal.files import write_atomic
from cockpit.journal.layout import StepFolder
from cockpit.journal.streamlog import StreamWriter, read_stream
from cockpit.roles.hunter import OPENING
from cockpit.roles.profile import Profile, profile_for

ROLE = Role.HUNTER


async def ask_model(ctx: TaskContext, move: AskModel) -> None:
    """Run the model call of a round to its end; what is on disk already is not asked for again."""
    link = await ctx.link()
    folder = ctx.folder.step(ctx.attempt.number, move.step)
    try:
        opened = await _opened(ctx, link, folder, move)
        if ctx.state.state is not State.WORKING:
            ctx.record(StateChanged(State.WORKING, f"attempt {ctx.attempt.number}, round {move.round}"))
        started = time.monotonic()
        generated = await _generate(ctx, link, folder, opened)
    except ServerError:  # the next try reads the server's facts again: it may come back with more context
        await ctx.servers.drop(ctx.state.ask.model or ctx.settings.server.model)
        raise
    write_atomic(folder.answer, generated.answer.raw.encode("utf-8", "surrogatepass"))
    ctx.record(_ended(ctx, link, move, opened, generated, time.monotonic() - started))


def _ended(
    ctx: TaskContext, link: Link, move: AskModel, opened: Open, generated: Generated, elapsed_s: float
) -> StepEnded:
    usage, facts = generated.usage, link.facts
    return StepEnded(
        attempt=ctx.attempt.number,
        round=move.round,
        step=move.step,
        finish=generated.finish,
        prompt_tokens=usage.prompt_tokens + usage.cached_tokens or opened.prompt_tokens,
        evaluated_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        generated_tokens=generated.answer.written_tokens or usage.generated_tokens,
        prompt_ms=usage.prompt_ms,
        generated_ms=usage.generated_ms,
        elapsed_s=elapsed_s,
        reason=generated.reason,
        model=facts.model,
        build=facts.build or "",
        server=facts.url,
        missing=facts.missing,
    )


async def _generate(ctx: TaskContext, link: Link, folder: StepFolder, opened: Open) -> Generated:
    request = CompletionRequest(
        turns=tuple(Turn(speaker, text) for speaker, text in opened.turns),
        prompt_ids=opened.prompt_ids,
        max_tokens=opened.max_tokens,
        sampler=Sampler(**opened.sampler),
        role=Role(opened.role),
        attempt=opened.attempt,
        ordinal=opened.ordinal,
    )
    ctx.live["waits_for_slot"] = True
    leased = link.pool.lease(ctx.task, ctx.slot)
    async with leased as slot:
        ctx.live.pop("waits_for_slot", None)
        ctx.stop.check()
        ctx.slot = slot
        ctx.live["slot"] = slot
        counts = not link.facts.url.startswith(REPLAY)
        return await Generation(ctx, folder, opened, counts=counts).run(link.server, replace(request, slot=slot))


async def _opened(ctx: TaskContext, link: Link, folder: StepFolder, move: AskModel) -> Open:
    """Return the call as it was prepared; made now when this is its first time."""
    lines, _ = read_stream(folder.stream) if folder.stream.exists() else ([], 0)
    if lines and isinstance(lines[0], Open):
        _note_step(ctx, move, lines[0], 0.0)
        return lines[0]
    started = time.monotonic()
    profile = profile_for(link.facts.model, link.facts.context_tokens)
    prompt = await _prompt(ctx, link, profile, move)
    opened = Open(
        at_s=time.time(),
        role=ROLE.value,
        attempt=ctx.attempt.number,
        ordinal=move.step,
        prompt_ids=prompt.ids,
        prompt_tokens=len(prompt.ids),
        max_tokens=_room(ctx, link, prompt, move),
        turns=tuple((turn.speaker, turn.text) for turn in prompt.turns),
        opening=OPENING if prompt.bridge else "",
        bridge=prompt.bridge,
        edit_format=prompt.edit_format,
        shown=prompt.shown,
        steered=prompt.steered,
        sampler=asdict(_sampler(profile, ctx.attempt.number)),
        server=asdict(link.facts),
    )
    await asyncio.to_thread(folder.root.mkdir, parents=True, exist_ok=True)
    write_atomic(folder.prompt, prompt.text.encode("utf-8", "surrogatepass"))
    with StreamWriter(folder.stream, time.monotonic) as writer:
        writer.open(opened)
    _note_step(ctx, move, opened, time.monotonic() - started)
    return opened


def _note_step(ctx: TaskContext, move: AskModel, opened: Open, elapsed_s: float) -> None:
    """Journal what the call's first line says; after a crash in between, what is missing of it."""
    now = ctx.state.round
    if now is None or now.number != move.round or now.step is None:
        ctx.record(
            StepStarted(
                attempt=ctx.attempt.number,
                round=move.round,
                step=move.step,
                role=opened.role,
                prompt_tokens=opened.prompt_tokens,
                edit_format=opened.edit_format,
                elapsed_s=elapsed_s,
                shown=opened.shown,
            )
        )
    for item in ctx.state.pending:
        if item.id in opened.steered:
            ctx.record(CommandDone(item.id, "steer", f"said at the start of round {move.round}"))


async def _prompt(ctx: TaskContext, link: Link, profile: Profile, move: AskModel) -> Prompt:
    if not ctx.attempt.rounds:
        return await first_prompt(ctx, link, profile)
    return await follow_up(ctx, link, move)


def _sampler(profile: Profile, attempt: int) -> Sampler:
    """Greedy first; later attempts are warmer, with a seed that makes them repeatable."""
    if attempt == 1:
        return profile.sampler
    return replace(profile.sampler, temperature=profile.retry_temperature, seed=attempt)


MIN_ANSWER = 256
"""Tokens; with less room no useful answer fits."""


def _room(ctx: TaskContext, link: Link, prompt: Prompt, move: AskModel) -> int:
    """Return how many tokens the answer may have: what fits, bounded by what can be needed."""
    context = link.facts.context_tokens
    wanted = min(ctx.settings.budget.answer_tokens, prompt.answer_tokens)
    if context is None:
        return wanted
    left = context - len(prompt.ids) - 8
    if left >= min(MIN_ANSWER, wanted):
        return min(wanted, left)
    sentence = f"the prompt has {len(prompt.ids)} tokens and the server's context {context}: no room for an answer"
    if move.round > 1:
        raise AttemptOverError(sentence, label="ctx_overflow")
    raise ServerError(
        sentence,
        hint="start the server with a larger --ctx-size, or fewer --parallel",
        label="ctx_overflow",
        is_final=True,
    )
