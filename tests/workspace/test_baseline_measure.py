from collections.abc import Mapping
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, probe
from cockpit.domain.testing import Baseline, CaseStatus, compare
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.baseline import measure_baseline
from cockpit.workspace.environment import Environment
from cockpit.workspace.testplan import TestPlan, plan_tests
from cockpit.workspace.testrun import run_tests
from cockpit.workspace.worktree import add_worktree
from tests.gitkit import Task, build_case, git, make_repo, make_task

COUNTED = """
from pathlib import Path

STATE = Path({state!r})


def test_counted():
    runs = int(STATE.read_text()) if STATE.exists() else 0
    STATE.write_text(str(runs + 1))
    assert runs % 2 == {remainder}


def test_steady():
    assert not Path("left-behind").exists()
    Path("left-behind").touch()
"""


def task_with(tmp_path: Path, files: Mapping[str, str | bytes]) -> Task:
    return make_task(tmp_path, make_repo(tmp_path / "source", files))


async def measure(
    tmp_path: Path, task: Task, environment: Environment, plan: TestPlan | None = None, level: Level = Level.PLAIN
) -> tuple[Baseline, bool]:
    return await measure_baseline(
        plan or plan_tests(task.worktree, "pytest", environment), environment, repo_git=task.repo_git,
        tree=task.base.tree, envs=tmp_path / "envs", worktrees=tmp_path / "worktrees", level=level,
        settings=SandboxSettings.model_validate({}), wall_s=120, log=tmp_path / "logs" / "baseline.log",
    )  # fmt: skip


def remembered(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "envs").glob("*/baselines/*"))


async def test_two_runs_on_fresh_checkouts_find_the_flaky_test(tmp_path: Path, environment: Environment) -> None:
    text = COUNTED.format(state=str(tmp_path / "runs"), remainder=0)
    task = task_with(tmp_path, {"test_a.py": text})
    baseline, was_remembered = await measure(tmp_path, task, environment)
    assert not was_remembered
    assert baseline.flaky == {"test_a.py::test_counted"}
    assert baseline.passing == {"test_a.py::test_steady"}
    assert not list((tmp_path / "worktrees").iterdir())
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["baseline-2.log", "baseline.log"]
    assert git(task.worktree, "status", "--porcelain") == ""


async def test_f09_a_flaky_test_is_not_blamed_on_the_patch(tmp_path: Path, environment: Environment) -> None:
    """By pytest's ids; the case names unittest's."""
    build_case("test_runs", "F09", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    baseline, _ = await measure(tmp_path, task, environment)
    git(task.worktree, "apply", str(tmp_path / "case" / "fix.patch"))
    git(task.worktree, "add", "-A")
    tree = git(task.worktree, "write-tree")
    reports = []
    for number in range(2):
        add_worktree(task.repo_git, tmp_path / f"head-{number}", tree)
        report = await run_tests(
            plan_tests(tmp_path / f"head-{number}", "pytest", environment), environment, repo_git=task.repo_git,
            checkout=tmp_path / f"head-{number}", tree=tree, level=Level.PLAIN,
            settings=SandboxSettings.model_validate({}), wall_s=120, log=tmp_path / "logs" / f"head-{number}.log",
        )  # fmt: skip
        reports.append(report)
    found = compare(baseline, *reports)
    assert found.flaky == ("tests/test_tick.py::TickTest::test_rate",)
    assert (found.regressed, found.flipped, found.missing) == ((), (), ())


async def test_the_answer_is_remembered_for_the_same_tree_command_and_level(
    tmp_path: Path, environment: Environment
) -> None:
    task = task_with(tmp_path, {"test_größe.py": "def test_1(): assert 'ü' == chr(0xD800)\n"})
    first, was_remembered = await measure(tmp_path, task, environment)
    again, is_remembered = await measure(tmp_path, task, environment)
    assert (was_remembered, is_remembered) == (False, True)
    assert again.first.results == first.first.results == {"test_größe.py::test_1": CaseStatus.FAILED}
    assert again.second.origins == first.second.origins
    assert (again.first.tail, again.first.log) == (first.first.tail, "")
    other = plan_tests(task.worktree, "MODE=x pytest", environment)
    assert not (await measure(tmp_path, task, environment, other))[1]
    assert len(remembered(tmp_path)) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\xfe", b'{"first": {}}', b"null"])
async def test_a_damaged_memory_is_measured_again(tmp_path: Path, environment: Environment, damage: bytes) -> None:
    task = task_with(tmp_path, {"check.py": "print('fine')\n"})
    plan = plan_tests(task.worktree, "python check.py", environment)
    await measure(tmp_path, task, environment, plan)
    remembered(tmp_path)[0].write_bytes(damage)
    baseline, is_remembered = await measure(tmp_path, task, environment, plan)
    assert not is_remembered
    assert baseline.first.exit_code == 0
    assert (await measure(tmp_path, task, environment, plan))[1]


async def test_a_problem_stands_for_both_runs_and_is_not_remembered(tmp_path: Path, environment: Environment) -> None:
    task = task_with(tmp_path, {"conftest.py": "import nowhere\n", "test_a.py": "def test_1(): pass\n"})
    baseline, _ = await measure(tmp_path, task, environment)
    assert "nowhere" in baseline.first.problem
    assert baseline.second is baseline.first
    assert remembered(tmp_path) == []
    assert not (tmp_path / "logs" / "baseline-2.log").exists()


async def test_file_names_that_are_no_text_are_remembered_too(tmp_path: Path, environment: Environment) -> None:
    text = "def test_1(): open(b'out-\\xff', 'w').close()\n"
    task = task_with(tmp_path, {"test_a.py": text, "data-\udcff.txt": "x"})
    baseline, _ = await measure(tmp_path, task, environment)
    assert baseline.first.problem == ""
    assert baseline.first.written == ("out-\udcff",)
    again, is_remembered = await measure(tmp_path, task, environment)
    assert is_remembered
    assert (again.ids, again.first.written) == (baseline.ids, baseline.first.written)


async def test_without_an_environment_the_memory_lies_under_none(tmp_path: Path) -> None:
    nothing = Environment("none", None, None)
    task = task_with(tmp_path, {"Makefile": "test:\n\ttrue\n"})
    plan = TestPlan(("true",), plan_tests(task.worktree, "true", nothing).runner, "", "true")
    baseline, _ = await measure(tmp_path, task, nothing, plan, probe().level)
    assert (baseline.first.exit_code, baseline.ids) == (0, frozenset())
    assert [path.parent.parent.name for path in remembered(tmp_path)] == ["none"]
