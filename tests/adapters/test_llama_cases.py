"""The same failures in llama.cpp's own dialect, and more of their kind.

C08 has no twin: ``/completion`` sends text, and no tool calls that could be in fragments.
"""

from pathlib import Path

import pytest

from cockpit.adapters.llama import LlamaServer, Transport
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import Finish
from cockpit.domain.watchdog import WatchLimits
from tests.adapters.played import TWINS, USUAL, Heard, Played, ask, play

PATH = "/completion"


async def heard_of(played: Played, limits: WatchLimits = USUAL) -> Heard:
    server = LlamaServer(Transport(played.url))
    try:
        return await ask(server, limits)
    finally:
        await server.aclose()


@pytest.mark.parametrize(
    ("script", "outcome"), [("C02_400", "context_overflow"), ("C02_401", "auth_error"), ("bad_request", "error")]
)
async def test_a_refusal_is_final_and_is_asked_once(script: str, outcome: str, tmp_path: Path) -> None:
    with play(TWINS / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
        played.wait_for_post(PATH)
        assert len(played.posts(PATH)) == 1
    assert heard.outcome == outcome
    assert heard.error
    assert heard.error.is_final


async def test_an_overflow_names_both_numbers(tmp_path: Path) -> None:
    with play(TWINS / "C02_400.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.error
    assert heard.error.message == "the prompt has 9311 tokens, a slot of the server holds 8192"


@pytest.mark.parametrize("script", ["server_error", "busy", "loading"])
async def test_trouble_that_may_pass_is_not_final_and_is_asked_once_all_the_same(script: str, tmp_path: Path) -> None:
    with play(TWINS / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
        played.wait_for_post(PATH)
        assert len(played.posts(PATH)) == 1
    assert heard.error
    assert (heard.error.label, heard.error.is_final) == ("server_unavailable", False)


async def test_a_loading_model_is_called_by_its_name(tmp_path: Path) -> None:
    with play(TWINS / "loading.json", tmp_path) as played:
        server = LlamaServer(Transport(played.url))
        with pytest.raises(ServerError, match="the model is loading"):
            await server.facts()
        await server.aclose()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("C03_data", "Context size has been exceeded."),
        ("C03_field", "Context size has been exceeded."),
        ("error_text", "slot crashed"),
        ("cut_off", "in the middle of the answer"),
        ("cut_in_json", "in the middle of the answer"),
        ("done_without_stop", "in the middle of the answer"),
    ],
)
async def test_a_stream_that_breaks_is_no_answer(script: str, said: str, tmp_path: Path) -> None:
    with play(TWINS / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.finished is None
    assert heard.outcome == "error"
    assert heard.error
    assert heard.error.message.endswith(said)
    assert "SEARCH" in heard.text


async def test_an_overflow_inside_the_stream_keeps_its_name(tmp_path: Path) -> None:
    with play(TWINS / "error_overflow.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.outcome == "context_overflow"


async def test_an_awkward_stream_is_read_exactly_and_every_token_is_known(tmp_path: Path) -> None:
    with play(TWINS / "C04.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.finished
    assert heard.text == "naïve ✅ 价格: 5\u2028done\x85 👩\u200d💻 end"
    assert heard.finished.finish is Finish.STOP
    assert heard.finished.usage.generated_tokens == 21
    assert heard.ids == (901, 902, 901, 902, 901, 902, 121)


async def test_a_stall_is_found_although_keep_alives_go_on(tmp_path: Path) -> None:
    with play(TWINS / "C06.json", tmp_path) as played:
        heard = await heard_of(played, WatchLimits(decode_stall_s=3))
        assert played.wait_for_post(PATH)["closed_early"] is True
    assert (heard.outcome, heard.finished) == ("stalled", None)


async def test_a_long_prefill_with_keep_alives_is_no_stall(tmp_path: Path) -> None:
    with play(TWINS / "C06_prefill.json", tmp_path) as played:
        heard = await heard_of(played, WatchLimits(decode_stall_s=2))
    assert (heard.outcome, heard.text) == ("complete", "ok")


async def test_an_endless_repetition_is_cut_before_half_was_sent(tmp_path: Path) -> None:
    with play(TWINS / "C09.json", tmp_path) as played:
        heard = await heard_of(played)
        assert played.wait_for_post(PATH)["closed_early"] is True
    assert (heard.outcome, heard.finished) == ("repetition", None)
    assert heard.text.count("cache[name]") < 750


@pytest.mark.parametrize(
    ("script", "finish", "is_cut"),
    [
        ("context_full", Finish.LENGTH, False),
        ("prompt_cut", Finish.STOP, True),
        ("prompt_shifted", Finish.STOP, True),
    ],
)
async def test_a_cut_prompt_is_told_from_a_full_context(
    script: str, finish: Finish, is_cut: bool, tmp_path: Path
) -> None:
    with play(TWINS / f"{script}.json", tmp_path) as played:
        heard = await heard_of(played)
    assert heard.finished
    assert (heard.finished.finish, heard.finished.usage.truncated) == (finish, is_cut)


async def test_a_server_that_is_away_is_a_sentence() -> None:
    server = LlamaServer(Transport("127.0.0.1:1"))
    with pytest.raises(ServerError, match=r"no model server answers at http://127\.0\.0\.1:1") as caught:
        await server.facts()
    await server.aclose()
    assert caught.value.is_final is False


async def test_facts_name_the_flag_for_what_is_missing(tmp_path: Path) -> None:
    with play(TWINS / "C04.json", tmp_path) as played:
        server = LlamaServer(Transport(played.url))
        facts = await server.facts()
        await server.aclose()
    assert (facts.model, facts.build, facts.context_tokens, facts.slots) == ("small-coder.gguf", "b1-twin", 8192, 1)
    assert facts.missing == ("live token rates: start the server with --metrics",)
    assert facts.template_sha256
