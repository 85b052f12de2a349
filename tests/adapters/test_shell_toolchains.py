"""The directories shown to a command hold its tools and nothing else of the home."""

import os
from pathlib import Path

import pytest

from cockpit.adapters.shell import base_environment, toolchain_roots


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def link(path: Path, target: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def path_of(*directories: Path) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, directories))}


def test_what_the_system_provides_needs_no_root() -> None:
    assert toolchain_roots(["sh"], {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}) == ()


@pytest.mark.parametrize(
    ("directory", "root"),
    [
        (".pyenv/shims", ".pyenv"),
        (".nvm/versions/node/v20.1.0/bin", ".nvm/versions/node/v20.1.0"),
        ("miniconda3/bin", "miniconda3"),
        ("go/bin", "go"),
        (".local/bin", ".local/bin"),
        (".cargo/bin", ".cargo/bin"),
        ("bin", "bin"),
        (".local/share/pnpm", ".local/share/pnpm"),
    ],
)
def test_a_directory_on_path_shows_its_installation_but_never_a_drawer_of_secrets(
    user_home: Path, directory: str, root: str
) -> None:
    (user_home / directory).mkdir(parents=True)
    assert toolchain_roots([], path_of(user_home / directory)) == (user_home / root,)


@pytest.mark.parametrize("directory", ["", "..", "../..", ".local", ".config", ".cargo"])
def test_the_home_and_what_holds_secrets_is_never_shown(user_home: Path, directory: str) -> None:
    (user_home / directory).mkdir(exist_ok=True)
    assert toolchain_roots([], path_of(Path(os.path.normpath(user_home / directory)))) == ()


def test_relative_and_missing_entries_of_path_are_skipped(user_home: Path) -> None:
    assert toolchain_roots([], {"PATH": f".::bin:{user_home}/none/bin"}) == ()


def test_a_virtual_environment_brings_the_installation_it_was_made_from(user_home: Path) -> None:
    base = user_home / ".local" / "share" / "uv" / "python" / "cpython-3.11.9"
    program(base / "bin" / "python3.11")
    env = user_home / "project" / ".venv"
    link(env / "bin" / "python", base / "bin" / "python3.11")
    (env / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.11.9\n")
    assert set(toolchain_roots([str(env / "bin" / "python")], {})) == {env, base}


def test_an_installation_named_by_a_linked_directory_is_shown_under_both_names(user_home: Path) -> None:
    pythons = user_home / ".local" / "share" / "uv" / "python"
    program(pythons / "cpython-3.11.9" / "bin" / "python3.11")
    link(pythons / "cpython-3.11", pythons / "cpython-3.11.9")
    python = link(user_home / "env" / "bin" / "python", pythons / "cpython-3.11" / "bin" / "python3.11")
    found = set(toolchain_roots([str(python)], {}))
    assert found >= {pythons / "cpython-3.11", pythons / "cpython-3.11.9"}


def test_a_tool_installed_for_the_user_brings_the_environment_behind_it(user_home: Path) -> None:
    env = user_home / ".local" / "share" / "uv" / "tools" / "tox"
    base = user_home / "pythons" / "3.12"
    program(base / "bin" / "python3")
    link(env / "bin" / "python", base / "bin" / "python3")
    program(env / "bin" / "tox", f"#!{env}/bin/python\n")
    link(user_home / ".local" / "bin" / "tox", env / "bin" / "tox")
    found = set(toolchain_roots(["tox"], path_of(user_home / ".local" / "bin")))
    assert found == {user_home / ".local" / "bin", env, base}


def test_a_script_in_the_home_itself_is_shown_alone(user_home: Path) -> None:
    script = program(user_home / "check.sh")
    assert toolchain_roots([str(script)], {}) == (script,)


def test_links_that_go_in_circles_end(user_home: Path) -> None:
    one, two = user_home / "x" / "bin" / "one", user_home / "x" / "bin" / "two"
    link(one, two)
    link(two, one)
    assert toolchain_roots([str(one)], path_of(one.parent)) == (user_home / "x",)


def test_variables_that_name_an_installation_count_but_not_as_the_home(user_home: Path) -> None:
    (user_home / "jdk").mkdir()
    env = {"JAVA_HOME": str(user_home / "jdk"), "GOROOT": str(user_home), "CONDA_PREFIX": "/"}
    assert toolchain_roots([], env) == (user_home / "jdk",)


def test_the_environment_is_built_from_nothing(user_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "swordfish")
    monkeypatch.setenv("PATH", "/usr/bin:relative::/bin:/usr/bin")
    for name in ("RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR"):
        monkeypatch.delenv(name, raising=False)
    (user_home / ".rustup").mkdir()
    environment = base_environment(Path("/private"), {"CI": "1", "LANG": "de_DE.UTF-8"})
    assert environment == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/private",
        "TMPDIR": "/private/tmp",
        "LANG": "de_DE.UTF-8",
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "RUSTUP_HOME": str(user_home / ".rustup"),
        "CI": "1",
    }
