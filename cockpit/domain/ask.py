"""What was asked: the contents of ``task.toml``, written once and never edited."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a task may cost; None takes the setting."""

    rounds: int | None = None
    attempts: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    """Generated tokens of all steps."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A task as the operator put it."""

    repo: str
    """A path (absolute) or a git URL."""
    issue: str
    title: str = ""
    """One line; the first line of the issue when not given."""
    base: str = ""
    """Commit, branch or tag; empty = HEAD of the source repository."""
    test: str = ""
    """Test command; empty = found by looking at the repository."""
    setup: str = ""
    model: str = ""
    """Empty = the server's; ``replay:DIR`` answers from a recorded task."""
    expect: tuple[str, ...] = ()
    """Ids of tests that must pass in the end, beside those the issue names."""
    trust: bool = False
    """The operator consents to run this repository's commands, with network in setup."""
    budget: Budget = Budget()


def title_of(ask: Ask) -> str:
    """Return the title, by default the first line of the issue that says something."""
    if ask.title:
        return ask.title
    lines = (line.strip().lstrip("#").strip() for line in ask.issue.split("\n"))
    return next((line for line in lines if line), "untitled")[:120]
