import asyncio
import dataclasses
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cockpit.adapters.shell import Level, RunControl, probe
from cockpit.domain.errors import CockpitError
from cockpit.domain.testing import CaseStatus, ModuleOrigin, RunReport
from cockpit.settings.schema import SandboxSettings
from cockpit.workspace.environment import Environment, plan_setup, prepare_environment
from tests.gitkit import make_repo, make_task, write

PYTHON = Path(sys.executable)
Run = Callable[..., Awaitable[RunReport]]


async def prepare(
    checkout: Path, envs: Path, given: str | None, *, network: bool = True, **more: object
) -> Environment:
    settings = SandboxSettings.model_validate({"setup_s": 280})
    return await prepare_environment(
        plan_setup(checkout, given, PYTHON), checkout=checkout, envs=envs, level=probe().level, network=network,
        settings=settings, log=envs / "setup.log", **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_project_is_installed_as_metadata_only(library_environment: Environment) -> None:
    assert library_environment.path is not None
    site = next(library_environment.path.glob("venv/lib/python*/site-packages"))
    assert (site / "depot-3.1.dist-info").is_dir()
    assert not (site / "depot").exists()
    assert not list(site.glob("__editable__*"))
    assert (site / "iniconfig").is_dir()
    assert (site / "xdist").is_dir()
    assert library_environment.modules == ("depot",)


def test_nothing_is_left_of_the_copy_it_was_built_from(library_environment: Environment) -> None:
    assert library_environment.path is not None
    assert sorted(path.name for path in library_environment.path.iterdir()) == ["environment.json", "generated", "venv"]


async def test_tests_see_metadata_entry_points_and_generated_modules_but_the_sources_of_the_checkout(
    library_files: dict[str, str], library_environment: Environment, tmp_path: Path, run_in: Run
) -> None:
    source = make_repo(tmp_path / "source", dict(library_files))
    report = await run_in(make_task(tmp_path, source), using=library_environment)
    assert report.problem == ""
    assert set(report.results.values()) == {CaseStatus.PASSED}
    assert report.origins == (ModuleOrigin("depot", "src/depot/__init__.py", is_inside=True),)
    assert report.written == ()


async def test_the_same_manifests_find_the_same_environment(library: Path, library_environment: Environment) -> None:
    assert library_environment.path is not None
    again = await prepare(library, library_environment.path.parent, None, network=False)
    assert again.cached
    assert again == dataclasses.replace(library_environment, cached=True)


async def test_a_half_made_environment_is_built_again(tmp_path: Path) -> None:
    checkout, envs = tmp_path / "checkout", tmp_path / "envs"
    write(checkout, {"README": "nothing"})
    made = await prepare(checkout, envs, 'echo one > "$COCKPIT_ENV/tool"')
    assert made.path is not None
    (made.path / "environment.json").write_text("{", "utf-8")
    (made.path / "stale").touch()
    again = await prepare(checkout, envs, 'echo one > "$COCKPIT_ENV/tool"')
    assert not again.cached
    assert not (made.path / "stale").exists()
    assert (made.path / "tool").read_text() == "one\n"


async def test_two_tasks_at_once_build_it_once(tmp_path: Path) -> None:
    checkout, envs = tmp_path / "checkout", tmp_path / "envs"
    write(checkout, {"README": "nothing"})
    command = 'echo built >> "$COCKPIT_ENV/count"; sleep 1'
    first, second = await asyncio.gather(prepare(checkout, envs, command), prepare(checkout, envs, command))
    assert {first.cached, second.cached} == {True, False}
    assert first.path is not None
    assert (first.path / "count").read_text() == "built\n"


async def test_a_setup_command_that_fails_is_named_with_its_exit_code_and_last_lines(tmp_path: Path) -> None:
    checkout, envs = tmp_path / "checkout", tmp_path / "envs"
    write(checkout, {"README": "nothing"})
    with pytest.raises(CockpitError) as caught:
        await prepare(checkout, envs, "echo fetching https://tess:secret@example.invalid/; exit 7")
    assert caught.value.label == "env_broken"
    assert "exit code 7" in caught.value.message
    assert "fetching https://***@example.invalid/" in caught.value.message.splitlines()[-1]
    assert "secret" not in caught.value.message.splitlines()[-1]
    assert "--setup" in caught.value.hint
    assert not [path for path in envs.iterdir() if path.is_dir() and not path.name.startswith(".")]


async def test_a_setup_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    write(checkout, {"README": "nothing"})
    with pytest.raises(CockpitError, match="ran longer than 1 s"):
        await prepare_environment(
            plan_setup(checkout, "sleep 60", PYTHON), checkout=checkout, envs=tmp_path / "envs", level=Level.PLAIN,
            network=True, settings=SandboxSettings.model_validate({"setup_s": 1}), log=tmp_path / "setup.log",
        )  # fmt: skip


async def test_a_kill_ends_the_setup_and_leaves_nothing(tmp_path: Path) -> None:
    checkout, envs = tmp_path / "checkout", tmp_path / "envs"
    write(checkout, {"README": "nothing"})
    control = RunControl()
    control.kill()
    with pytest.raises(CockpitError, match="killed"):
        await prepare(checkout, envs, "sleep 60", control=control)
    assert not [path for path in envs.iterdir() if path.is_dir() and not path.name.startswith(".")]


async def test_the_setup_command_works_on_a_copy(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    write(checkout, {"data.txt": "one", ".git": "gitdir: elsewhere"})
    made = await prepare(
        checkout,
        tmp_path / "envs",
        'cat data.txt > "$COCKPIT_ENV/seen"; echo two > data.txt; ls -A > "$COCKPIT_ENV/names"',
    )
    assert made.path is not None
    assert (made.path / "seen").read_text() == "one"
    assert (made.path / "names").read_text() == "data.txt\n"
    assert (checkout / "data.txt").read_text() == "one"


async def test_a_project_without_manifests_needs_no_environment(tmp_path: Path) -> None:
    write(tmp_path / "checkout", {"README": "nothing"})
    made = await prepare(tmp_path / "checkout", tmp_path / "envs", None)
    assert (made.path, made.python, dict(made.variables)) == (None, None, {})
    assert not (tmp_path / "envs").exists()


async def test_sources_behind_compiled_modules_must_be_those_that_were_built(
    tmp_path: Path, environment: Environment, run_in: Run
) -> None:
    source = make_repo(tmp_path / "source", {"fast.c": "int main;", "test_x.py": "def test_x(): pass\n"})
    report = await run_in(make_task(tmp_path, source), using=dataclasses.replace(environment, compiled="of the base"))
    assert "sources of compiled modules differ" in report.problem
    assert (report.results, report.exit_code) == ({}, None)


def test_the_marker_of_a_finished_environment_can_be_read_by_people(library_environment: Environment) -> None:
    assert library_environment.path is not None
    data = json.loads((library_environment.path / "environment.json").read_text("utf-8"))
    assert data["commands"][0][1:3] == ["-m", "venv"]
    assert data["commands"][1][1:4] == ["-m", "pip", "install"]
