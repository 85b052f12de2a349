"""Says what a command may touch, and turns that into the arguments of bubblewrap."""

import os
import pwd
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

MIB = 1024 * 1024

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
ETC = (
    "alternatives", "ca-certificates*", "crypto-policies", "debian_version", "fonts", "gai.conf", "host.conf", "hosts",
    "java-*-openjdk", "ld.so.*", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release", "pki/ca-trust",
    "pki/tls/certs", "pki/tls/cert.pem", "protocols", "services", "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf",
    "terminfo", "timezone",
)  # fmt: skip
"""The files of /etc that compilers, interpreters and TLS read; nothing with a secret or a name in it."""

NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
SIZED_TMPFS = (0, 7)
"""First version of bubblewrap that limits the size of a tmpfs."""
NO_NESTING = (0, 8)
"""First version that can forbid further user namespaces, the door most kernel holes are reached by."""


class Level(StrEnum):
    """How far a command is kept away from the machine."""

    BUBBLEWRAP = "bubblewrap"
    """Own namespaces: no network, no home, only what is named can be written."""
    PLAIN = "plain"
    """Limits and a clean end only: the command sees files and network as the user does."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a command may touch and use; paths and network bind only at the level ``bubblewrap``.

    The working directory can always be read.
    """

    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    network: bool = False
    memory_mib: int = 4096
    """Private memory of one process, MiB."""
    processes: int = 512
    """Most threads of all processes together, as the kernel counts them."""
    wall_s: float = 900
    """Seconds the command may run; time while frozen does not count."""
    file_mib: int = 1024
    """Size of one file, and of the private /tmp, MiB."""
    output_mib: int = 64
    """Output kept on disk, MiB."""


class Mount(NamedTuple):
    """One directory or file that is visible inside."""

    target: Path
    source: Path
    is_writable: bool

    @property
    def arguments(self) -> list[str]:
        """The words bubblewrap wants for this mount."""
        return ["--bind" if self.is_writable else "--ro-bind", str(self.source), str(self.target)]


def plan_mounts(readable: Iterable[Path], writable: Iterable[Path]) -> list[Mount]:
    """Return the mounts in order, outer before inner; a path that is already visible as wanted is left out.

    A path with a symbolic link in it is shown under both names, so that either can be used inside.
    """
    wanted: dict[Path, Mount] = {}
    for path in readable:
        wanted |= _mounts_of(path, is_writable=False)
    for path in writable:
        wanted |= _mounts_of(path, is_writable=True)
    kept: list[Mount] = []
    for mount in sorted(wanted.values(), key=lambda mount: (len(mount.target.parts), mount.target)):
        if not _is_covered(mount, kept):
            kept.append(mount)
    return kept


def _mounts_of(path: Path, *, is_writable: bool) -> dict[Path, Mount]:
    literal, real = Path(os.path.normpath(path.absolute())), path.resolve()
    if not os.access(real, os.F_OK):  # unlike exists() it never raises
        return {}
    return {target: Mount(target, real, is_writable) for target in (real, literal)}


def _is_covered(mount: Mount, outer: Sequence[Mount]) -> bool:
    around = [other for other in outer if mount.target.is_relative_to(other.target)]
    if any(mount.target.is_relative_to(path) for path in SYSTEM) and not mount.is_writable:
        return True
    if not around:
        return False
    is_alias = mount.target != mount.source
    return is_alias or around[-1].is_writable == mount.is_writable


def bwrap_arguments(
    confinement: Confinement, roots: Iterable[Path], *, cwd: Path, env: Mapping[str, str], version: tuple[int, ...]
) -> list[str]:
    """Return the arguments of bubblewrap, without its name and without the command."""
    mounts = plan_mounts((cwd, *roots, *confinement.readable), confinement.writable)
    return [
        *namespaces(version, network=confinement.network),
        *system_mounts(network=confinement.network),
        *_private_places(confinement, version, env.get("HOME", ""), mounts),
        *(word for mount in mounts for word in mount.arguments),
        "--remount-ro", "/",
        *(word for name, value in sorted(inside_environment(env).items()) for word in ("--setenv", name, value)),
        "--chdir", str(cwd),
    ]  # fmt: skip


def namespaces(version: tuple[int, ...], *, network: bool) -> list[str]:
    """Return the arguments that cut a command off from the processes and the network of the machine."""
    lonely = [] if network else ["--unshare-net"]
    nesting = ["--disable-userns"] if version >= NO_NESTING else []
    return [*NAMESPACES, *lonely, *nesting, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]


def system_mounts(*, network: bool) -> list[str]:
    """Return the arguments that show the system's programs and libraries, read-only."""
    arguments: list[str] = []
    for path in map(Path, SYSTEM):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            arguments += ["--ro-bind", str(path), str(path)]
    names = (*ETC, "resolv.conf") if network else ETC
    for path in (found for name in names for found in sorted(Path("/etc").glob(name))):
        arguments += ["--ro-bind-try", str(path), str(path)]
    cpus = "/sys/devices/system/cpu"
    return [*arguments, "--ro-bind-try", cpus, cpus, "--proc", "/proc", "--dev", "/dev"]


def _private_places(
    confinement: Confinement, version: tuple[int, ...], home: str, mounts: Sequence[Mount]
) -> list[str]:
    size = ["--size", str(confinement.file_mib * MIB)] if version >= SIZED_TMPFS else []
    places = ["/tmp", "/dev/shm"]  # noqa: S108 - these are the names inside
    if home and not any(Path(home).is_relative_to(mount.target) for mount in mounts):
        places.append(home)
    tmpfs = [word for place in places for word in (*size, "--perms", "1777", "--tmpfs", place)]
    return [*tmpfs, "--remount-ro", "/dev", "--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]  # noqa: S108  # a name inside


def inside_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for inside: a TMPDIR below the home becomes /tmp, which is private there.

    Short matters: a socket below a deep temporary directory exceeds the 107 bytes its path may have.
    """
    inside = dict(env)
    if inside.get("TMPDIR", "").startswith(inside.get("HOME", "") + "/"):
        inside["TMPDIR"] = "/tmp"  # noqa: S108  # the name inside
    return inside


def account_files(home: str) -> dict[str, str]:
    """Return /etc/passwd and /etc/group for inside: this user and nobody else's name."""
    uid, gid = os.getuid(), os.getgid()
    root = "" if uid == 0 else "root:x:0:0::/:/bin/sh\n"
    users = f"{_user_name(uid)}:x:{uid}:{gid}::{home or '/'}:/bin/sh\n{root}nobody:x:65534:65534::/:/bin/false\n"
    groups = f"{_user_name(uid)}:x:{gid}:\nnogroup:x:65534:\n"
    return {"/etc/passwd": users, "/etc/group": groups}


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "user"
