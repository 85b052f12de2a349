"""A home per test, and a way to call the command line in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cockpit.cli.main import main

SETTINGS = ("COCKPIT_SERVER", "COCKPIT_SERVER_URL", "COCKPIT_API_KEY", "COCKPIT_MODEL_FILE")


@dataclass(frozen=True, slots=True)
class Called:
    """What a call came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever was printed
        """Standard output as JSON; raises when it is none."""
        return json.loads(self.out)


Call = Callable[..., Called]


@pytest.fixture
def home_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for a home, and settings that name nothing of this machine."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COCKPIT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "home"


@pytest.fixture
def call(home_root: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call ``cockpit`` with arguments."""

    def run(*argv: str) -> Called:
        capsys.readouterr()
        try:
            code = main(argv)
        except SystemExit as ended:  # argparse ends --help and --version itself
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return Called(code, out, err)

    return run
