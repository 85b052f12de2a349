import sys
from pathlib import Path

import pytest

from cockpit.workspace.manifests import SetupPlan, plan_setup
from cockpit.workspace.pip_settings import named_paths, network_variables, pip_variables, redact
from tests.gitkit import write

PYTHON = Path(sys.executable)
OPTIONAL = "[project.optional-dependencies]\n"
BUILD = '[build-system]\nrequires = ["hatchling"]\n'
GROUPS = "[dependency-groups]\nlint=['l']\ndev=['d', {include-group='lint'}, {include-group='dev'}]"
POETRY = """
[tool.poetry.dev-dependencies]
z = "*"
[tool.poetry.group.test.dependencies]
a = "^1.2"
b = "*"
c = "3"
d = {version = "~2", optional = true}
e = {git = "https://example.invalid"}
f = {version = ">=1,<2"}
"""
FILES = (
    "requirements.txt", "requirements-dev.txt", "test-requirements.txt", "requirements_test.txt",
    "requirements-docs.txt", "tests.txt", "requirements/test.txt", "requirements/prod.txt",
)  # fmt: skip
CHOSEN_FILES = ("requirements-dev", "requirements", "requirements_test", "test-requirements", "requirements/test")


def plan(folder: Path, files: dict[str, str | bytes], given: str | None = None) -> SetupPlan:
    folder.mkdir(exist_ok=True)
    write(folder, files)
    return plan_setup(folder, given, PYTHON)


def wanted(folder: Path, files: dict[str, str | bytes]) -> list[str]:
    made = plan(folder, files)
    assert made.kind == "python"
    assert len(made.commands) == 1
    assert made.commands[0][:5] == ("{python}", "-m", "pip", "install", "--no-input")
    return list(made.commands[0][5:])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_it.py": "import pytest"}, ["pytest"]),
        ({"setup.py": "setup(extras_require={'test': []})"}, ["{project}[test]", "pytest"]),
        ({"setup.cfg": "[metadata]\n[options.extras_require]\ntesting=\n  a\n"}, ["{project}[testing]", "pytest"]),
        ({"setup.cfg": "[tool:pytest]\n"}, ["pytest"]),
        ({"pyproject.toml": BUILD}, ["{project}", "pytest"]),
        ({"pyproject.toml": BUILD + OPTIONAL + "dev=['a']\ndocs=['b']"}, ["{project}[dev]", "pytest"]),
        (
            {"pyproject.toml": BUILD + "[project.optional-dependencies]\ndev=['a']\ntests=['b']\ntest=['c']"},
            ["{project}[test,tests]", "pytest"],
        ),
        (
            {"pyproject.toml": "[project]\ndependencies=['a>=1']\n[project.optional-dependencies]\ntest=['b']"},
            ["a>=1", "b", "pytest"],
        ),
        (
            {"pyproject.toml": GROUPS},
            ["d", "l", "pytest"],
        ),
        (
            {
                "pyproject.toml": POETRY
            },
            ["a>=1.2", "b", "c==3", "f>=1,<2", "pytest"],
        ),
        (
            dict.fromkeys(FILES, ""),
            ["pytest", *[word for name in CHOSEN_FILES for word in ("-r", f"{{project}}/{name}.txt")]],
        ),
    ],
)  # fmt: skip
def test_one_pip_command_holds_every_wish(tmp_path: Path, files: dict[str, str | bytes], expected: list[str]) -> None:
    assert wanted(tmp_path, files) == expected


@pytest.mark.parametrize(
    "broken", ["[project", "x = 1\x00", "[project]\ndependencies = 3\n[dependency-groups]\ntest = {}\ndev = 'x'"]
)
def test_a_broken_manifest_is_left_to_the_tool_that_owns_it(tmp_path: Path, broken: str) -> None:
    assert wanted(tmp_path, {"pyproject.toml": broken}) == ["pytest"]


def test_a_link_to_an_endless_device_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").symlink_to("/dev/zero")
    (tmp_path / "requirements.txt").symlink_to("/dev/zero")
    assert plan_setup(tmp_path, None, PYTHON).commands[0][5] == "pytest"


