"""What the embedded server needs, told from what is installed and what is assembled."""

from pathlib import Path

import pytest

from cockpit.adapters.model_parts import DEMO
from cockpit.cli.serving import missing_extras


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("COCKPIT_MODEL_FILE", raising=False)


def test_both_extras_are_named_where_neither_is_installed() -> None:
    assert missing_extras() == ("the extra 'local'", "the extra 'demo-model'")


def test_the_parts_may_be_removed_once_the_model_is_assembled(tmp_path: Path) -> None:
    model = tmp_path / "cockpit" / "models" / DEMO.file_name
    model.parent.mkdir(parents=True)
    model.write_bytes(b"GGUF")
    assert missing_extras() == ("the extra 'local'",)


def test_a_model_file_of_ones_own_needs_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COCKPIT_MODEL_FILE", "model.gguf")
    assert missing_extras() == ("the extra 'local'",)
