"""Makes the prompt of a round out of what is known: the front once per attempt, then one turn per round."""

import asyncio
from dataclasses import dataclass, replace

from cockpit.domain.errors import ServerError
from cockpit.domain.evidence import EditRefusal
from cockpit.domain.outcomes import Limits
from cockpit.domain.plan import AskModel
from cockpit.domain.serving import Turn
from cockpit.domain.state import PendingCommand
from cockpit.domain.stream import Open, answer_of
from cockpit.engine.context import TaskContext
from cockpit.engine.prompting import first_ids, next_ids
from cockpit.engine.reading import TreeFiles
from cockpit.engine.servers import REPLAY, Link
from cockpit.journal.codec import from_json
from cockpit.journal.streamlog import read_stream
from cockpit.localise import context_for, enclosing_symbols
from cockpit.localise.mentions import read_mentions
from cockpit.roles.feedback import feedback_turn
from cockpit.roles.hunter import Front, ShownFile, bridge_to, card_of, front_turns
from cockpit.roles.profile import Profile, profile_for

BYTES_PER_TOKEN = 3.2
"""Of source code with the tokenizers of current coding models; only for a first guess, the server counts."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt, ready to be sent."""

    turns: tuple[Turn, ...]
    ids: tuple[int, ...]
    """Empty when the server cannot count tokens."""
    edit_format: str
    shown: tuple[str, ...]
    answer_tokens: int
    """Most tokens a useful answer can need."""
    bridge: str = ""
    """What leads a small model from its first line into the file; empty when it needs no help."""
    steered: tuple[str, ...] = ()
    """Ids of the steering commands whose words the turns hold."""

    @property
    def text(self) -> str:
        """The turns as a person reads them (``prompt.txt``)."""
        return "\n\n".join(f"--- {turn.speaker} ---\n{turn.text}" for turn in self.turns) + "\n"


async def first_prompt(ctx: TaskContext, link: Link, profile: Profile) -> Prompt:
    """Return the front of an attempt, made smaller block by block until it fits the budget."""
    count, steering = 0, _steering(ctx)
    for front in await asyncio.to_thread(_fronts, ctx, profile, steering):
        turns = front_turns(front)
        ids = await first_ids(link.server, turns) if _counts(link) else ()
        count = len(ids) or sum(int(len(turn.text) / BYTES_PER_TOKEN) for turn in turns)
        if count <= profile.prompt_tokens:
            shown = tuple(item.path for item in front.files if not item.is_test)
            return Prompt(
                turns=turns,
                ids=ids,
                edit_format=front.edit_format,
                shown=shown,
                answer_tokens=_answer_tokens(front),
                bridge=_bridge(link, front, profile),
                steered=tuple(item.id for item in steering),
            )
    raise ServerError(
        f"the smallest prompt for this issue has {count} tokens, the server's context allows {profile.prompt_tokens}",
        hint="start the server with a larger context (--ctx-size), or shorten the issue",
        label="ctx_overflow",
        is_final=True,
    )


def _bridge(link: Link, front: Front, profile: Profile) -> str:
    sources = [item for item in front.files if not item.is_test]
    if not profile.leads or not _counts(link) or front.edit_format != "whole_file" or len(sources) != 1:
        return ""
    return "" if link.facts.url.startswith(REPLAY) else bridge_to(sources[0].path, sources[0].text)


def _counts(link: Link) -> bool:
    return link.facts.dialect != "openai"


def _fronts(ctx: TaskContext, profile: Profile, steering: tuple[PendingCommand, ...]) -> list[Front]:
    """Return fronts from the richest to the leanest."""
    localised, repository, baseline = ctx.attempt.localised, ctx.state.repository, ctx.state.baseline
    # next_move asks the model after all three
    assert localised is not None and repository is not None and baseline is not None  # noqa: S101, PT018
    limits = ctx.limits
    sources = [row for row in localised.shortlist if not limits.is_test(row[0])]
    reader = _Shower(ctx, profile)
    front = Front(
        edit_format="whole_file",
        card=card_of(repository.name, baseline.command),
        issue=ctx.state.ask.issue,
        shortlist=(),
        files=(),
        lessons=ctx.attempt.lessons,
        failing=_failing(baseline.targets),
        steering=tuple(item.text for item in steering),
    )
    fronts = []
    for shown in range(min(profile.shown_files, len(sources)), 0, -1):
        files = tuple(reader.complete(path) for path, _ in sources[:shown])
        rest = tuple(sources[shown:]) if profile.shown_files > 1 else ()
        tests = reader.tests(baseline.targets, limits)
        fronts.append(_fitted(replace(front, files=(*files, *tests), shortlist=rest), profile))
        fronts.append(_fitted(replace(front, files=files, shortlist=()), profile))
    for budget in (6_000, 3_000, 1_500):
        files = tuple(reader.partly(path, budget) for path, _ in sources[:1])
        fronts.append(_fitted(replace(front, files=files), profile))
    return fronts


