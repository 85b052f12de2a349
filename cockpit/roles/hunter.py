"""Asks for a fix: the front of the prompt, which never changes within an attempt."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from cockpit.domain.serving import Turn


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file, or whole symbols of it, as the model sees it."""

    path: str
    text: str
    is_complete: bool
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Front:
    """Everything the first prompt of an attempt is made of, most stable first."""

    edit_format: str
    card: str
    """What is known of the repository: name, test command, rules."""
    issue: str
    shortlist: tuple[tuple[str, str], ...]
    """Path and reason or outline, best first."""
    files: tuple[ShownFile, ...]
    lessons: tuple[str, ...] = ()
    failing: str = ""
    """Digest of the tests that fail at the base and have to pass."""
    steering: tuple[str, ...] = ()
    """What the operator said before the attempt began."""


def front_turns(front: Front) -> tuple[Turn, Turn]:
    """Return the system turn and the first user turn."""
    return Turn("system", system_text(front.edit_format)), Turn("user", "\n\n".join(_blocks(front)))


def system_text(edit_format: str) -> str:
    """Return the rules for one edit format; frozen for a version, so that every task shares them in the cache."""
    source = resources.files("cockpit.roles") / "prompts" / f"{edit_format}.md"
    return source.read_text("utf-8").strip()


def _blocks(front: Front) -> list[str]:
    blocks = [front.card] if front.card else []
    blocks.append(f"# Issue\n{front.issue.strip()}")
    others = [f"- {path}: {why}" for path, why in front.shortlist]
    if others:
        blocks.append("# Other files that may matter\n" + "\n".join(others))
    blocks.extend(_file_block(item) for item in front.files)
    if front.failing:
        blocks.append(f"# Tests that fail now\n{front.failing}")
    if front.lessons:
        blocks.append("# Ideas that already failed\n" + "\n".join(f"- {lesson}" for lesson in front.lessons))
    blocks.extend(f"# The operator says\n{line}" for line in front.steering)
    blocks.append(f"# Task\n{_instruction(front)}")
    return blocks


def _file_block(item: ShownFile) -> str:
    kind = "Test, must not be changed" if item.is_test else "File" if item.is_complete else "Parts of file"
    fence = fence_for(item.text)
    return f"# {kind}\n{item.path}\n{fence}\n{item.text.rstrip()}\n{fence}"


def fence_for(text: str) -> str:
    """Return a fence longer than any run of backticks at the start of a line in the text."""
    longest = 2
    for line in text.split("\n"):
        stripped = line.lstrip()
        longest = max(longest, len(stripped) - len(stripped.lstrip("`")))
    return "`" * (longest + 1)


def _instruction(front: Front) -> str:
    paths = [item.path for item in front.files if not item.is_test]
    where = paths[0] if len(paths) == 1 else "the file with the bug"
    if front.edit_format == "whole_file":
        return f"Find the bug and answer with one sentence, the path, and the complete corrected text of {where}."
    return f"Find the bug and answer with one sentence, the path, and SEARCH/REPLACE blocks for {where}."


OPENING = "The bug:"
LANGUAGES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript", "go": "go",
    "rs": "rust", "java": "java", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "md": "markdown",
}  # fmt: skip


def bridge_to(path: str, text: str) -> str:
    """Return what leads from the line that names the bug into the complete file."""
    language = LANGUAGES.get(path.rpartition(".")[2], "")
    return f"\n\n{path}\n{fence_for(text)}{language}\n"


def card_of(name: str, test_command: Sequence[str]) -> str:
    """Return the repository card of the first step: name and test command."""
    program, *arguments = test_command or ("",)
    command = " ".join([program.rpartition("/")[2], *arguments])
    return f"# Repository\n{name}" + (f", tested by: {command}" if command else "")
