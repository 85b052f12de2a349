"""What fits a model is told by its name and by the real context of one slot."""

import pytest

from cockpit.roles.profile import profile_for


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", True),
        ("QwQ-32B", True),
        ("DeepSeek-R1-Distill-Qwen-14B", True),
        ("Qwen3-Coder-30B-A3B", False),
        ("Qwen3-4B-Instruct-2507", False),
        ("Qwen2.5-Coder-7B-Instruct", False),
        ("", False),
    ],
)
def test_thinking_models_are_known_by_name(model: str, thinks: bool) -> None:
    profile = profile_for(model, 32_768)
    assert (profile.name == "thinking", profile.thought_tags == ("<think>", "</think>")) == (thinks, thinks)


@pytest.mark.parametrize(
    ("context", "tokens"), [(2_048, 1_269), (4_096, 2_500), (8_191, 2_500), (8_192, 4_096), (32_768, 16_384)]
)
def test_the_prompt_leaves_room_for_a_complete_file(context: int, tokens: int) -> None:
    assert profile_for("any", context).prompt_tokens == tokens


def test_a_small_context_is_led_and_shown_one_file() -> None:
    small, large = profile_for("any", 4_096), profile_for("any", 8_192)
    assert (small.leads, small.shown_files) == (True, 1)
    assert (large.leads, large.shown_files) == (False, 5)
    assert small.digest_chars < large.digest_chars


def test_a_model_that_thinks_is_never_led_for_its_answer_begins_with_a_thought() -> None:
    assert not profile_for("qwen3-1.7b", 4_096).leads


def test_a_server_that_does_not_tell_its_context_counts_as_eight_thousand() -> None:
    assert profile_for("any", None) == profile_for("any", 8_192)
