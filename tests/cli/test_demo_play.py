"""The demo with a real engine and recorded answers: three bugs, three proven patches, one closing table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.cli.demo import Outcome, _print, play
from cockpit.cli.demo_repository import BUGS, demo_files
from cockpit.cli.serving import Serving
from cockpit.client.client import Client
from cockpit.client.engine_process import stop_engine
from cockpit.journal.layout import Home
from tests.cli.test_demo_repository import FIXES
from tests.engine.house import record_answers
from tests.engine.project import whole

pytestmark = pytest.mark.e2e


def recorded(folder: Path, name: str, *, is_right: bool) -> str:
    """Record what a model could answer about one bug."""
    path = f"reading_room/{name}.py"
    before, (wrong, right) = demo_files()[path].decode(), FIXES[name]
    answers = [whole(path, before.replace(wrong, right) if is_right else before)] * 6
    record_answers(folder / name, answers, attempt=2)
    return record_answers(folder / name, answers)


@pytest.fixture
def home(home_root: Path) -> Iterator[Home]:
    made = Home(home_root)
    yield made
    stop_engine(made, 60.0)


def test_each_bug_is_fixed_by_itself_and_proven(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = {bug.name: recorded(tmp_path, bug.name, is_right=bug.name != "titles") for bug in BUGS}
    outcome: Outcome = play(Client(home), Serving(), models)
    by_bug = dict(zip((bug.name for bug in BUGS), outcome.receipts, strict=True))
    assert [by_bug[bug.name].grade for bug in BUGS] == ["proven", "proven", ""]
    assert by_bug["titles"].label == "edit_noop"
    assert outcome.proven == 2
    for bug in BUGS[:2]:
        assert by_bug[bug.name].rounds[-1].tests[-1].flipped == (bug.test,)
    _print(outcome)
    shown = capsys.readouterr()
    assert "2 of 3 patches await review, proven" in shown.out
    assert "titles" in shown.err  # the progress lines name the bug
