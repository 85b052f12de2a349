import dataclasses
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, probe
from cockpit.domain.testing import Baseline, CaseStatus, ModuleOrigin, Runner, RunReport, compare
from cockpit.workspace.environment import Environment
from tests.gitkit import Task, build_case, git, make_repo, make_task, write

Run = Callable[..., Awaitable[RunReport]]
LEVELS = [Level.PLAIN, *([Level.BUBBLEWRAP] if probe().level is Level.BUBBLEWRAP else [])]


def task_with(tmp_path: Path, files: Mapping[str, str | bytes]) -> Task:
    return make_task(tmp_path, make_repo(tmp_path / "source", files))


def tree_of(task: Task) -> str:
    """Write what stands in a task's worktree as a tree of its repository."""
    git(task.worktree, "add", "-A", "-f")
    return git(task.worktree, "write-tree")


def patched(task: Task, patch: Path) -> str:
    git(task.worktree, "apply", str(patch))
    return tree_of(task)


def statuses(report: RunReport) -> dict[str, str]:
    assert report.problem == "", report.problem
    return {name.rpartition("::")[2]: str(status) for name, status in report.results.items()}


EVERY_STATUS = """
import unittest

import pytest


def test_passes():
    pass


def test_fails():
    assert 1 == 2


def test_errors(broken):
    pass


@pytest.fixture
def broken():
    raise RuntimeError


@pytest.fixture
def breaks_late():
    yield
    raise RuntimeError


def test_passes_then_breaks(breaks_late):
    pass


def test_fails_then_breaks(breaks_late):
    assert False


@pytest.mark.skip
def test_skipped():
    pass


def test_skips_itself():
    pytest.skip("not here")


@pytest.mark.xfail
def test_expected():
    assert False


def test_expects_itself():
    pytest.xfail("known")


@pytest.mark.xfail
def test_better_than_expected():
    pass


@pytest.mark.xfail(strict=True)
def test_strictly_expected():
    pass


@pytest.mark.xfail(raises=KeyError)
def test_other_reason():
    raise ValueError


class TestOld(unittest.TestCase):
    def test_old_fails(self):
        self.assertEqual(1, 2)

    def test_old_skips(self):
        self.skipTest("not here")

    @unittest.expectedFailure
    def test_old_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_old_unexpected(self):
        pass

    def test_old_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_old_skipped_part(self):
        with self.subTest():
            self.skipTest("one part")
"""


async def test_every_status_is_told_apart(tmp_path: Path, run_in: Run) -> None:
    report = await run_in(task_with(tmp_path, {"test_every.py": EVERY_STATUS}))
    assert statuses(report) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_errors": "error",
        "test_passes_then_breaks": "error",
        "test_fails_then_breaks": "error",
        "test_skipped": "skipped",
        "test_skips_itself": "skipped",
        "test_expected": "xfailed",
        "test_expects_itself": "xfailed",
        "test_better_than_expected": "xpassed",
        "test_strictly_expected": "failed",
        "test_other_reason": "failed",
        "test_old_fails": "failed",
        "test_old_skips": "skipped",
        "test_old_expected": "xfailed",
        "test_old_unexpected": "failed",
        "test_old_parts": "failed",
        "test_old_skipped_part": "passed",
    }
    assert report.exit_code == 1
    assert report.runner is Runner.PYTEST
    assert report.written == ()


async def test_one_broken_module_hides_no_other_test(tmp_path: Path, run_in: Run) -> None:
    files = {
        "tests/test_broken.py": "import nowhere\n\ndef test_x(): pass\n",
        "tests/test_syntax.py": "def test_y(:\n",
        "tests/test_absent.py": "import pytest\n\npytest.importorskip('nowhere')\n",
        "tests/test_fine.py": "def test_z(): pass\n",
    }
    report = await run_in(task_with(tmp_path, files))
    assert report.problem == ""
    assert {name: str(status) for name, status in report.results.items()} == {
        "tests/test_broken.py": "error",
        "tests/test_syntax.py": "error",
        "tests/test_absent.py": "skipped",
        "tests/test_fine.py::test_z": "passed",
    }


