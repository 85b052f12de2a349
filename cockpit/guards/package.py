"""Blocks a green that another checkout earned: the tests must import the project's modules from their own tree."""

from collections.abc import Iterator

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.domain.testing import RunReport
from cockpit.guards.wording import count, listed

NAME = "package"
STAGE = Stage.TESTED


def check(evidence: TestedEvidence, _limits: Limits) -> Outcome:
    """Block when any run took one of the project's modules from outside its checkout."""
    runs = list(_runs(evidence))
    outside = [
        f"{origin.module} from {origin.path}" for run in runs for origin in run.origins or () if not origin.is_inside
    ]
    if outside:
        reason = f"the tests ran other code than the patch: {outside[0]}"
        return Outcome(NAME, Status.BLOCK, reason, listed(dict.fromkeys(outside)), "wrong_package")
    if evidence.head is None or any(run.origins is None for run in runs):
        return Outcome(NAME, Status.UNKNOWN, "where the project's modules came from is not known")
    inside = listed(f"{origin.module} from {origin.path}" for origin in evidence.head.origins or ())
    if not inside:
        return Outcome(NAME, Status.WARN, "the tests imported no module of the project in their own process")
    return Outcome(NAME, Status.PASS, f"{count(len(runs), 'run')} used the checkout's own modules", inside)


def _runs(evidence: TestedEvidence) -> Iterator[RunReport]:
    if evidence.baseline:
        yield evidence.baseline.first
        yield evidence.baseline.second
    for run in (evidence.head, evidence.rerun):
        if run:
            yield run
