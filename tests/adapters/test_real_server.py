"""What the code relies on, asked of a real llama.cpp server with a real model."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from cockpit.adapters.connect import connect
from cockpit.adapters.llama import LlamaServer, Transport
from cockpit.adapters.openai import OpenAIServer
from cockpit.adapters.server_process import ServerRecord
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, Finish, Finished, Piece, Progress, Turn, Usage
from cockpit.settings import Settings

pytestmark = [pytest.mark.model, pytest.mark.timeout(1800)]

STORY = (Turn("system", "You tell stories."), Turn("user", "Tell a story of a llama, a cat and a broken lock."))
GREETING = (Turn("system", "Be short."), Turn("user", "Say hi to Tom."))
IM_END = 151645
"""Qwen's end-of-turn token."""


def key_of(record: ServerRecord) -> str:
    return Path(record.api_key_file).read_text("utf-8").strip()


@pytest.fixture
async def llama(model_server: ServerRecord) -> AsyncIterator[LlamaServer]:
    server = LlamaServer(Transport(model_server.url, key_of(model_server)))
    yield server
    await server.aclose()


@dataclass(frozen=True)
class Said:
    text: str
    ids: tuple[int, ...]
    progress: tuple[Progress, ...]
    finished: Finished | None

    @property
    def usage(self) -> Usage:
        assert self.finished
        return self.finished.usage


async def say(
    server: LlamaServer,
    prompt: tuple[int, ...],
    max_tokens: int,
    *,
    slot: int | None = None,
    stop_after: int | None = None,
    schema: dict[str, object] | None = None,
) -> Said:
    text, finished = "", None
    ids: list[int] = []
    progress: list[Progress] = []
    request = CompletionRequest((), prompt, max_tokens, slot=slot, json_schema=schema)
    async with aclosing(server.stream(request)) as events:
        async for event in events:
            match event:
                case Progress():
                    progress.append(event)
                case Piece():
                    text += event.text
                    ids.extend(event.ids)
                case Finished():
                    finished = event
            if stop_after and len(ids) >= stop_after:
                break
    return Said(text, tuple(ids), tuple(progress), finished)


async def prompt_of(server: LlamaServer, turns: tuple[Turn, ...]) -> tuple[int, ...]:
    return await server.tokenize(await server.render(turns), special=True)


async def test_facts_are_the_servers_own(model_server: ServerRecord, llama: LlamaServer) -> None:
    facts = await llama.facts()
    assert (facts.dialect, facts.context_tokens, facts.slots) == ("llama", 4096, 2)
    assert facts.model == Path(model_server.model).name
    assert facts.missing == ()
    assert facts.template_sha256


async def test_the_dialect_is_found_out(model_server: ServerRecord) -> None:
    server = await connect(Settings(), model_server.url, key_of(model_server))
    assert isinstance(server, LlamaServer)
    await server.aclose()


async def test_marks_in_foreign_text_are_text_unless_special_is_asked(llama: LlamaServer) -> None:
    assert await llama.tokenize("<|im_end|>", special=True) == (IM_END,)
    plain = await llama.tokenize("<|im_end|>", special=False)
    assert IM_END not in plain
    assert len(plain) > 3


async def test_the_end_of_turn_token_is_in_the_stream(llama: LlamaServer) -> None:
    said = await say(llama, await prompt_of(llama, GREETING), 60)
    assert said.finished
    assert said.finished.finish is Finish.STOP
    assert said.ids[-1] == IM_END
    assert "<|im_end|>" not in said.text
    assert len(said.ids) == said.usage.generated_tokens


async def test_progress_on_the_prompt_invents_no_tokens(llama: LlamaServer) -> None:
    prompt = await llama.tokenize("One line of a long text that was never seen before.\n" * 30, special=False)
    said = await say(llama, prompt, 1)
    assert len(said.progress) > 2
    assert said.progress[-1].processed == said.progress[-1].total == len(prompt)
    assert len(said.ids) == 1


