"""Collects the package index settings of this machine, so that pip finds the same packages inside a sandbox.

pip's own files are read here because a sandbox hides the home folder and the environment they lie in.
"""

import configparser
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import platformdirs

SECTIONS = ("global", "install")
KEYS = (
    "index-url", "extra-index-url", "find-links", "no-index", "trusted-host", "cert", "client-cert", "proxy",
    "timeout", "default-timeout", "retries", "constraint", "prefer-binary", "only-binary", "no-binary",
)  # fmt: skip
NETWORK = re.compile(
    r"(?i)(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO"
)
"""Variables of this machine without which a download fails: proxies and certificates."""


def pip_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``PIP_*`` variables that say what pip's files and the environment say together (the later wins)."""
    merged: dict[str, str] = {}
    for path in _files(environ):
        merged |= _read(path)
    for key in KEYS:
        if value := environ.get(_variable(key)):
            merged[key] = value
    found = {_variable(key): " ".join(value.split()) for key, value in merged.items()}
    return found | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def network_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy and certificate variables that a command with network needs."""
    return {name: value for name, value in environ.items() if NETWORK.fullmatch(name)}


def named_paths(variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the existing local files and folders that such variables point to.

    An index on this disk links to files beside it, so its parent is named too, unless that is a top-level folder.
    """
    found = []
    for word in " ".join(variables.values()).split():
        is_address = word.startswith("file:")
        path = Path(unquote(urlsplit(word).path)) if is_address else Path(word)
        if path.is_absolute() and path != Path(os.devnull) and path.exists():
            found += [path, *([path.parent] if is_address and len(path.parent.parts) > 2 else [])]
    return tuple(dict.fromkeys(found))


def redact(text: str) -> str:
    """Hide user names and passwords in addresses."""
    return re.sub(r"(?<=://)[^/\s@]+(?=@)", "***", text)


def _files(environ: Mapping[str, str]) -> list[Path]:
    """Return pip's configuration files in pip's order: machine, user, interpreter, named."""
    chosen = environ.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return []
    machine = [Path(folder) / "pip" for folder in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep)]
    folders = [*machine, Path("/etc"), Path.home() / ".pip", platformdirs.user_config_path("pip"), Path(sys.prefix)]
    return [folder / "pip.conf" for folder in folders] + ([Path(chosen)] if chosen else [])


def _read(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, "utf-8")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return {}
    return {
        key: value
        for section in SECTIONS
        if parser.has_section(section)
        for key, value in parser.items(section)
        if key in KEYS
    }


def _variable(key: str) -> str:
    return f"PIP_{key.upper().replace('-', '_')}"
