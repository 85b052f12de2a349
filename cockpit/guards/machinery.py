"""Knows what decides how tests run: such a file can turn a failure into a pass without a fix."""

import posixpath
import re
from itertools import pairwise

from cockpit.domain.evidence import FileChange
from cockpit.domain.outcomes import matches

ALWAYS = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "sitecustomize.py", "usercustomize.py",
    "*.pth", "jest.config.*", "vitest.config.*", "vitest.workspace.*", "karma.conf.*", ".mocharc*", "nose.cfg",
)  # fmt: skip
"""Names whose every change counts, wherever the file lies."""
SHADOWS = ("pytest.py", "unittest.py", "pluggy.py", "pytest/*", "_pytest/*", "unittest/*", "pluggy/*")
"""New files that would be imported in place of a test library."""
SHARED = ("pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "package.json")
"""Files of which only the part about tests counts."""
HEADER = re.compile(rb"^[ \t]*\[{1,2}[\w.: \"'-]+\]{1,2}[ \t]*(?:[#;].*)?\r?$", re.MULTILINE)
SCRIPT_LINE = re.compile(rb"^.*(?:pytest|\"test[\w:-]*\"\s*:|\"jest\"|\"mocha\").*$", re.MULTILINE)


def is_machinery(change: FileChange) -> bool:
    """Tell whether a change can alter which tests run, or how a result is reported."""
    paths = [path for path in (change.path, change.old_path) if path]
    if any(matches(path, ALWAYS) for path in paths):
        return True
    if change.is_new or change.old_path:
        return matches(change.path, SHADOWS)
    return False


def touches_test_settings(change: FileChange) -> bool:
    """Tell whether a shared settings file differs in its part about tests; too large to read counts as yes."""
    if posixpath.basename(change.path) not in SHARED:
        return False
    if (change.old is None and not change.is_new) or (change.new is None and not change.is_deleted):
        return True
    return _test_settings(change.old or b"") != _test_settings(change.new or b"")


def _test_settings(data: bytes) -> list[bytes]:
    """Return the tables whose header speaks of pytest, and single lines that name a test command."""
    starts = [match.start() for match in HEADER.finditer(data)] + [len(data)]
    tables = [data[start:end] for start, end in pairwise(starts)]
    about = [table.split() for table in tables if b"pytest" in table.split(b"]", 1)[0]]
    return [word for words in about for word in words] + [line.strip() for line in SCRIPT_LINE.findall(data)]
