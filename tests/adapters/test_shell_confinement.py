"""Mounts come outer before inner, and what is visible already is not mounted again."""

from pathlib import Path

import pytest

from cockpit.adapters.confinement import (
    Confinement,
    account_files,
    bwrap_arguments,
    inside_environment,
    namespaces,
    plan_mounts,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    return tmp_path


def test_a_path_inside_a_visible_one_is_left_out(tree: Path) -> None:
    assert [mount.target for mount in plan_mounts([tree / "a" / "b", tree / "a"], [])] == [tree / "a"]


def test_writable_in_readable_in_writable_are_three_mounts_in_order(tree: Path) -> None:
    mounts = plan_mounts([tree / "a" / "b"], [tree / "a" / "b" / "c", tree / "a"])
    assert [(mount.target.name, mount.is_writable) for mount in mounts] == [("a", True), ("b", False), ("c", True)]


def test_what_is_both_readable_and_writable_is_writable(tree: Path) -> None:
    assert [mount.is_writable for mount in plan_mounts([tree / "a"], [tree / "a"])] == [True]


def test_a_linked_path_is_shown_under_both_names(tree: Path) -> None:
    (tree / "link").symlink_to(tree / "a")
    mounts = plan_mounts([], [tree / "link" / "b"])
    assert {(mount.source, mount.target) for mount in mounts} == {
        (tree / "a" / "b", tree / "a" / "b"),
        (tree / "a" / "b", tree / "link" / "b"),
    }


def test_a_link_inside_a_visible_path_needs_no_mount(tree: Path) -> None:
    (tree / "a" / "link").symlink_to(tree / "a" / "b")
    assert [mount.target for mount in plan_mounts([tree / "a", tree / "a" / "link"], [])] == [tree / "a"]


def test_missing_paths_and_those_of_the_system_are_left_out(tree: Path) -> None:
    assert plan_mounts([tree / "none", Path("/usr/lib")], []) == []


@pytest.mark.parametrize(
    ("version", "has_size", "has_nesting_ban"),
    [((0, 4, 0), False, False), ((0, 7), True, False), ((0, 8, 0), True, True)],
)
def test_an_older_bubblewrap_gets_only_what_it_knows(
    tree: Path, version: tuple[int, ...], has_size: bool, has_nesting_ban: bool
) -> None:
    arguments = bwrap_arguments(Confinement(writable=(tree,)), [], cwd=tree, env={"HOME": "/h"}, version=version)
    assert ("--size" in arguments, "--disable-userns" in arguments) == (has_size, has_nesting_ban)


def test_the_network_is_off_unless_asked_for() -> None:
    assert "--unshare-net" in namespaces((0, 8), network=False)
    assert "--unshare-net" not in namespaces((0, 8), network=True)


def test_only_a_temporary_directory_below_the_home_moves_to_tmp() -> None:
    assert inside_environment({"HOME": "/h", "TMPDIR": "/h/tmp"})["TMPDIR"] == "/tmp"  # noqa: S108
    assert inside_environment({"HOME": "/h", "TMPDIR": "/scratch/tmp"})["TMPDIR"] == "/scratch/tmp"
    assert inside_environment({}) == {}


def test_the_accounts_inside_name_nobody_else() -> None:
    names = [line.split(":")[0] for line in account_files("/h")["/etc/passwd"].splitlines()]
    assert set(names[1:]) <= {"root", "nobody"}
