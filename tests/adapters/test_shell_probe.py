"""The probe runs what is installed and says what is missing, in words a person can act on."""

from pathlib import Path

import pytest

from cockpit.adapters import shell
from cockpit.adapters.probing import explain
from cockpit.adapters.shell import Level, probe
from cockpit.domain.errors import SandboxError
from tests.adapters.commands import Room


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is searched for bwrap, and nothing else is."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setattr(shell, "probe", shell.probe.__wrapped__)
    return directory


def install(bin_dir: Path, script: str) -> None:
    path = bin_dir / "bwrap"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_bubblewrap_the_reason_says_how_to_get_it(bin_dir: Path) -> None:
    found = shell.probe()
    assert list(bin_dir.iterdir()) == []
    assert (found.level, found.bwrap_version) == (Level.PLAIN, "")
    assert "apt install bubblewrap" in found.reason


@pytest.mark.parametrize(
    ("complaint", "advice"),
    [
        ("bwrap: No permissions to create new namespace", "kernel.unprivileged_userns_clone"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor_restrict_unprivileged_userns"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"),
        ("bwrap: something new", "does not work here (bwrap: something new)"),
        ("", "does not work here"),
    ],
)
def test_each_refusal_is_explained(complaint: str, advice: str) -> None:
    assert advice in explain(complaint)


def test_an_installed_bubblewrap_that_is_refused_is_plain_with_a_reason(bin_dir: Path) -> None:
    install(
        bin_dir, '[ "$1" = --version ] && echo bubblewrap 0.8.0 || { echo "bwrap: setting up uid map" >&2; exit 1; }'
    )
    found = shell.probe()
    assert (found.level, found.bwrap_version) == (Level.PLAIN, "0.8.0")
    assert "not allowed" in found.reason


def test_where_only_the_newest_feature_is_refused_the_rest_is_used(bin_dir: Path) -> None:
    refuse = 'case "$*" in --version) echo bubblewrap 0.11.0;; *--disable-userns*) exit 1;; esac'
    install(bin_dir, refuse)
    found = shell.probe()
    assert (found.level, found.features) == (Level.BUBBLEWRAP, (0, 7))


def test_a_bubblewrap_that_cannot_be_executed_is_plain(bin_dir: Path) -> None:
    (bin_dir / "bwrap").write_bytes(b"\x7fELF rubbish")
    (bin_dir / "bwrap").chmod(0o755)
    assert shell.probe().level is Level.PLAIN


@pytest.mark.usefixtures("bin_dir")
async def test_asking_for_isolation_that_does_not_work_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be isolated") as caught:
        await Room(tmp_path).shell("true", level=Level.BUBBLEWRAP)
    assert "[sandbox] mode" in caught.value.hint


async def test_a_sandbox_that_breaks_after_the_probe_is_an_error_not_a_result(bin_dir: Path, tmp_path: Path) -> None:
    broken = (
        'case "$1" in --version) echo bubblewrap 0.8.0;; --args) echo "bwrap: no space for mounts" >&2; exit 1;; esac'
    )
    install(bin_dir, broken)
    with pytest.raises(SandboxError, match="no space for mounts"):
        await Room(tmp_path).shell("true", level=Level.BUBBLEWRAP)


@pytest.mark.usefixtures("bin_dir")
async def test_the_level_falls_back_where_bubblewrap_is_missing(tmp_path: Path) -> None:
    result = await Room(tmp_path, {"PATH": "/usr/bin:/bin"}).shell("exit 3")
    assert (result.level, result.exit_code) == (Level.PLAIN, 3)


def test_the_answer_is_kept() -> None:
    assert probe() is probe()
