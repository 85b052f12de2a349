"""Finds the directories an interpreter needs, so that a command sees its tools without seeing the home."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

BIN_NAMES = frozenset({"bin", "sbin", "shims", "Scripts"})
MIXED = frozenset({".local", ".config", ".cache", ".cargo", ".npm"})
"""Directories that hold programs beside tokens and keyrings: only their ``bin`` is shown."""
TOOLS = ("python3", "python", "node", "npm", "ruby", "java", "go", "cargo", "rustc", "uv", "make")
ROOT_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "JAVA_HOME", "GOROOT", "RUSTUP_HOME")
SYSTEM_TOPS = frozenset({("usr",), ("bin",), ("sbin",), ("lib",), ("lib64",), ("etc",)})
LINKS_FOLLOWED = 20


def toolchain_roots(argv: Sequence[str], env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the directories to show read-only: every program on PATH, and the real installation behind it.

    Follows links, virtual environments, shims and ``#!`` lines. Never returns the home, what contains it, or a
    directory of the home that also holds secrets. What /usr provides is left out.
    """
    search = env.get("PATH", "")
    directories = [entry for entry in map(Path, search.split(os.pathsep)) if entry.is_absolute()]
    found: list[Path] = [root for directory in directories for root in _roots_of_directory(directory)]
    for tool in (*argv[:1], *TOOLS):
        if located := shutil.which(tool, path=search):
            found += _roots_of_program(Path(located))
    found += [Path(env[name]) for name in ROOT_VARIABLES if env.get(name)]
    return tuple(dict.fromkeys(root for root in found if _may_show(root)))


def _roots_of_program(program: Path) -> Iterator[Path]:
    for name in _chain(program.absolute()):
        yield from _roots_of_directory(name.parent, only=name)
        if interpreter := _shebang(name):
            yield from (root for hop in _chain(interpreter) for root in _roots_of_directory(hop.parent, only=hop))


def _chain(path: Path) -> Iterator[Path]:
    """Yield every name a file goes by: itself, the link it is, the link that one is, and the real file."""
    for _ in range(LINKS_FOLLOWED):
        yield path
        try:
            target = path.readlink()
        except OSError:
            break
        path = Path(os.path.normpath(path.parent / target))
    yield path.resolve()


def _shebang(program: Path) -> Path | None:
    try:
        with program.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    words = line[2:].split()
    return Path(os.fsdecode(words[0])) if line.startswith(b"#!") and words else None


def _roots_of_directory(directory: Path, only: Path | None = None) -> Iterator[Path]:
    """Yield the installation a directory of programs belongs to, else the directory, else the one program."""
    prefix = directory.parent
    if directory.name in BIN_NAMES and prefix.name not in MIXED and _may_show(prefix):
        yield prefix
        yield from _base_of_environment(prefix)
    elif _may_show(directory):
        yield directory
    elif only is not None:
        yield only


def _base_of_environment(prefix: Path) -> Iterator[Path]:
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for key, _, value in (line.partition("=") for line in lines):
        base = Path(value.strip())
        if key.strip() == "home" and base.is_absolute():
            yield from _roots_of_directory(base)
            yield from _roots_of_directory(base.resolve())


def _may_show(path: Path) -> bool:
    """Tell whether a path is narrow enough: below a second level, not the home and not around it."""
    if not path.is_absolute() or not os.access(path, os.F_OK) or _is_system(path):
        return False
    return all(_is_narrow(name) for name in (path, path.resolve()))


def _is_narrow(path: Path) -> bool:
    homes = _homes()
    is_around_home = any(home.is_relative_to(path) for home in homes)
    is_mixed = any(path.parent == home and path.name in MIXED for home in homes)
    return len(path.parts) > 2 and not is_around_home and not is_mixed


def _homes() -> Iterable[Path]:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    return {home, home.resolve()}


def _is_system(path: Path) -> bool:
    return path.parts[1:2] in SYSTEM_TOPS
