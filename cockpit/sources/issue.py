"""Reads what a task asks for: an issue as text, from a file or from standard input."""

from pathlib import Path

from cockpit.domain.errors import NotFoundError, UsageError

MAX_BYTES = 200_000
"""The longest issue of 500 real ones has 25 kB; more is a log file given by mistake."""


def issue_from_file(path: Path) -> str:
    """Read an issue from a file."""
    if not path.exists():
        raise NotFoundError(f"{path} does not exist", hint="give the file that holds the issue text")
    try:
        with path.open("rb") as file:
            return issue_from_bytes(file.read(MAX_BYTES + 1), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint="give a readable file") from error


def issue_from_text(text: str, origin: str = "the issue text") -> str:
    """Check an issue given as text (an argument, or a field of a form)."""
    try:
        return issue_from_bytes(text.encode("utf-8"), origin)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{origin} is not valid UTF-8 (character {error.start + 1})", hint="save it as UTF-8"
        ) from error


def issue_from_bytes(content: bytes, origin: str) -> str:
    """Check and decode an issue; ``origin`` names it for a person. Raises ``UsageError``."""
    if len(content) > MAX_BYTES:
        raise UsageError(f"{origin} is longer than {MAX_BYTES // 1000} kB", hint="cut it down to what has to be done")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{origin} is not valid UTF-8 (line {line}, byte {error.start + 1})", hint="save it as UTF-8"
        ) from error
    if not text.strip():
        raise UsageError(f"{origin} is empty", hint="say what has to be done")
    return text
