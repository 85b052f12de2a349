"""What guards report and under which limits."""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Stage(StrEnum):
    """When a guard can judge."""

    STREAM = "stream"
    """While the answer arrives."""
    PATCH = "patch"
    """The patch was harvested from the filesystem."""
    TESTED = "tested"
    """The full test set ran on the harvested tree."""


class Status(StrEnum):
    """What a guard concluded."""

    PASS = "pass"  # noqa: S105  # the word of DESIGN.md, no password
    WARN = "warn"
    BLOCK = "block"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One guard's conclusion with one reason a person can act on."""

    guard: str
    status: Status
    reason: str
    figure: str = ""
    """The measured number or list behind the reason, for example ``42 lines``."""
    label: str = ""
    """Name of the failure (see ``domain.labels``) when the status is ``block``."""


TEST_PATTERNS = (
    "test/*", "tests/*", "testing/*", "spec/*", "*/test/*", "*/tests/*", "*/spec/*", "*/__tests__/*", "__tests__/*",
    "test_*.py", "*/test_*.py", "*_test.py", "*_test.go", "*.test.[jt]s", "*.test.[jt]sx", "*.spec.[jt]s",
    "*.spec.[jt]sx", "conftest.py", "*/conftest.py",
)  # fmt: skip
CI_PATTERNS = (
    ".github/*", ".gitlab-ci.yml", ".circleci/*", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", "tox.ini",
    "noxfile.py", ".pre-commit-config.yaml", "pytest.ini", "setup.cfg", "pyproject.toml", "Makefile",
)  # fmt: skip
LOCK_PATTERNS = (
    "*.lock", "*/*.lock", "package-lock.json", "*/package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml",
    "*/pnpm-lock.yaml", "go.sum", "*/go.sum",
)  # fmt: skip
VENDORED_PATTERNS = ("vendor/*", "*/vendor/*", "third_party/*", "*/third_party/*", "node_modules/*", "*/node_modules/*")


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds in force for one task."""

    max_changed_lines: int = 60
    """Added plus deleted lines; 60 accepts 95.8 % of 500 real fixes, 120 accepts 98.8 %."""
    max_files: int = 3
    """Touched files; 490 of 500 real fixes touch three or fewer."""
    max_deleted_lines: int = 25
    """More deletions than this with ``max_net_deletion`` exceeded is a warning."""
    max_net_deletion: int = 10
    test_patterns: tuple[str, ...] = TEST_PATTERNS
    ci_patterns: tuple[str, ...] = CI_PATTERNS
    lock_patterns: tuple[str, ...] = LOCK_PATTERNS
    vendored_patterns: tuple[str, ...] = VENDORED_PATTERNS
    review_unproven: bool = True
    """Whether a patch that nothing could test may reach review (yes by hand, no in a hunt)."""

    def is_test(self, path: str) -> bool:
        """Tell whether a path is part of the tests a patch is judged by."""
        return matches(path, self.test_patterns)


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a repository path matches one of the shell patterns; ``*`` crosses folders."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path, pattern) or fnmatchcase(name, pattern) for pattern in patterns)