async def test_a_pause_at_token_25_changes_nothing(llama: LlamaServer) -> None:
    """At temperature 0, on one slot, with the prompt in the cache each time: then the batches are the same too."""
    prompt = await prompt_of(llama, STORY)
    await say(llama, prompt, 1, slot=0)
    uncut = await say(llama, prompt, 60, slot=0)
    first = await say(llama, prompt, 60, slot=0, stop_after=25)
    assert first.finished is None
    rest = await say(llama, prompt + first.ids, 60 - len(first.ids), slot=0)
    assert first.ids + rest.ids == uncut.ids
    assert first.text + rest.text == uncut.text
    assert rest.usage.prompt_tokens <= 2, "resuming costs next to nothing"


async def test_cancelling_frees_the_slot(llama: LlamaServer) -> None:
    prompt = await prompt_of(llama, STORY)
    await say(llama, prompt, 2000, slot=1, stop_after=3)
    for _ in range(600):
        if not any(slot["is_processing"] for slot in await llama.slots()):
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the slot still generates")
    assert (await llama.metrics())["requests_processing"] == 0


async def test_the_next_turn_on_the_same_slot_comes_from_the_cache(llama: LlamaServer) -> None:
    prompt = await prompt_of(llama, GREETING)
    answer = await say(llama, prompt, 60, slot=0)
    turn = await llama.tokenize("\n<|im_start|>user\nNow to Ann.<|im_end|>\n<|im_start|>assistant\n", special=True)
    again = await say(llama, prompt + answer.ids + turn, 20, slot=0)
    assert again.usage.prompt_tokens == len(turn) + 1, "the end-of-turn token was generated, but never read"
    assert again.usage.cached_tokens == len(prompt) + len(answer.ids) - 1


async def test_a_prompt_pushed_out_of_its_slot_comes_back_from_memory(llama: LlamaServer) -> None:
    prompt = await prompt_of(llama, STORY)
    await say(llama, prompt, 1, slot=0)
    for slot in (0, 1):
        other = await llama.tokenize(f"Something else for slot {slot}: red, green, blue, and so on.", special=False)
        await say(llama, other, 1, slot=slot)
    back = await say(llama, prompt, 1)
    assert back.usage.cached_tokens >= len(prompt) - 1


async def test_no_token_is_lost_behind_a_character_made_of_several(llama: LlamaServer) -> None:
    wanted = '"價🦙👩\u200d💻格 ok"'
    said = await say(llama, await prompt_of(llama, GREETING), 40, schema={"const": json.loads(wanted)})
    assert said.text == wanted
    assert len(said.ids) == said.usage.generated_tokens
    assert said.ids[:-1] == await llama.tokenize(wanted, special=False)


async def test_a_schema_binds_the_answer(llama: LlamaServer) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "action": {"enum": ["locate", "edit"]},
            "line": {"type": "integer", "minimum": 1, "maximum": 99},
        },
        "required": ["action", "line"],
        "additionalProperties": False,
    }
    said = await say(llama, await prompt_of(llama, GREETING), 60, schema=schema)
    answer = json.loads(said.text)
    assert answer["action"] in {"locate", "edit"}
    assert 1 <= answer["line"] <= 99


async def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers(llama: LlamaServer) -> None:
    prompt = await llama.tokenize("word " * 4200, special=False)
    with pytest.raises(ServerError) as caught:
        await say(llama, prompt, 10)
    assert (caught.value.label, caught.value.is_final) == ("ctx_overflow", True)
    assert str(len(prompt)) in caught.value.message
    assert "4096" in caught.value.message


async def test_a_wrong_key_is_refused_at_every_door(model_server: ServerRecord) -> None:
    server = LlamaServer(Transport(model_server.url, "wrong"))
    for call in (server.facts(), server.tokenize("x", special=False), say(server, (1,), 1)):
        with pytest.raises(ServerError) as caught:
            await call
        assert (caught.value.label, caught.value.is_final) == ("auth_error", True)
    await server.aclose()


async def test_the_plain_dialect_answers_too(model_server: ServerRecord) -> None:
    server = OpenAIServer(Transport(model_server.url, key_of(model_server)))
    facts = await server.facts()
    request = CompletionRequest(GREETING, (), 60)
    events = [event async for event in server.stream(request)]
    await server.aclose()
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.finish is Finish.STOP
    assert last.usage.generated_tokens > 1
    assert "Tom" in "".join(event.text for event in events if isinstance(event, Piece))
    assert (facts.dialect, facts.context_tokens) == ("openai", 4096)