async def test_ids_with_odd_characters_and_equal_parameters_stay_apart(tmp_path: Path, run_in: Run) -> None:
    text = r"""
import pytest

ODD = ["[a]", "a::b", "line\nend", "tab\t", "größe", "\ud800", "\x00", "</testcase>&", "a/b.py"]

@pytest.mark.parametrize("value", ODD)
def test_odd(value): assert value != "</testcase>&"

@pytest.mark.parametrize("value", [1, 1, "1", True])
def test_same(value): pass
"""
    report = await run_in(task_with(tmp_path, {"größe [1]/test_odd.py": text}))
    assert report.problem == ""
    assert len(report.results) == 13
    assert [name for name in report.results if report.results[name] is CaseStatus.FAILED] == [
        "größe [1]/test_odd.py::test_odd[</testcase>&]"
    ]


async def test_ten_thousand_tests_are_counted(tmp_path: Path, run_in: Run) -> None:
    text = "import pytest\n\n@pytest.mark.parametrize('n', range(10000))\ndef test_n(n): assert n % 1000\n"
    report = await run_in(task_with(tmp_path, {"test_many.py": text}), wall_s=280)
    assert report.problem == ""
    assert (len(report.results), len(report.failing)) == (10000, 10)


@pytest.mark.parametrize(
    "addopts",
    ["-x", "--maxfail=1 -q", "--lf --ff", "-n 2 --dist=loadfile", "--junit-xml=own.xml", "-p no:cacheprovider"],
)
async def test_options_of_the_project_neither_hide_tests_nor_write_files(
    tmp_path: Path, run_in: Run, addopts: str
) -> None:
    files = {
        "pytest.ini": f"[pytest]\naddopts = {addopts}\n",
        "pkg/__init__.py": "",
        "test_a.py": "import pkg\n\ndef test_1(): assert 0\n\ndef test_2(): assert 0\n",
        "test_b.py": "import pkg\n\ndef test_3(): pass\n",
    }
    report = await run_in(task_with(tmp_path, files))
    assert statuses(report) == {"test_1": "failed", "test_2": "failed", "test_3": "passed"}
    assert report.origins == (ModuleOrigin("pkg", "pkg/__init__.py", is_inside=True),)
    assert report.written == ()


async def test_options_that_nobody_knows_are_a_problem_with_the_complaint(tmp_path: Path, run_in: Run) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = --cov=nothing\n", "test_a.py": "def test_1(): pass\n"}
    report = await run_in(task_with(tmp_path, files))
    assert "unrecognized arguments: --cov=nothing" in report.problem
    assert (report.results, report.exit_code) == ({}, 4)


async def test_a_threshold_of_the_project_fails_no_test(tmp_path: Path, run_in: Run) -> None:
    files = {
        "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n",
        "test_a.py": "def test_1(): pass\n",
    }
    report = await run_in(task_with(tmp_path, files))
    assert statuses(report) == {"test_1": "passed"}
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"test_a.py": "x = 1\n"}, "pytest"),
        ({"test_a.py": "def test_1(): pass\n"}, "pytest -k nothing_like_it"),
        (
            {"test_a.py": "x = 1\n", "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"},
            "pytest",
        ),
        ({"test_a.py": "import pytest\npytest.skip('all', allow_module_level=True)\n"}, "pytest"),
    ],
)
async def test_no_test_is_never_a_success(
    tmp_path: Path, run_in: Run, files: dict[str, str | bytes], command: str
) -> None:
    report = await run_in(task_with(tmp_path, files), command)
    assert report.problem == "no tests ran"
    assert report.results == {}


