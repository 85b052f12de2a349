"""Settings come from the file, then the environment, then flags; every mistake names its place."""

import os
from pathlib import Path
from typing import Any

import pytest

from cockpit.domain.errors import UsageError
from cockpit.domain.outcomes import Limits
from cockpit.settings.load import api_key_of, load_settings
from cockpit.settings.paths import config_file, home_dir, model_dir
from cockpit.settings.schema import Settings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("COCKPIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def wrong(path: Path, flags: dict[str, dict[str, Any]] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        load_settings(flags, path)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value.message


def test_without_a_file_everything_has_its_default(path: Path) -> None:
    assert load_settings(path=path) == Settings()


def test_the_file_yields_to_the_environment_and_that_to_flags(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("[budget]\nrounds = 2\nattempts = 3\nminutes = 5\n")
    monkeypatch.setenv("COCKPIT_BUDGET_ATTEMPTS", "4")
    monkeypatch.setenv("COCKPIT_BUDGET_MINUTES", "7.5")
    budget = load_settings({"budget": {"minutes": 9}}, path).budget
    assert (budget.rounds, budget.attempts, budget.minutes) == (2, 4, 9)


def test_the_short_names_of_the_server_win_over_the_long_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_SERVER_URL", "http://long")
    monkeypatch.setenv("COCKPIT_SERVER", "http://short")
    monkeypatch.setenv("COCKPIT_API_KEY", "secret")
    server = load_settings(path=path).server
    assert (server.url, server.api_key) == ("http://short", "secret")


def test_an_empty_short_name_is_as_good_as_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text('[server]\nurl = "http://file"\n')
    monkeypatch.setenv("COCKPIT_SERVER", "")
    assert load_settings(path=path).server.url == "http://file"


def test_a_folder_in_the_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir()
    assert wrong(path) == f"cannot read {path}: Is a directory"


def test_broken_toml_is_named_with_its_line(path: Path) -> None:
    path.write_text("[budget]\nrounds = = 2\n")
    assert wrong(path).startswith(f"{path} is not valid TOML: Invalid value (at line 2")


def test_bytes_that_are_no_text_are_not_valid_toml(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")
    assert wrong(path).startswith(f"{path} is not valid TOML: 'utf-8' codec")


def test_a_key_outside_a_table_is_named(path: Path) -> None:
    path.write_text("rounds = 2\n")
    assert wrong(path) == f"{path}: rounds stands outside a table"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[budget]\nrouns = 2\n", "setting budget.rouns: extra inputs are not permitted"),
        ("[bugdet]\nrounds = 2\n", "setting bugdet: extra inputs are not permitted"),
        ("[budget]\nrounds = 7\n", "setting budget.rounds: input should be less than or equal to 6"),
        ('[server]\ndialect = "klingon"\n', "setting server.dialect: input should be 'auto', 'llama' or 'openai'"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_wrong(path: Path, text: str, place: str) -> None:
    path.write_text(text)
    assert wrong(path).startswith(place)


def test_a_wrong_variable_and_a_wrong_flag_are_named_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong(path, {"engine": {"tasks_at_once": 0}}).startswith("setting engine.tasks_at_once: ")
    monkeypatch.setenv("COCKPIT_SANDBOX_MODE", "none")
    assert wrong(path).endswith("(got 'none')")


def test_a_key_is_never_repeated_in_an_error(path: Path) -> None:
    path.write_text("[server]\napi_key = 12345678\n")
    assert "12345678" not in wrong(path)


def test_a_key_is_the_setting_or_the_first_line_of_its_file(tmp_path: Path, path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("from file \nsecond line\n")
    both = {"server": {"api_key": "given", "api_key_file": str(key)}}
    assert api_key_of(load_settings(both, path)) == "given"
    assert api_key_of(load_settings({"server": {"api_key_file": str(key)}}, path)) == "from file"
    assert api_key_of(Settings()) == ""


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path, path: Path) -> None:
    settings = load_settings({"server": {"api_key_file": str(tmp_path / "none")}}, path)
    with pytest.raises(UsageError, match=r"cannot read the API key file .*none: No such file"):
        api_key_of(settings)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\n")
    settings = load_settings({"server": {"api_key_file": str(binary)}}, path)
    with pytest.raises(UsageError, match="binary is not text"):
        api_key_of(settings)


def test_an_api_key_is_not_shown_where_settings_are_printed(path: Path) -> None:
    assert "hush" not in repr(load_settings({"server": {"api_key": "hush"}}, path))


def test_limits_in_force_are_those_of_the_settings(path: Path) -> None:
    wished = {"limits": {"max_changed_lines": 5, "max_files": 1, "review_unproven": False}}
    expected = Limits(max_changed_lines=5, max_files=1, review_unproven=False)
    assert load_settings(wished, path).limits.in_force() == expected
    assert Settings().limits.in_force() == Limits()


def test_places_follow_the_xdg_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert home_dir() == tmp_path / "STATE" / "cockpit"
    assert config_file() == tmp_path / "CONFIG" / "cockpit" / "config.toml"
    assert model_dir() == tmp_path / "CACHE" / "cockpit" / "models"
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path / "elsewhere"))
    assert home_dir() == tmp_path / "elsewhere"
