"""Compares runs of a project's tests, test by test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Runner(StrEnum):
    """How a run's results were read."""

    PYTEST = "pytest"
    """By test id, from pytest's own reports."""
    EXIT_CODE = "exit_code"
    """Only the exit code is known; such a run proves ``checked`` at most."""


class CaseStatus(StrEnum):
    """What became of one test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


@dataclass(frozen=True, slots=True)
class ModuleOrigin:
    """Where the interpreter of a test run found a package of the project."""

    module: str
    path: str
    """As seen in the run; relative to the checkout when it lies inside it."""
    is_inside: bool


@dataclass(frozen=True, slots=True)
class RunReport:
    """Facts about one run of a test command on one tree."""

    command: tuple[str, ...]
    tree: str
    """Id of the git tree that was checked out for this run."""
    runner: Runner
    exit_code: int | None
    """None when the run was killed or never started."""
    timed_out: bool
    elapsed_s: float
    level: str
    """Sandbox level, ``bubblewrap`` or ``plain``."""
    results: Mapping[str, CaseStatus] = field(default_factory=dict)
    """Status by test id; empty when only the exit code is known."""
    origins: tuple[ModuleOrigin, ...] | None = None
    """Where the project's own modules came from; None when that could not be read."""
    written: tuple[str, ...] = ()
    """Paths that the run changed or left in its checkout."""
    tail: str = ""
    """The end of the output, at most 20,000 characters."""
    log: str = ""
    """Path of the full (capped) log, relative to the task folder."""
    problem: str = ""
    """Why the run could not tell anything: command not found, import error before collection."""

    @property
    def failing(self) -> frozenset[str]:
        """Ids of tests that failed or broke."""
        return frozenset(key for key, status in self.results.items() if status in BAD)

    @property
    def passing(self) -> frozenset[str]:
        """Ids of tests that passed."""
        return frozenset(key for key, status in self.results.items() if status in GOOD)

    @property
    def skipped(self) -> frozenset[str]:
        """Ids of tests that were skipped."""
        return frozenset(key for key, status in self.results.items() if status is CaseStatus.SKIPPED)


GOOD = frozenset({CaseStatus.PASSED, CaseStatus.XFAILED, CaseStatus.XPASSED})
"""An unexpected pass under strict rules is reported as failed by the runner itself."""
BAD = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})


@dataclass(frozen=True, slots=True)
class Baseline:
    """Two runs of the test command on the untouched tree."""

    first: RunReport
    second: RunReport

    @property
    def flaky(self) -> frozenset[str]:
        """Ids whose status differs between the two runs."""
        ids = self.first.results.keys() | self.second.results.keys()
        return frozenset(key for key in ids if self.first.results.get(key) != self.second.results.get(key))

    @property
    def passing(self) -> frozenset[str]:
        """Ids that passed both times."""
        return self.first.passing & self.second.passing

    @property
    def failing(self) -> frozenset[str]:
        """Ids that failed both times."""
        return self.first.failing & self.second.failing

    @property
    def skipped(self) -> frozenset[str]:
        """Ids skipped both times."""
        return self.first.skipped & self.second.skipped

    @property
    def ids(self) -> frozenset[str]:
        """Every id seen in either run."""
        return frozenset(self.first.results.keys() | self.second.results.keys())


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs, test by test, between a baseline and a run on the patched tree."""

    flipped: tuple[str, ...]
    """Failed at the baseline, pass now."""
    regressed: tuple[str, ...]
    """Passed at the baseline, fail now (and are not flaky)."""
    missing: tuple[str, ...]
    """Known at the baseline, absent now."""
    newly_skipped: tuple[str, ...]
    still_failing: tuple[str, ...]
    flaky: tuple[str, ...]
    new_failing: tuple[str, ...]
    """Not known at the baseline, fail now."""


def compare(baseline: Baseline, head: RunReport, rerun: RunReport | None = None) -> Comparison:
    """Compare a run on the patched tree with the baseline; a rerun tells flaky tests from regressions.

    A test that differs between the two baseline runs, or between ``head`` and ``rerun``, is flaky: it is neither
    blamed on the patch nor credited to it.
    """
    shaken = set(baseline.flaky)
    if rerun is not None:
        both = head.results.keys() & rerun.results.keys()
        shaken |= {key for key in both if head.results[key] != rerun.results[key]}
    steady = {key: status for key, status in head.results.items() if key not in shaken}
    passed = {key for key, status in steady.items() if status is CaseStatus.PASSED}
    failing = {key for key, status in steady.items() if status in BAD}
    skipped = {key for key, status in steady.items() if status is CaseStatus.SKIPPED}
    return Comparison(
        flipped=tuple(sorted(baseline.failing & passed)),
        regressed=tuple(sorted((baseline.passing | baseline.skipped) & failing)),
        missing=tuple(sorted(baseline.ids - head.results.keys())),
        newly_skipped=tuple(sorted((baseline.passing | baseline.failing) & skipped)),
        still_failing=tuple(sorted(baseline.failing & failing)),
        flaky=tuple(sorted(shaken)),
        new_failing=tuple(sorted(failing - baseline.ids)),
    )
