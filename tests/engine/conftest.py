"""Engines for tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.house import House


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all tests of a session: its environments and baselines take seconds to build, tasks are apart."""
    return tmp_path_factory.mktemp("engine") / "home"


@pytest.fixture
def house(root: Path) -> Iterator[House]:
    """A home whose engine is started by the test and is gone afterwards."""
    made = House(root)
    yield made
    made.stop()
