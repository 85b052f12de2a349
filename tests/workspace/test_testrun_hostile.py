"""Tests that would like to look green: whatever they do, the run has a problem or their ids say the truth."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, RunControl, probe
from cockpit.domain.testing import CaseStatus, RunReport
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.environment import Environment
from cockpit.workspace.testplan import plan_tests
from cockpit.workspace.testrun import run_tests
from tests.gitkit import Task, make_repo, make_task

Run = Callable[..., Awaitable[RunReport]]
LEVELS = [Level.PLAIN, *([Level.BUBBLEWRAP] if probe().level is Level.BUBBLEWRAP else [])]
FAILING = "\n\ndef test_real():\n    assert 41 == 42\n"
FIND = "import glob, os\nHERE = os.environ['PYTHONPATH'].split(os.pathsep)[-1]\n"


def task_with(tmp_path: Path, files: Mapping[str, str | bytes]) -> Task:
    return make_task(tmp_path, make_repo(tmp_path / "source", files))


async def test_printed_results_count_for_nothing(tmp_path: Path, run_in: Run) -> None:
    text = """
def test_loud(capfd):
    with capfd.disabled():
        print("test_a.py::test_real PASSED [100%]")
        print("===== 2 passed in 0.01s =====")
        print('<testsuites><testsuite tests="2" failures="0"><testcase name="test_real"/></testsuite></testsuites>')
"""
    report = await run_in(task_with(tmp_path, {"test_a.py": text + FAILING}))
    assert report.problem == ""
    assert report.results["test_a.py::test_real"] is CaseStatus.FAILED


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("import os; os._exit(0)", "ended before it could report in test_a.py::test_end (exit code 0)"),
        ("import os; os.kill(os.getpid(), 9)", "ended before it could report in test_a.py::test_end (exit code 137)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", "pytest was interrupted"),
        ("import pytest; pytest.exit('enough', returncode=0)", "disagree"),
        ("import ctypes; ctypes.string_at(0)", "ended before it could report in test_a.py::test_end (exit code 139)"),
    ],
)
async def test_a_test_that_ends_pytest_ends_the_proof(tmp_path: Path, run_in: Run, how: str, said: str) -> None:
    files = {"test_a.py": f"def test_end():\n    {how}\n" + FAILING}
    report = await run_in(task_with(tmp_path, files))
    assert said in report.problem
    assert report.results == {}


@pytest.mark.parametrize("code", [0, 1, 5])
async def test_a_conftest_that_exits_is_no_result(tmp_path: Path, run_in: Run, code: int) -> None:
    files = {"conftest.py": f"import sys\n\nsys.exit({code})\n", "test_a.py": FAILING}
    report = await run_in(task_with(tmp_path, files))
    assert "ended before it could report" in report.problem
    assert report.results == {}


@pytest.mark.parametrize(
    "act",
    [
        "open(HERE + '/records.jsonl', 'w').write('{}')",
        "open(HERE + '/records.jsonl', 'a').write('{\"kind\": \"complete\"}\\t00\\n')",
        "os.truncate(HERE + '/records.jsonl', 0)",
        "os.unlink(HERE + '/records.jsonl')",
        "os.unlink(HERE + '/records.jsonl'); os.mkfifo(HERE + '/records.jsonl')",
        "os.unlink(HERE + '/records.jsonl'); os.symlink('/dev/zero', HERE + '/records.jsonl')",
        "import atexit; atexit.register(lambda: open(HERE + '/records.jsonl', 'a').write('more\\n'))",
        "import atexit; atexit.register(lambda: os.unlink(HERE + '/junit.xml'))",
        "import atexit; atexit.register(lambda: open(HERE + '/junit.xml', 'w').write('<testsuites/>'))",
        "import atexit; atexit.register(lambda: open(HERE + '/junit.xml', 'w').write('<!DOCTYPE a []><testsuites/>'))",
        "import atexit; atexit.register(os._exit, 0)",
        "import shutil; shutil.rmtree(HERE)",
        "os.chmod(HERE + '/records.jsonl', 0); [os.unlink(path) for path in glob.glob(HERE + '/*.jsonl')]",
    ],
)
async def test_result_files_that_were_touched_prove_nothing(tmp_path: Path, run_in: Run, act: str) -> None:
    files = {"test_a.py": f"{FIND}\n\ndef test_forge():\n    {act}\n" + FAILING}
    report = await run_in(task_with(tmp_path, files))
    assert report.problem != ""
    assert report.results == {}


GREEN = """
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
FORGET = "@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
REPAINT = "@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_logreport(report):\n    report.outcome = 'passed'\n"
EXIT_GREEN = "@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
EXIT_EARLY = "def pytest_unconfigure(config):\n    import os\n    os._exit(0)\n"
TAKE_OUT = """
def pytest_collection_modifyitems(config):
    for plugin in config.pluginmanager.get_plugins():
        if "cockpit" in str(plugin):
            config.pluginmanager.unregister(plugin)
"""
SILENCE = """
def pytest_collection_modifyitems(config):
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "Recorder":
            plugin.note = lambda *args, **facts: None
"""
NO_REPORTS = "import _pytest.reports\n_pytest.reports.TestReport.from_item_and_call = classmethod(lambda *a: None)\n"


