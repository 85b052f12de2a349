import os
from pathlib import Path

import pytest

from cockpit.domain.errors import CockpitError, UsageError
from cockpit.journal.layout import FORMAT, Home, valid_task_id


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state" / "cockpit")


def test_a_new_home_is_its_owners_alone(home: Home) -> None:
    home.create()
    folders = [path for path in [home.root, *home.root.rglob("*")] if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    assert home.format_file.read_text() == f"{FORMAT}\n"
    assert home.format_file.stat().st_mode & 0o777 == 0o600


def test_a_loose_umask_or_mode_is_repaired(home: Home) -> None:
    before = os.umask(0)
    try:
        home.create()
    finally:
        os.umask(before)
    home.root.chmod(0o755)
    home.tasks.chmod(0o777)
    home.create()
    assert home.root.stat().st_mode & 0o777 == 0o700
    assert home.tasks.stat().st_mode & 0o777 == 0o700


def test_making_a_home_again_changes_nothing_in_it(home: Home) -> None:
    home.create()
    (home.tasks / "0123abcd").mkdir()
    before = home.format_file.stat().st_ino
    home.create()
    assert (home.tasks / "0123abcd").is_dir()
    assert home.format_file.stat().st_ino == before


def test_a_newer_home_is_refused_and_left_as_it_is(home: Home) -> None:
    home.root.mkdir(parents=True)
    home.format_file.write_text(f"{FORMAT + 1}\n")
    with pytest.raises(UsageError, match="newer cockpit") as caught:
        home.create()
    assert "COCKPIT_HOME" in caught.value.hint
    assert [path.name for path in home.root.iterdir()] == ["format"]


@pytest.mark.parametrize("text", ["", "one", "\x00\x00", "-1", "1.0"])
def test_a_format_that_is_no_number_is_refused(home: Home, text: str) -> None:
    home.root.mkdir(parents=True)
    home.format_file.write_text(text)
    with pytest.raises(UsageError, match="instead of a version"):
        home.create()


def test_a_home_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CockpitError, match="cannot use") as caught:
        Home(tmp_path / "file" / "cockpit").create()
    assert "COCKPIT_HOME" in caught.value.hint


def test_a_file_where_a_folder_belongs_says_why(home: Home) -> None:
    home.create()
    home.worktrees.rmdir()
    home.worktrees.write_text("")
    with pytest.raises(CockpitError, match="worktrees"):
        home.create()


def test_old_litter_is_swept_and_young_files_stay(home: Home) -> None:
    home.create()
    old, young = home.root / ".live.json.1-0.tmp", home.inbox / ".x.json.1-0.tmp"
    for path in (old, young):
        path.write_text("")
    os.utime(old, (1, 1))
    home.create()
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("text", ["0123abcd", "00000000", "ffffffff"])
def test_eight_hex_digits_are_a_task_id(text: str) -> None:
    assert valid_task_id(text)


@pytest.mark.parametrize(
    "text", ["", "0123abc", "0123abcde", "0123ABCD", "../../xx", "0123abcd\n", "０１２３abcd", "0123abcg"]
)
def test_anything_else_is_no_task_id_and_leads_nowhere(home: Home, text: str) -> None:
    assert not valid_task_id(text)
    with pytest.raises(UsageError, match="not a task id"):
        home.task(text)


def test_every_name_is_where_the_design_puts_it() -> None:
    home = Home(Path("/h"))
    task = home.task("0123abcd")
    named = {
        home.task("0123abcd").step(1, 2).stream: "tasks/0123abcd/attempts/1/steps/2/stream.jsonl",
        task.round(2, 3).patch: "tasks/0123abcd/attempts/2/rounds/3/patch.diff",
        home.worktree("0123abcd", 2): "worktrees/0123abcd-2",
        task.repo_git: "tasks/0123abcd/repo.git",
        home.trust_file: "trust.json",
    }
    assert {str(path.relative_to("/h")) for path in named} == set(named.values())
