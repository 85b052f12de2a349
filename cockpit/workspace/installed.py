"""Reduces an installed project to its metadata and entry points, so that only a checkout's sources can be imported.

What the build made and the checkout lacks (version files, compiled modules) is kept apart, to be laid over a checkout.
"""

import csv
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from cockpit.workspace.layout import NO_PROJECT_CODE, iter_files, read_text, source_roots

COMPILED = frozenset({".c", ".cc", ".cpp", ".cxx", ".f", ".f90", ".h", ".hpp", ".pxd", ".pyx", ".rs"})
BINARY = frozenset({".so", ".pyd", ".dylib"})


@dataclass(frozen=True, slots=True)
class Reduced:
    """What is left to know of a project that was installed and reduced."""

    roots: tuple[str, ...] = ()
    """Folders that imports start from, beyond those its layout names."""
    modules: tuple[str, ...] = ()
    """Top-level names the project installs."""
    has_binaries: bool = False


def reduce_installed(site_packages: Path, copy: Path, checkout: Path, generated: Path) -> Reduced:
    """Move or delete the modules that were installed from ``copy``; do nothing when it was not installed.

    ``checkout`` says what a checkout holds: a build may have left files in the copy.
    """
    info = _info_of(site_packages, copy)
    if info is None:
        return Reduced()
    paths = list(_recorded(info))
    names = {PurePosixPath(path).parts[0].split(".")[0] for path in paths}
    modules = {name for name in names if name.isidentifier() and not name.startswith("__")}
    extra = _extra_roots(checkout, paths)
    roots = (*extra, *source_roots(checkout))
    made = [path for path in paths if _settle(site_packages, path, checkout, roots, generated)]
    _drop_empty(site_packages, paths)
    has_binaries = any(PurePosixPath(path).suffix in BINARY for path in made)
    return Reduced(extra, tuple(sorted(modules - NO_PROJECT_CODE)), has_binaries)


def lay_over(generated: Path, checkout: Path) -> dict[str, str]:
    """Copy generated files into a checkout where nothing stands yet; return their SHA-256 by path."""
    laid: dict[str, str] = {}
    for source in sorted(path for path in generated.rglob("*") if path.is_file()):
        target = checkout / source.relative_to(generated)
        is_inside = target.parent.is_dir() and target.parent.resolve().is_relative_to(checkout.resolve())
        if not is_inside or target.exists() or target.is_symlink():
            continue
        shutil.copy2(source, target)
        laid[target.relative_to(checkout).as_posix()] = digest_of(target)
    return laid


def digest_of(path: Path) -> str:
    """Return a file's SHA-256; empty when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def compiled_digest(checkout: Path) -> str:
    """Return one digest over all sources that need a compiler; empty when there are none."""
    paths = [path for path in iter_files(checkout) if PurePosixPath(path).suffix in COMPILED]
    total = hashlib.sha256()
    for path in paths:
        total.update(f"{path}\0{digest_of(checkout / path)}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()[:16] if paths else ""


def _info_of(site_packages: Path, copy: Path) -> Path | None:
    for path in site_packages.glob("*.dist-info/direct_url.json"):
        url = json.loads(read_text(path) or "{}").get("url", "")
        if url.startswith("file:") and Path(unquote(urlsplit(url).path)).resolve() == copy.resolve():
            return path.parent
    return None


def _recorded(info: Path) -> Iterator[str]:
    """Yield the installed files that are modules or their data: no metadata, no scripts, no bytecode."""
    for row in csv.reader(read_text(info / "RECORD").splitlines()):
        parts = PurePosixPath(row[0]).parts if row else ()
        if parts and parts[0] not in ("..", "/", info.name) and "__pycache__" not in parts:
            yield row[0]


def _extra_roots(checkout: Path, paths: list[str]) -> tuple[str, ...]:
    """Find where the sources of installed packages lie when the layout did not tell: at most three folders deep."""
    known = source_roots(checkout)
    missing = [path for path in paths if not any((checkout / root / path).exists() for root in known)]
    unplaced = [path for path in missing if not any((checkout / root / Path(path).parts[0]).exists() for root in known)]
    found = set()
    for path in unplaced:
        for pattern in (f"*/{path}", f"*/*/{path}"):
            found |= {place.parents[len(Path(path).parts) - 1] for place in checkout.glob(_literal(pattern))}
    return tuple(sorted(place.relative_to(checkout).as_posix() for place in found))


def _literal(pattern: str) -> str:
    return pattern.replace("[", "[[]")


def _settle(site_packages: Path, path: str, checkout: Path, roots: tuple[str, ...], generated: Path) -> bool:
    """Take one file out of site-packages; return True when it was kept as generated."""
    installed = site_packages / path
    if not installed.is_file():
        return False
    if path.startswith("__editable__") or any((checkout / root / path).exists() for root in roots):
        installed.unlink()
        return False
    root = next((root for root in roots if (checkout / root / Path(path).parts[0]).is_dir()), None)
    if root is None:  # no place in a checkout: it stays importable, and the origins of a run will show it
        return False
    target = generated / root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    installed.replace(target)
    return True


def _drop_empty(site_packages: Path, paths: list[str]) -> None:
    """Remove folders that hold nothing any more: left behind, they would be importable as namespace packages."""
    tops = {site_packages / PurePosixPath(path).parts[0] for path in paths}
    for top in (path for path in tops if path.is_dir()):
        folders = sorted((path for path in [top, *top.rglob("*")] if path.is_dir()), key=lambda path: -len(path.parts))
        for folder in folders:
            if not any(entry for entry in folder.iterdir() if entry.name != "__pycache__"):
                shutil.rmtree(folder)
