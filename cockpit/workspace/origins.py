"""Tells where the interpreter of a test run finds the project's own modules: in the checkout or elsewhere."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from cockpit.domain.testing import ModuleOrigin
from cockpit.workspace.layout import read_text

PROBE = """
import importlib.util, json, os, sys
found = {}
for name in sys.argv[2:]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        continue
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    real = [place for place in places if place and os.path.exists(place)]
    if real:
        found[name] = os.path.realpath(real[0])
with open(sys.argv[1], "w") as stream:
    json.dump(found, stream)
"""
"""Imports nothing of the project; finding a top-level name does not run its code."""


def origins_probe(python: Path, answer: Path, modules: Iterable[str]) -> tuple[str, ...]:
    """Return the command that writes to ``answer`` where each module would be imported from."""
    return (str(python), "-c", PROBE, str(answer), *modules)


def read_origins(answer: Path) -> dict[str, str] | None:
    """Read the probe's answer: absolute path by module name; None when there is none."""
    try:
        found = json.loads(read_text(answer))
    except ValueError:
        return None
    return {str(name): str(path) for name, path in found.items()} if isinstance(found, dict) else None


def describe_origins(found: Mapping[str, str], checkout: Path) -> tuple[ModuleOrigin, ...]:
    """Say of each module whether it lies inside the checkout, by real paths on both sides."""
    real = checkout.resolve()
    origins = []
    for name, place in sorted(found.items()):
        path = Path(place)
        is_inside = path.is_relative_to(real)
        shown = path.relative_to(real).as_posix() if is_inside else place
        origins.append(ModuleOrigin(name, shown, is_inside))
    return tuple(origins)
