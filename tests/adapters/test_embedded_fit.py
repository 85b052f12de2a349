"""The embedded server is made as large as the machine allows, and no larger."""

import json
from pathlib import Path

import pytest

from cockpit.adapters.embedded import EmbeddedOptions, context_mib, fit, read_options, write_options
from cockpit.domain.errors import HoldError, NotFoundError
from cockpit.settings.schema import EmbeddedSettings

AUTO = EmbeddedSettings.model_validate({})


def test_a_small_box_gets_two_slots_of_4096_tokens() -> None:
    sizes = fit(AUTO, cores=2, free_mib=8000, model_mib=1066)
    assert (sizes.slots, sizes.context_tokens, sizes.threads, sizes.batch_tokens) == (2, 4096, 2, 128)


def test_many_cores_and_much_memory_get_more_context() -> None:
    assert fit(AUTO, cores=16, free_mib=64_000, model_mib=1066).context_tokens == 8192


@pytest.mark.parametrize(("free_mib", "slots", "context"), [(1900, 2, 4096), (1800, 1, 4096), (1650, 1, 2048)])
def test_less_memory_gets_fewer_slots_then_less_context(free_mib: int, slots: int, context: int) -> None:
    sizes = fit(AUTO, cores=2, free_mib=free_mib, model_mib=1066)
    assert (sizes.slots, sizes.context_tokens) == (slots, context)


def test_what_is_set_is_taken_as_it_is() -> None:
    wishes = EmbeddedSettings.model_validate(
        {"context_tokens": 6000, "slots": 3, "threads": 5, "batch_tokens": 64, "speculation": "ngram-mod"}
    )
    sizes = fit(wishes, cores=2, free_mib=32_000, model_mib=1066)
    assert (sizes.context_tokens, sizes.slots, sizes.threads) == (6000, 3, 5)
    assert (sizes.batch_tokens, sizes.speculation) == (64, "ngram-mod")


def test_the_cache_takes_a_quarter_of_what_is_left_at_most() -> None:
    small = fit(AUTO, cores=2, free_mib=2400, model_mib=1066)
    left = 2400 - 1066 - 512 - context_mib(8192, 1066)
    assert small.cache_mib == left // 4
    assert fit(AUTO, cores=2, free_mib=64_000, model_mib=1066).cache_mib == 4096


def test_a_model_that_does_not_fit_is_refused_with_both_figures() -> None:
    with pytest.raises(HoldError, match=r"needs \d+ MiB of memory, 900 MiB are free"):
        fit(AUTO, cores=2, free_mib=900, model_mib=1066)


def test_options_come_back_as_they_were_left(tmp_path: Path) -> None:
    options = EmbeddedOptions(Path("/m.gguf"), 0, tmp_path / "key", fit(AUTO, cores=2, free_mib=8000, model_mib=1066))
    write_options(tmp_path, options)
    assert read_options(tmp_path) == options


@pytest.mark.parametrize("content", [None, "", "[]", json.dumps({"model": "m"})])
def test_options_that_are_not_there_are_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "server.options.json").write_text(content)
    with pytest.raises(NotFoundError, match="holds no options"):
        read_options(tmp_path)
