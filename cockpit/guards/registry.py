"""Lists the guards in the order they are asked, and asks them all."""

from collections.abc import Callable
from typing import Final

from cockpit.domain.evidence import PatchEvidence, TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome
from cockpit.guards import (
    answer,
    applied,
    baseline,
    bloat,
    bytes,  # the guard's own name; the builtin is not used here
    clean_base,
    no_op,
    no_regression,
    package,
    path,
    scope,
    syntax,
    target,
    tests_ran,
    unique_search,
)

PatchGuard = Callable[[PatchEvidence, Limits], Outcome]
TestedGuard = Callable[[TestedEvidence, Limits], Outcome]

PATCH_GUARDS: Final[tuple[PatchGuard, ...]] = tuple(
    guard.check for guard in (answer, unique_search, no_op, path, applied, clean_base, bytes, bloat, scope, syntax)
)
"""Asked of every harvested patch; the first block names the round."""
TESTED_GUARDS: Final[tuple[TestedGuard, ...]] = tuple(
    guard.check for guard in (baseline, package, tests_ran, no_regression, target)
)
"""Asked after the full test set ran on the harvested tree."""


def run_patch_guards(evidence: PatchEvidence, limits: Limits) -> tuple[Outcome, ...]:
    """Ask every patch guard; each reports, also when it passes."""
    return tuple(check(evidence, limits) for check in PATCH_GUARDS)


def run_tested_guards(evidence: TestedEvidence, limits: Limits) -> tuple[Outcome, ...]:
    """Ask every guard of a tested patch; each reports, also when it passes."""
    return tuple(check(evidence, limits) for check in TESTED_GUARDS)
