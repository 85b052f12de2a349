"""Remembers which repositories the operator consented to run commands of."""

import json

from cockpit.journal.files import write_atomic
from cockpit.journal.layout import Home
from cockpit.journal.summary import read_object


def trusts(home: Home, repo: str) -> bool:
    """Tell whether the operator consented; ``repo`` is compared as it is written."""
    return repo in _consents(home)


def remember_trust(home: Home, repo: str, at_s: float) -> None:
    """Keep a consent; two at the same instant may keep one only, and the other is asked for again."""
    consents = _consents(home)
    consents.setdefault(repo, at_s)
    write_atomic(home.trust_file, json.dumps({"repositories": consents}, indent=1).encode("ascii"))


def _consents(home: Home) -> dict[str, float]:
    """Return the consents; a file that cannot be read grants nothing."""
    repositories = read_object(home.trust_file).get("repositories", {})
    return repositories if isinstance(repositories, dict) else {}