def _fitted(front: Front, profile: Profile) -> Front:
    """Choose the edit format: complete files below the profile's size, blocks above it."""
    sources = [item for item in front.files if not item.is_test]
    whole = all(item.is_complete and len(item.text) <= profile.whole_file_bytes for item in sources)
    return replace(front, edit_format="whole_file" if whole else "search_replace")


def _steering(ctx: TaskContext) -> tuple[PendingCommand, ...]:
    """Return the operator's lines that no prompt holds yet."""
    return tuple(item for item in ctx.state.pending if item.verb == "steer")


def _failing(targets: tuple[str, ...]) -> str:
    return "\n".join(f"- {test}" for test in targets)


def _answer_tokens(front: Front) -> int:
    """Return the room to leave: a complete file costs its own size and some, blocks a part of it."""
    largest = max((len(item.text) for item in front.files if not item.is_test), default=0)
    factor = 1.4 if front.edit_format == "whole_file" else 0.6
    return int(largest / BYTES_PER_TOKEN * factor) + 512


class _Shower:
    """Turns files of the attempt's base into what the model sees."""

    def __init__(self, ctx: TaskContext, profile: Profile) -> None:
        self._files = TreeFiles(ctx.folder.repo_git, ctx.attempt.base_tree, ctx.worktree)
        self._known = set(self._files.paths())
        self._mentions = read_mentions(ctx.state.ask.issue)
        self._profile = profile

    def complete(self, path: str) -> ShownFile:
        """Show a short file as it is, of a long one the wanted symbols and an outline."""
        text = self._text(path)
        if len(text) <= self._profile.whole_file_bytes * 2:
            return ShownFile(path, text, is_complete=True)
        return self.partly(path, self._profile.whole_file_bytes)

    def partly(self, path: str, budget: int) -> ShownFile:
        """Show whole symbols the issue names and an outline of the rest, within a budget of characters."""
        source = self._files.read(path)
        text = self._text(path)
        if len(text) <= budget:
            return ShownFile(path, text, is_complete=True)
        return ShownFile(path, context_for(path, source, budget, self._wanted(path)), is_complete=False)

    def _wanted(self, path: str) -> tuple[str, ...]:
        """Return what of this file the issue speaks of: lines of tracebacks first, then names."""
        frames = [str(frame.line) for frame in self._mentions.frames if path.endswith(frame.path.lstrip("./"))]
        return (*reversed(frames), *self._mentions.symbols)

    def tests(self, targets: tuple[str, ...], limits: Limits) -> tuple[ShownFile, ...]:
        """Show the tests that have to pass, each alone: the rest of their file says nothing about this bug."""
        wanted: dict[str, list[str]] = {}
        for target in targets:
            path, *names = target.split("::")
            if names and path in self._known and limits.is_test(path):
                wanted.setdefault(path, []).append(names[-1].partition("[")[0])
        shown = [self._named(path, names) for path, names in wanted.items()]
        return tuple(item for item in shown if item.text and len(item.text) <= self._profile.whole_file_bytes)

    def _named(self, path: str, names: list[str]) -> ShownFile:
        lines = self._text(path).split("\n")
        found = enclosing_symbols(path, self._files.read(path), names)
        parts = ["\n".join(lines[symbol.start_line - 1 : symbol.end_line]) for symbol in found]
        return ShownFile(path, "\n\n\n".join(parts), is_complete=False, is_test=True)

    def _text(self, path: str) -> str:
        return self._files.read(path).decode("utf-8", "replace").replace("\r\n", "\n")


async def follow_up(ctx: TaskContext, link: Link, move: AskModel) -> Prompt:
    """Return the prompt of a later round: the call before, its answer, and what became of it."""
    now = ctx.round
    step = now.step
    assert step is not None  # noqa: S101  # a round that has a verdict had a step
    lines, _ = read_stream(ctx.folder.step(ctx.attempt.number, step.step).stream)
    opened = lines[0]
    assert isinstance(opened, Open)  # noqa: S101  # written first, always
    answer, steering = answer_of(lines), _steering(ctx)
    said = feedback_turn(
        now.outcomes,
        _refusals(ctx),
        now.runs[-1].digest if now.runs else "",
        reason=now.verdict.reason if now.verdict else "",
        round_number=move.round,
        rounds=ctx.allowance.rounds,
        steering=tuple(item.text for item in steering),
        edit_format=step.edit_format,
        digest_chars=profile_for(link.facts.model, link.facts.context_tokens).digest_chars,
    )
    ids = await next_ids(link, opened.prompt_ids, answer.ids, said) if opened.prompt_ids else ()
    turns = tuple(Turn(speaker, text) for speaker, text in opened.turns)
    return Prompt(
        turns=(*turns, Turn("assistant", answer.text), Turn("user", said)),
        ids=ids,
        edit_format=step.edit_format,
        shown=step.shown,
        answer_tokens=opened.max_tokens,
        bridge=opened.bridge,
        steered=tuple(item.id for item in steering),
    )


def _refusals(ctx: TaskContext) -> tuple[EditRefusal, ...]:
    path = ctx.folder.round(ctx.attempt.number, ctx.round.number).refusals
    return from_json(tuple[EditRefusal, ...], path.read_bytes()) if path.exists() else ()
