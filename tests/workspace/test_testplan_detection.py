import sys
from pathlib import Path

import pytest

from cockpit.domain.errors import CockpitError, UsageError
from cockpit.domain.testing import Runner
from cockpit.workspace.environment import Environment
from cockpit.workspace.selection import select
from cockpit.workspace.testplan import has_shell_syntax, plan_tests
from tests.gitkit import write

PYTHON = sys.executable
WITH_PYTHON = Environment("k", None, Path(PYTHON))
WITHOUT = Environment("none", None, None)


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        ("pytest", (PYTHON, "-m", "pytest")),
        ("pytest -q 'tests/test a.py::test[x y]'", (PYTHON, "-m", "pytest", "-q", "tests/test a.py::test[x y]")),
        ("py.test -k 'a and (b or c)'", (PYTHON, "-m", "pytest", "-k", "a and (b or c)")),
        ("python -m pytest tests", (PYTHON, "-m", "pytest", "tests")),
        ("python3.12 -W error -X dev -m pytest", (PYTHON, "-W", "error", "-X", "dev", "-m", "pytest")),
        ("FOO=1 BAR='a b' pytest -x", (PYTHON, "-m", "pytest", "-x")),
        ("poetry run pytest -q", (PYTHON, "-m", "pytest", "-q")),
        ("uv run python -m pytest", (PYTHON, "-m", "pytest")),
        ("pytest t/*_a.py", (PYTHON, "-m", "pytest", "t/x_a.py", "t/y_a.py")),
        ("pytest t/*_b.py", (PYTHON, "-m", "pytest", "t/*_b.py")),
    ],
)
def test_pytest_is_recognised_and_run_by_the_environments_interpreter(
    tmp_path: Path, given: str, argv: tuple[str, ...]
) -> None:
    write(tmp_path, {"t/y_a.py": "", "t/x_a.py": "", "t/a.py": ""})
    plan = plan_tests(tmp_path, given, WITH_PYTHON)
    assert plan.argv == argv
    assert plan.runner is Runner.PYTEST
    assert plan.shown == given


@pytest.mark.parametrize(
    ("given", "argv"),
    [
        ("tox -e py311", ("tox", "-e", "py311")),
        ("python -m unittest discover", (PYTHON, "-m", "unittest", "discover")),
        ("python -m pytester", (PYTHON, "-m", "pytester")),
        ("python pytest", (PYTHON, "pytest")),
        ("python -m", (PYTHON, "-m")),
        ("/opt/python -m pytest", ("/opt/python", "-m", "pytest")),
        ("cd sub && pytest", ("sh", "-c", "cd sub && pytest")),
        ("pytest > out.txt", ("sh", "-c", "pytest > out.txt")),
        ("pytest `cat list`", ("sh", "-c", "pytest `cat list`")),
        ('pytest "$HOME"', ("sh", "-c", 'pytest "$HOME"')),
    ],
)
def test_everything_else_is_known_by_its_exit_code(tmp_path: Path, given: str, argv: tuple[str, ...]) -> None:
    plan = plan_tests(tmp_path, given, WITH_PYTHON)
    assert (plan.argv, plan.runner) == (argv, Runner.EXIT_CODE)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a 'b|c' \"d;e\" \\& f\\;", False),
        ("a;b", True),
        ("a '$x'", False),
        ('a "$x"', True),
        ("a\nb", True),
        ("a \\$x", False),
    ],
)
def test_shell_syntax_counts_only_outside_quotation(command: str, expected: bool) -> None:
    assert has_shell_syntax(command) is expected


def test_assignments_are_kept_for_the_run(tmp_path: Path) -> None:
    assert plan_tests(tmp_path, "FOO=1 BAR='a b=c' pytest", WITH_PYTHON).variables == (("FOO", "1"), ("BAR", "a b=c"))


@pytest.mark.parametrize("given", ["pytest 'open", "FOO=1"])
def test_a_command_that_cannot_be_read_is_the_users_to_mend(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError):
        plan_tests(tmp_path, given, WITH_PYTHON)


@pytest.mark.parametrize(
    ("files", "environment", "argv"),
    [
        ({"a/test_x.py": ""}, WITH_PYTHON, (PYTHON, "-m", "pytest")),
        ({"a/x_test.py": "", "package.json": '{"scripts":{"test":"jest"}}'}, WITH_PYTHON, (PYTHON, "-m", "pytest")),
        ({"setup.cfg": "[tool:pytest]\ntestpaths=checks"}, WITH_PYTHON, (PYTHON, "-m", "pytest")),
        ({"package.json": '{"scripts":{"test":"jest"}}'}, WITHOUT, ("npm", "test")),
        ({"Cargo.toml": ""}, WITHOUT, ("cargo", "test")),
        ({"go.mod": ""}, WITHOUT, ("go", "test", "./...")),
        ({"Makefile": "all:\n\ntest: all\n\techo\n"}, WITHOUT, ("make", "test")),
    ],
)
def test_a_command_is_found_by_what_lies_there(
    tmp_path: Path, files: dict[str, str | bytes], environment: Environment, argv: tuple[str, ...]
) -> None:
    write(tmp_path, files)
    assert plan_tests(tmp_path, None, environment).argv == argv


@pytest.mark.parametrize(
    "files",
    [
        {"README": ""},
        {"package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "{"},
        {"Makefile": "test := x\ntests:\n"},
        {"node_modules/x/test_y.py": "", ".venv/test_z.py": "", "latest_news.py": ""},
    ],
)
def test_no_tests_is_said_with_the_way_out(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    write(tmp_path, files)
    with pytest.raises(CockpitError) as caught:
        plan_tests(tmp_path, "  ", WITH_PYTHON)
    assert caught.value.label == "env_broken"
    assert "no tests found" in caught.value.message
    assert "--test" in caught.value.hint


FILES: dict[str, str | bytes] = {
    "src/pkg/__init__.py": "",
    "src/pkg/pager.py": "",
    "src/pkg/deep/tree.py": "",
    "tests/test_pager.py": "",
    "tests/test_more.py": "from pkg import (\n    other,\n    pager,\n)\n",
    "tests/test_tree_things.py": "import pkg.deep.tree as t\n",
    "tests/test_else.py": "# from pkg.pagers import x\nimport pkg.pagerx\n",
    "checks/test_far.py": "from pkg.pager import turn\n",
}


@pytest.mark.parametrize(
    ("command", "paths", "expected"),
    [
        ("pytest", ["src/pkg/pager.py"], ["checks/test_far.py", "tests/test_more.py", "tests/test_pager.py"]),
        ("pytest -q tests", ["src/pkg/pager.py"], ["-q", "tests/test_more.py", "tests/test_pager.py"]),
        ("pytest -k tests tests -x", ["src/pkg/deep/tree.py"], ["-k", "tests", "-x", "tests/test_tree_things.py"]),
        ("pytest", ["tests/test_else.py", "README"], ["tests/test_else.py"]),
        ("pytest", ["setup.cfg"], None),
        ("pytest tests/test_pager.py", ["src/pkg/pager.py"], None),
        ("tox", ["src/pkg/pager.py"], None),
    ],
)
def test_a_run_is_narrowed_to_what_the_touched_files_concern(
    tmp_path: Path, command: str, paths: list[str], expected: list[str] | None
) -> None:
    write(tmp_path, FILES)
    chosen = select(plan_tests(tmp_path, command, WITH_PYTHON), paths, checkout=tmp_path)
    assert (None if chosen is None else list(chosen.argv[3:])) == expected