def test_other_ecosystems_say_what_to_do(tmp_path: Path) -> None:
    assert plan(tmp_path / "rust", {"Cargo.toml": ""}).why.endswith("vendor them or give --setup")
    assert "$COCKPIT_ENV" in plan(tmp_path / "node", {"package.json": "{}", "package-lock.json": "{}"}).why
    assert plan(tmp_path / "none", {"README": ""}).kind == "none"


def test_a_given_command_replaces_what_the_manifests_say(tmp_path: Path) -> None:
    made = plan(tmp_path, {"pyproject.toml": BUILD}, "pip install .[all] && touch x")
    assert made.kind == "given"
    assert made.commands[0] == ("sh", "-c", "pip install .[all] && touch x")
    assert made.commands[1][-1] == "pytest"
    assert made.interpreter == PYTHON


def test_the_key_follows_manifests_includes_compiled_sources_command_and_interpreter(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"requirements.txt": "-r more/base.txt\n-r ../outside.txt\n", "more/base.txt": "a"}
    keys = [plan(tmp_path, files).key]
    assert plan(tmp_path, {"README": "new", "src/mod.py": "pass"}).key == keys[0]
    changes = [("more/base.txt", "b"), ("setup.py", ""), ("src/fast.c", "int x;"), ("src/fast.c", "int y;")]
    keys += [plan(tmp_path, {path: text}).key for path, text in changes]
    keys += [plan_setup(tmp_path, "true", PYTHON).key, plan_setup(tmp_path, None, Path("/bin/sh")).key]
    assert len(set(keys)) == len(keys)


def test_pip_files_and_variables_are_merged_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, text in {
        "xdg": "[global]\nindex-url = https://one.invalid\ntimeout = 5\nuser = yes\n",
        "home/.pip": "[install]\nextra-index-url =\n  file:///a/simple\n  https://b.invalid\n",
        "named": "[global]\nindex-url = https://two.invalid\n",
    }.items():
        write(tmp_path, {f"{folder}{'/pip' if folder == 'xdg' else ''}/pip.conf": text})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    environ = {
        "XDG_CONFIG_DIRS": str(tmp_path / "xdg"),
        "PIP_CONFIG_FILE": str(tmp_path / "named/pip.conf"),
        "PIP_TIMEOUT": "9",
    }
    found = pip_variables(environ)
    assert found["PIP_INDEX_URL"] == "https://two.invalid"
    assert found["PIP_EXTRA_INDEX_URL"] == "file:///a/simple https://b.invalid"
    assert found["PIP_TIMEOUT"] == "9"
    assert found["PIP_CONFIG_FILE"] == "/dev/null"
    assert "PIP_USER" not in found


def test_a_config_file_switched_off_stays_off(tmp_path: Path) -> None:
    write(tmp_path, {"pip/pip.conf": "[global]\nindex-url = https://one.invalid\n"})
    assert "PIP_INDEX_URL" not in pip_variables({"XDG_CONFIG_DIRS": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"})


def test_local_indexes_and_certificates_are_named_with_what_lies_beside_an_index(tmp_path: Path) -> None:
    write(tmp_path, {"index/simple/x": "", "my cert.pem": "", "cert.pem": ""})
    found = named_paths(
        {
            "PIP_EXTRA_INDEX_URL": f"{(tmp_path / 'index/simple').as_uri()} https://b.invalid/simple",
            "PIP_CERT": str(tmp_path / "cert.pem"),
            "PIP_FIND_LINKS": str(tmp_path / "absent"),
            "PIP_CONFIG_FILE": "/dev/null",
        }
    )
    assert found == (tmp_path / "index/simple", tmp_path / "index", tmp_path / "cert.pem")


def test_proxies_and_certificates_pass_and_tokens_do_not() -> None:
    environ = {"HTTPS_PROXY": "p", "no_proxy": "n", "SSL_CERT_FILE": "c", "GITHUB_TOKEN": "t", "MY_HTTPS_PROXY": "q"}
    assert network_variables(environ) == {"HTTPS_PROXY": "p", "no_proxy": "n", "SSL_CERT_FILE": "c"}


def test_passwords_in_addresses_are_hidden() -> None:
    assert (
        redact("get https://tess:s3cret@host/simple and http://host/a@b")
        == "get https://***@host/simple and http://host/a@b"
    )
