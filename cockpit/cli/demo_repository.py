"""Makes a small git repository of our own with three bugs of different kinds, and says what to ask about each."""

from dataclasses import dataclass
from pathlib import Path

from cockpit.adapters.git import Git
from cockpit.domain.ask import Ask, Budget
from cockpit.domain.errors import CockpitError

FILES = Path(__file__).parent / "demo_files"
SUFFIX = ".txt"
"""Keeps the files of the demo out of every tool that looks for code."""
WHO = {
    "GIT_AUTHOR_NAME": "Cockpit demo",
    "GIT_AUTHOR_EMAIL": "demo@cockpit.invalid",
    "GIT_AUTHOR_DATE": "2024-03-01T12:00:00 +0000",
    "GIT_COMMITTER_NAME": "Cockpit demo",
    "GIT_COMMITTER_EMAIL": "demo@cockpit.invalid",
    "GIT_COMMITTER_DATE": "2024-03-01T12:00:00 +0000",
}
"""A fixed author and date: the commit is the same every time, so that environment and baseline come from the cache."""

ATTEMPTS = 4
"""A 1.5B model that answers with the file unchanged at first often sees the bug in a later, warmer attempt."""


@dataclass(frozen=True, slots=True)
class DemoBug:
    """One of the three bugs."""

    name: str
    """Name of the module it is in, and of its issue file."""
    test: str
    """The only test that fails because of it."""


BUGS = (
    DemoBug("paging", "tests/test_paging.py::test_pages_are_counted_with_the_last_short_one"),
    DemoBug("fees", "tests/test_fees.py::test_ten_years_are_enough_for_the_discount"),
    DemoBug("titles", "tests/test_titles.py::test_books_without_a_title_come_first"),
)


def make_repository(demos: Path) -> Path:
    """Make the repository in the first free numbered folder below ``demos`` and return its path."""
    folder = _free_folder(demos)
    try:
        for path, content in demo_files().items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise CockpitError(f"cannot write the demo to {folder}: {error.strerror}", hint="see to that disk") from error
    (folder / ".git").mkdir()
    git = Git(folder / ".git", folder)
    Git(folder / ".git").run("init", "-q", "--template=", "--initial-branch=main")
    git.run("config", "core.bare", "false")  # with its folder named, git takes a new repository for a bare one
    git.run("add", "--all")
    git.run("commit", "-q", "--no-verify", "-m", "Start the reading room", env=WHO)
    return folder


def demo_files() -> dict[str, bytes]:
    """Return the repository's files by their path in it."""
    root = FILES / "repository"
    named = {path.relative_to(root).as_posix().removesuffix(SUFFIX): path for path in sorted(root.rglob("*" + SUFFIX))}
    return {".gitignore" if name == "gitignore" else name: path.read_bytes() for name, path in named.items()}


def ask_of(bug: DemoBug, repository: Path, *, model: str = "") -> Ask:
    """Return what to ask about one of the bugs."""
    issue = (FILES / "issues" / f"{bug.name}.md").read_text("utf-8")
    return Ask(repo=str(repository), issue=issue, expect=(bug.test,), model=model, budget=Budget(attempts=ATTEMPTS))


def _free_folder(demos: Path) -> Path:
    number = 1
    while True:
        folder = demos / str(number)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise CockpitError(f"cannot make {folder}: {error.strerror}", hint="set COCKPIT_HOME elsewhere") from error
        else:
            return folder
