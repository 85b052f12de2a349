"""The demo repository: three bugs, each with its own failing test and its own small fix."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.cli.demo_repository import BUGS, DemoBug, ask_of, demo_files, make_repository

FIXES = {
    "paging": ("return len(items) // size", "return (len(items) + size - 1) // size"),
    "fees": ("member_years > LOYAL_YEARS", "member_years >= LOYAL_YEARS"),
    "titles": ("if words[0] in ARTICLES", "if words and words[0] in ARTICLES"),
}


def failing_tests(repository: Path) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "demo")


def test_exactly_the_three_named_tests_fail_at_the_base(repository: Path) -> None:
    assert failing_tests(repository) == {bug.test for bug in BUGS}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_each_fix_is_one_line_and_flips_exactly_its_own_test(repository: Path, bug: DemoBug) -> None:
    module = repository / "reading_room" / f"{bug.name}.py"
    wrong, right = FIXES[bug.name]
    text = module.read_text("utf-8")
    assert text.count(wrong) == 1
    module.write_text(text.replace(wrong, right), "utf-8")
    assert failing_tests(repository) == {other.test for other in BUGS} - {bug.test}


def test_modules_are_small_enough_to_be_rewritten_whole() -> None:
    modules = {path: content for path, content in demo_files().items() if path.startswith("reading_room/")}
    assert len(modules) >= 4
    assert max(len(content) for content in modules.values()) < 2000


def test_the_commit_is_the_same_every_time_and_every_demo_gets_its_own_folder(tmp_path: Path) -> None:
    first, second = make_repository(tmp_path), make_repository(tmp_path)
    assert [first.name, second.name] == ["1", "2"]
    heads = {
        subprocess.run(["git", "rev-parse", "HEAD"], cwd=place, capture_output=True, text=True).stdout
        for place in (first, second)
    }
    assert len(heads) == 1
    assert heads != {""}


def test_the_repository_is_clean_and_stands_on_main(repository: Path) -> None:
    status = subprocess.run(["git", "status", "-sb", "--porcelain"], cwd=repository, capture_output=True, text=True)
    assert status.stdout == "## main\n"


def test_each_issue_names_its_failing_test_and_has_a_title(repository: Path) -> None:
    for bug in BUGS:
        ask = ask_of(bug, repository)
        assert bug.test in ask.issue
        assert ask.expect == (bug.test,)
        assert ask.repo == str(repository)
        assert len(ask.issue.split("\n", 1)[0]) < 70