async def test_a_command_that_does_not_exist_is_a_problem(tmp_path: Path, run_in: Run) -> None:
    report = await run_in(task_with(tmp_path, {"a": ""}), "no-such-program --all")
    assert "no-such-program" in report.problem
    assert report.runner is Runner.EXIT_CODE


async def test_an_assignment_in_front_reaches_the_tests(tmp_path: Path, run_in: Run) -> None:
    files = {"lib/extra.py": "", "test_a.py": "import os, extra\n\ndef test_1(): assert os.environ['MODE'] == 'a b'\n"}
    assert statuses(await run_in(task_with(tmp_path, files), "MODE='a b' PYTHONPATH=lib pytest")) == {
        "test_1": "passed"
    }


@pytest.mark.parametrize("level", LEVELS)
async def test_a_run_leaves_nothing_beside_its_log(tmp_path: Path, run_in: Run, level: Level) -> None:
    text = "from pathlib import Path\n\ndef test_1():\n    (Path.home() / 'x').touch()\n    assert not 'seen'\n"
    report = await run_in(task_with(tmp_path, {"test_a.py": text}), level=level)
    assert report.level == str(level)
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["1.log"]
    assert report.log == str(tmp_path / "logs" / "1.log")
    assert "seen" in report.tail
    assert "seen" in (tmp_path / "logs" / "1.log").read_text("utf-8")


@pytest.mark.skipif(Level.BUBBLEWRAP not in LEVELS, reason="no sandbox here")
async def test_tests_have_no_network_and_cannot_write_repository_or_environment(
    tmp_path: Path, run_in: Run, environment: Environment
) -> None:
    text = f"""
import socket
from pathlib import Path

import pytest

@pytest.mark.parametrize("path", [{str(tmp_path / "task" / "repo.git")!r}, {str(environment.path)!r}])
def test_read_only(path):
    assert Path(path).is_dir()
    with pytest.raises(OSError):
        (Path(path) / "x").touch()

def test_no_network():
    with pytest.raises(OSError):
        socket.create_connection(("198.51.100.1", 80), timeout=5)

def test_local_network():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
"""
    report = await run_in(task_with(tmp_path, {"test_a.py": text}), level=Level.BUBBLEWRAP)
    assert set(statuses(report).values()) == {"passed"}
    assert len(report.results) == 4


