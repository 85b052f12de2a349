"""One home, one engine at a time and the one real model server for all tests that need a real model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.adapters.server_process import ServerRecord
from cockpit.cli.demo_repository import demo_files
from tests.gitkit import make_repo
from tests.model.judge import NEVER, NEVER_TEST, Judge


@pytest.fixture(scope="session")
def judge_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all: its environment takes longer to build than a small model to answer."""
    return tmp_path_factory.mktemp("judge") / "home"


@pytest.fixture
def judge(judge_root: Path, model_server: ServerRecord) -> Iterator[Judge]:
    """A home whose engine asks the real server; the engine is gone afterwards."""
    made = Judge.of(judge_root, model_server)
    yield made
    made.stop()
    made.cockpit("engine", "stop")


@pytest.fixture(scope="session")
def reading_room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the demo's repository with one more test, which nothing can satisfy."""
    return make_repo(tmp_path_factory.mktemp("judge-repo") / "reading-room", {**demo_files(), NEVER: NEVER_TEST})