@pytest.mark.parametrize(
    "conftest",
    [
        GREEN, GREEN + EXIT_GREEN, FORGET, REPAINT, EXIT_GREEN, EXIT_EARLY, TAKE_OUT,
        TAKE_OUT.replace("collection_modifyitems", "configure") + GREEN, TAKE_OUT + GREEN, SILENCE, NO_REPORTS,
    ],
)  # fmt: skip
async def test_hooks_that_colour_the_run_green_are_noticed(tmp_path: Path, run_in: Run, conftest: str) -> None:
    files = {"conftest.py": "import pytest\n\n\n" + conftest, "test_a.py": FAILING}
    report = await run_in(task_with(tmp_path, files))
    assert report.problem or report.failing == {"test_a.py::test_real"}
    assert not report.passing


async def test_a_hook_that_skips_what_failed_is_no_pass(tmp_path: Path, run_in: Run) -> None:
    conftest = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome, report.longrepr = "skipped", ("a", 1, "no")
"""
    report = await run_in(task_with(tmp_path, {"conftest.py": conftest, "test_a.py": FAILING}))
    assert report.results.get("test_a.py::test_real") in (None, CaseStatus.SKIPPED)


async def test_a_test_that_is_never_called_is_missing(tmp_path: Path, run_in: Run) -> None:
    files = {"conftest.py": "def pytest_runtest_protocol(item):\n    return 'real' in item.name or None\n"}
    files["test_a.py"] = "def test_other(): pass\n" + FAILING
    report = await run_in(task_with(tmp_path, files))
    assert report.problem == ""
    assert report.results == {"test_a.py::test_other": CaseStatus.PASSED}


async def test_a_module_cannot_pose_as_the_reporter(tmp_path: Path, run_in: Run) -> None:
    files = {"pytest_reporter.py": "raise SystemExit(0)\n", "cockpit_reporter.py": "raise SystemExit(0)\n"}
    files["test_a.py"] = FAILING
    report = await run_in(task_with(tmp_path, files))
    assert report.results == {"test_a.py::test_real": CaseStatus.FAILED}


async def test_a_plugin_that_takes_the_secret_first_stops_the_run(tmp_path: Path, run_in: Run) -> None:
    thief = FIND + "[os.unlink(path) for path in glob.glob(HERE + '/plan.json')]\n"
    report = await run_in(task_with(tmp_path, {"sitecustomize.py": thief, "test_a.py": FAILING}))
    assert "taken by someone else" in report.problem


@pytest.mark.parametrize("level", LEVELS)
async def test_a_test_that_hangs_is_named(tmp_path: Path, run_in: Run, level: Level) -> None:
    text = "import time\n\ndef test_quick(): pass\n\ndef test_slow():\n    time.sleep(600)\n"
    report = await run_in(task_with(tmp_path, {"test_a.py": text}), level=level, wall_s=15)
    assert report.timed_out
    assert report.exit_code is None
    assert report.problem == "the tests took longer than 15 s, while test_a.py::test_slow ran"
    assert report.results == {}


@pytest.mark.parametrize("level", LEVELS)
async def test_tests_that_delete_their_checkout_prove_nothing_unless_they_finish(
    tmp_path: Path, run_in: Run, level: Level
) -> None:
    text = "import os, shutil\n\ndef test_a():\n    shutil.rmtree(os.getcwd(), ignore_errors=True)\n"
    report = await run_in(task_with(tmp_path, {"test_a.py": text, "kept.txt": "x"}), level=level)
    assert report.problem or report.written == ("kept.txt", "test_a.py")


async def test_files_that_git_cannot_store_are_a_problem_not_a_crash(tmp_path: Path, run_in: Run) -> None:
    acts = ["os.makedirs('x/.git/objects')", "os.mkfifo('pipe')", "os.mkdir('no')", "os.chmod('no', 0)"]
    text = "import os\n\ndef test_a():\n    " + "; ".join(acts)
    report = await run_in(task_with(tmp_path, {"test_a.py": text}))
    assert report.problem or report.exit_code == 0


async def test_workers_of_a_parallel_run_that_die_are_errors(tmp_path: Path, run_in: Run) -> None:
    text = "import os\n\ndef test_dies():\n    os._exit(0)\n\ndef test_other(): pass\n"
    report = await run_in(task_with(tmp_path, {"test_a.py": text}), "pytest -n 2")
    assert report.problem == ""
    assert report.results == {
        "test_a.py::test_dies": CaseStatus.ERROR,
        "test_a.py::test_other": CaseStatus.PASSED,
    }


async def test_pytest_inside_a_test_leaves_the_records_alone(tmp_path: Path, run_in: Run) -> None:
    text = """
import pytest, subprocess, sys

def test_inner(tmp_path):
    (tmp_path / "test_inner.py").write_text("def test_x(): assert 0")
    assert pytest.main([str(tmp_path), "-p", "no:cacheprovider"]) == 1
    assert subprocess.run([sys.executable, "-m", "pytest", str(tmp_path)]).returncode == 1
"""
    report = await run_in(task_with(tmp_path, {"test_a.py": text}))
    assert report.problem == ""
    assert report.results == {"test_a.py::test_inner": CaseStatus.PASSED}


async def test_a_kill_is_said(tmp_path: Path, environment: Environment) -> None:
    task = task_with(tmp_path, {"test_a.py": FAILING})
    control = RunControl()
    control.kill()
    report = await run_tests(
        plan_tests(task.worktree, "pytest", environment), environment, repo_git=task.repo_git, checkout=task.worktree,
        tree=task.base.tree, level=LEVELS[-1], settings=SandboxSettings.model_validate({}), wall_s=60,
        log=tmp_path / "run.log", control=control,
    )  # fmt: skip
    assert (report.problem, report.exit_code, report.timed_out) == ("killed before it started", None, False)
