"""The failure cases of model servers, in the chat dialect they are written in."""

import json
from pathlib import Path
from typing import Any

import pytest

from cockpit.adapters.llama import Transport
from cockpit.adapters.openai import OpenAIServer
from cockpit.domain.errors import ServerError
from cockpit.domain.watchdog import WatchLimits
from tests.adapters.played import CASES, USUAL, Heard, Played, ask, play

CHAT = "/v1/chat/completions"


def folder_of(case: str) -> Path:
    return next(CASES.glob(f"{case}-*"))


def expected_of(case: str) -> Any:  # noqa: ANN401  # the value's shape differs by case
    return json.loads((folder_of(case) / "case.json").read_text("utf-8"))["expected"]["value"]


async def heard_of(played: Played, limits: WatchLimits = USUAL) -> Heard:
    server = OpenAIServer(Transport(played.url))
    try:
        return await ask(server, limits)
    finally:
        await server.aclose()


@pytest.mark.parametrize("script", ["script_400", "script_401"])
async def test_c02_a_refusal_is_final_and_is_asked_once(script: str, tmp_path: Path) -> None:
    with play(folder_of("C02") / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
        played.wait_for_post(CHAT)
        assert {"outcome": heard.outcome, "posts": len(played.posts(CHAT))} == expected_of("C02")[f"{script}.json"]
    assert heard.error
    assert heard.error.is_final
    if script == "script_400":
        assert "9311" in heard.error.message
        assert "8192" in heard.error.message


async def test_c02_a_wrong_key_is_found_although_health_and_models_are_open(tmp_path: Path) -> None:
    with play(folder_of("C02") / "script_401.json", tmp_path) as played:
        server = OpenAIServer(Transport(played.url, "wrong"))
        with pytest.raises(ServerError, match="refuses the API key: Invalid API Key") as caught:
            await server.facts()
        await server.aclose()
    assert caught.value.label == "auth_error"


@pytest.mark.parametrize("script", ["script_data", "script_field"])
async def test_c03_an_error_inside_the_stream_leaves_no_answer(script: str, tmp_path: Path) -> None:
    with play(folder_of("C03") / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
    edits = 0 if heard.finished is None else 1
    assert {"outcome": heard.outcome, "edits": edits} == expected_of("C03")[f"{script}.json"]
    assert heard.error
    assert heard.error.message.endswith("Context size has been exceeded.")


async def test_c04_an_awkward_stream_is_read_exactly(tmp_path: Path) -> None:
    with play(folder_of("C04") / "script.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.finished
    assert {
        "text": heard.text,
        "finish_reason": heard.finished.finish.value,
        "completion_tokens": heard.finished.usage.generated_tokens,
    } == expected_of("C04")
    assert heard.finished.usage.prompt_tokens == 512


async def test_c06_a_stall_is_found_although_keep_alives_go_on(tmp_path: Path) -> None:
    with play(folder_of("C06") / "script.json", tmp_path) as played:
        heard = await heard_of(played, WatchLimits(decode_stall_s=3))
        assert played.wait_for_post(CHAT)["closed_early"] is True
    edits = 0 if heard.finished is None else 1
    assert {"outcome": heard.outcome, "edits": edits} == expected_of("C06")


async def test_c08_tool_call_fragments_become_two_calls(tmp_path: Path) -> None:
    with play(folder_of("C08") / "script.json", tmp_path) as played:
        heard = await heard_of(played)
    assert [json.loads(line) for line in heard.text.splitlines()] == expected_of("C08")
    assert heard.outcome == "complete"


async def test_c09_an_endless_repetition_is_cut_before_half_was_sent(tmp_path: Path) -> None:
    with play(folder_of("C09") / "script.json", tmp_path) as played:
        heard = await heard_of(played)
        seen = played.wait_for_post(CHAT)
    edits = 0 if heard.finished is None else 1
    found = {"outcome": heard.outcome, "edits": edits, "closed_early": seen["closed_early"]}
    assert found == expected_of("C09")
    assert heard.text.count("cache[name]") < 750


async def test_the_plain_dialect_says_what_it_cannot_do(tmp_path: Path) -> None:
    with play(folder_of("C04") / "script.json", tmp_path) as played:
        server = OpenAIServer(Transport(played.url))
        facts = await server.facts()
        with pytest.raises(ServerError, match="cannot count tokens"):
            await server.tokenize("x", special=False)
        with pytest.raises(ServerError, match="cannot show the exact prompt"):
            await server.render(())
        await server.aclose()
    assert (facts.dialect, facts.model, facts.context_tokens) == ("openai", "small-coder", 8192)
    assert any("token ids" in sentence for sentence in facts.missing)


async def test_a_model_the_server_does_not_have_is_named(tmp_path: Path) -> None:
    with play(folder_of("C04") / "script.json", tmp_path) as played:
        server = OpenAIServer(Transport(played.url, model="big-coder"))
        with pytest.raises(ServerError, match="does not know the model big-coder; it offers small-coder") as caught:
            await server.facts()
        await server.aclose()
    assert (caught.value.label, caught.value.is_final) == ("model_mismatch", True)
