"""Engines for tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home whose engine is started by the test and is gone afterwards."""
    made = House(tmp_path / "home")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def shared_envs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments take seconds to build: one folder serves all tests of a session."""
    return tmp_path_factory.mktemp("envs")