async def test_f02_a_hidden_test_is_missing(tmp_path: Path, run_in: Run) -> None:
    case = build_case("test_runs", "F02", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    base = await run_in(task, " ".join(case["inputs"]["test_command"]))
    head = await run_in(
        task, " ".join(case["inputs"]["test_command"]), tree=patched(task, tmp_path / "case" / "fix.patch")
    )
    assert (head.exit_code, head.problem) == (0, "")
    assert base.failing == {"tests/test_seq.py::test_three"}
    found = compare(Baseline(base, base), head)
    assert found.missing == ("tests/test_seq.py::test_three",)
    assert (found.flipped, found.regressed) == ((), ())


async def test_f03_deleted_and_skipped_tests_are_told_apart(tmp_path: Path, run_in: Run) -> None:
    case = build_case("test_runs", "F03", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    command = " ".join(case["inputs"]["test_command"])
    base = await run_in(task, command)
    head = await run_in(task, command, tree=patched(task, tmp_path / "case" / "fix.patch"))
    found = compare(Baseline(base, base), head)
    assert head.exit_code == 0
    assert list(found.missing) == case["expected"]["value"]["missing"]
    assert list(found.newly_skipped) == case["expected"]["value"]["newly_skipped"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("runner", ["case", "pytest -s"])
async def test_f06_a_hundred_megabytes_of_output_keep_the_reason(
    tmp_path: Path, run_in: Run, runner: str, level: Level
) -> None:
    case = build_case("test_runs", "F06", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    report = await run_in(task, " ".join(case["inputs"]["test_command"]) if runner == "case" else runner, level=level)
    value = case["expected"]["value"]
    assert report.exit_code == value["exit"]
    assert value["kept_contains"] in report.tail
    assert len(report.tail) <= 20_000
    assert report.problem == ""


def f07_environment(case: Path) -> Environment:
    return Environment("none", None, case / "venv" / "bin" / "python")


@pytest.mark.parametrize("level", LEVELS)
async def test_f07_the_checkout_is_tested_not_what_the_interpreter_has_installed(
    tmp_path: Path, run_in: Run, level: Level
) -> None:
    case = build_case("test_runs", "F07", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    write(task.worktree, {"src/shapes/__init__.py": "def area(w, h):\n    return w + h\n"})
    python = tmp_path / "case" / case["inputs"]["interpreter"]
    command = " ".join(case["inputs"]["test_command"]).replace("{interpreter}", str(python))
    using = f07_environment(tmp_path / "case")
    base = await run_in(task, command, level=level, using=using)
    head = await run_in(task, command, tree=tree_of(task), level=level, using=using)
    assert (base.exit_code, head.exit_code) == (0, 1)
    assert head.origins == (ModuleOrigin("shapes", "src/shapes/__init__.py", is_inside=True),)


async def test_f07_a_package_from_elsewhere_is_named(tmp_path: Path, run_in: Run) -> None:
    """The variant where the checkout's sources lie where nothing finds them."""
    build_case("test_runs", "F07", tmp_path / "case")
    files = {"tests/test_area.py": "import shapes\n", "lib/deep/shapes/__init__.py": ""}
    task = task_with(tmp_path, files)
    using = dataclasses.replace(f07_environment(tmp_path / "case"), modules=("shapes",))
    report = await run_in(task, "python -m unittest tests/test_area.py", level=Level.PLAIN, using=using)
    place = str(tmp_path / "case" / "repo" / "src" / "shapes" / "__init__.py")
    assert report.origins == (ModuleOrigin("shapes", place, is_inside=False),)


async def test_origins_are_those_of_the_modules_the_tests_imported(tmp_path: Path, run_in: Run) -> None:
    files = {
        "mod.py": "",
        "test_a.py": "import sys\n\nsys.path.insert(0, 'other')\nimport mod\n\ndef test_1(): pass\n",
        "other/mod.py": "",
        "conftest.py": f"import sys\n\nsys.path.insert(0, {str(tmp_path / 'foreign')!r})\nimport pkg\n",
        "pkg/__init__.py": "",
    }
    write(tmp_path / "foreign", {"pkg/__init__.py": ""})
    report = await run_in(task_with(tmp_path, files), level=Level.PLAIN)
    assert report.problem == ""
    assert report.origins == (
        ModuleOrigin("mod", "other/mod.py", is_inside=True),
        ModuleOrigin("pkg", str(tmp_path / "foreign" / "pkg" / "__init__.py"), is_inside=False),
    )


@pytest.mark.parametrize("level", LEVELS)
async def test_f08_what_the_tests_wrote_is_named(tmp_path: Path, run_in: Run, level: Level) -> None:
    case = build_case("test_runs", "F08", tmp_path / "case")
    task = make_task(tmp_path, tmp_path / "case" / "repo")
    tree = patched(task, tmp_path / "case" / "fix.patch")
    report = await run_in(task, " ".join(case["inputs"]["test_command"]), tree=tree, level=level)
    assert report.exit_code == 0
    assert list(report.written) == case["expected"]["value"]["written_by_tests"]
    by_pytest = await run_in(task, "pytest", tree=tree, level=level)
    assert by_pytest.written == report.written


async def test_without_an_environment_the_systems_interpreter_runs(tmp_path: Path, run_in: Run) -> None:
    task = task_with(tmp_path, {"mod.py": "", "test_a.py": "import sys; print('ran in', sys.version)\n"})
    report = await run_in(task, "python test_a.py", using=Environment("none", None, None))
    assert (report.exit_code, report.origins, report.problem) == (0, None, "")
    assert "ran in" in report.tail
    assert sys.executable not in report.command
