"""The demo as a user runs it, with a real model; it stands first, on a home that does not exist yet."""

import json
from pathlib import Path
from typing import Any

import pytest

from cockpit.adapters.server_process import ServerRecord
from tests.gitkit import git
from tests.model.judge import Judge, growths

pytestmark = [pytest.mark.model, pytest.mark.e2e, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def played(judge_root: Path, model_server: ServerRecord) -> dict[str, Any]:
    """Play the demo once; it finds the server that runs already, for two would starve each other."""
    done = Judge.of(judge_root, model_server).cockpit("demo", "--headless", "--json")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def in_review(played: dict[str, Any]) -> list[dict[str, Any]]:
    return [task for task in played["tasks"] if (task["state"], task["grade"]) == ("review", "proven")]


def test_two_of_three_bugs_are_fixed_and_proven(
    played: dict[str, Any], judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = in_review(played)
    assert played["proven"] == len(ready) >= 2
    for task in ready:
        last = task["rounds"][-1]
        patch = judge.home.task(task["task"]).round(last["attempt"], last["number"]).patch
        assert patch.read_bytes().startswith(b"diff --git ")
        assert last["files"]
        assert [row for row in last["tests"] if row["which"] == "full" and row["flipped"]], last["tests"]
    columns = ("setup_s", "baseline_s", "model_s", "tests_s", "other_s", "waited_s")
    totals = {column: sum(task["timing"][column] for task in played["tasks"]) for column in columns}
    spent = ", ".join(f"{column.removesuffix('_s')} {seconds:.1f} s" for column, seconds in totals.items())
    with capsys.disabled():
        print(f"\n{len(ready)} of 3 proven in {played['elapsed_s']:.0f} s: {spent}; "  # noqa: T201
              f"everything else is {played['other_share']:.1%} of model plus tests")  # fmt: skip


def test_a_patch_is_approved_into_a_commit(played: dict[str, Any], judge: Judge) -> None:
    task = in_review(played)[0]
    source, before = Path(task["source"]), git(Path(task["source"]), "rev-parse", "HEAD")
    done = judge.cockpit("approve", task["task"])
    assert done.returncode == 0, done.stderr
    branch = f"cockpit/{task['task']}"
    assert git(source, "rev-list", "--count", f"main..{branch}") == "1"
    changed = git(source, "diff", "--name-only", "main", branch).splitlines()
    assert changed == [path for path, _, _ in task["rounds"][-1]["files"]]
    assert task["task"] in git(source, "log", "-1", "--format=%(trailers)", branch)
    assert git(source, "rev-parse", "HEAD") == before
    assert git(source, "status", "--porcelain") == ""


def test_later_rounds_of_the_demo_only_grow(played: dict[str, Any], judge: Judge) -> None:
    """Whether a round had a second one is the model's affair; the forced case is in ``test_tokens_real``."""
    for task in played["tasks"]:
        for growth in growths(judge, task["task"]):
            assert growth.sent[: len(growth.known)] == growth.known
            assert growth.cached_share >= 0.85
