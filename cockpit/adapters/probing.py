"""Finds out how far commands can be isolated on this machine, by doing it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cockpit.adapters import confinement
from cockpit.adapters.confinement import Level

Attempt = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a program and returns its exit code and all it said."""

COMPLAINTS = {
    "RTM_NEWADDR": "user namespaces are restricted: give bwrap an AppArmor profile, or as root"
    " sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    "mount proc": "/proc cannot be mounted: start this container with --security-opt systempaths=unconfined",
    "uid map": "user namespaces are not allowed: an AppArmor or SELinux policy forbids them to bwrap",
    "namespace": "user namespaces are not allowed: as root, sysctl kernel.unprivileged_userns_clone=1"
    " (in a container: --security-opt seccomp=unconfined)",
}
"""What bubblewrap says when it may not, and what that means for a person."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What isolation works here."""

    level: Level
    reason: str
    """Why it is not better, with what to do; empty at the level bubblewrap."""
    bwrap_version: str
    """As ``bwrap --version`` gives it; empty when it is not installed."""
    bwrap: str = ""
    features: tuple[int, ...] = ()
    """The version whose features work here; below the real one when the newest are refused."""


def examine(bwrap: str | None, attempt: Attempt) -> Probe:
    """Run bubblewrap with the namespaces of a real run, and say what is missing where that fails."""
    if not bwrap:
        return Probe(Level.PLAIN, "bwrap is not installed: apt install bubblewrap", "")
    version = attempt([bwrap, "--version"])[1].removeprefix("bubblewrap").strip()
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    complaint = ""
    for features in dict.fromkeys((numbers, min(numbers, confinement.SIZED_TMPFS))):
        code, complaint = attempt([bwrap, *_smallest_run(features)])
        if code == 0:
            return Probe(Level.BUBBLEWRAP, "", version, bwrap, features)
    return Probe(Level.PLAIN, explain(complaint), version)


def _smallest_run(features: tuple[int, ...]) -> list[str]:
    isolation = confinement.namespaces(features, network=False)
    shown = confinement.system_mounts(network=False)
    return [*isolation, *shown, "--remount-ro", "/", "--", "/bin/sh", "-c", ":"]


def explain(complaint: str) -> str:
    """Turn what bubblewrap said into what is missing and what to do."""
    reason = next((text for sign, text in COMPLAINTS.items() if sign in complaint), "bubblewrap does not work here")
    return f"{reason} ({complaint.splitlines()[-1]})" if complaint else reason
