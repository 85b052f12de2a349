"""Turns the outcomes of one round into exactly one verdict, and a review into exactly one grade."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cockpit.domain.evidence import PatchEvidence, TestedEvidence
from cockpit.domain.labels import is_infrastructure
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.testing import CaseStatus, Comparison, Runner, RunReport, compare


class Verdict(StrEnum):
    """What a round came to."""

    HOLD = "hold"
    """Infrastructure stands in the way: the task waits, nothing counts against the model."""
    RETRY = "retry"
    """Another round; ``failed`` when there is none left."""
    NO_CHANGE = "no_change"
    REVIEW = "review"


class Grade(StrEnum):
    """How much is proven of a patch in review, from least to most."""

    UNPROVEN = "unproven"
    """Something that would have to be known is not."""
    CHECKED = "checked"
    """No test by id, but an exit code that stays 0, or no new error of a type check or lint."""
    NO_REGRESSION = "no_regression"
    """The full set ran on the harvested tree and nothing that passed fails now."""
    PROVEN = "proven"
    """Besides, a test (or a reproduction) that failed passes now."""
    VERIFIED = "verified"
    """Besides, the verifier passes it."""


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """The facts a verdict rests on, next to the outcomes of the guards."""

    base_tree: str
    tree: str
    """Id of the harvested tree."""
    changed_files: int | None = 0
    """Touched paths; None when the harvest failed."""
    hold_label: str = ""
    """An infrastructure label when the round could not be carried out."""
    hold_reason: str = ""
    says_no_change: bool = False
    """The model answered that nothing needs to change."""
    head_tree: str | None = None
    """Tree the deciding run was made on; None when nothing was run."""
    is_by_id: bool = False
    """Baseline and deciding run are both known test by test."""
    is_full_set: bool = False
    """Every steady test of the baseline was run again."""
    exit_codes: tuple[int | None, ...] = ()
    """Of both baseline runs and of the deciding run."""
    flipped: tuple[str, ...] = ()
    """Tests that failed at the baseline and pass now."""
    is_reproduced: bool = False
    """A reproduction fails on base, passes with the patch, and fails again without it."""
    has_clean_checks: bool | None = None
    """Type check and lint show no new error; None when neither was run."""
    verifier_passed: bool | None = None
    """None when no verifier was asked, or when its refusal was already answered by a rework."""
    review_unproven: bool = True
    """Whether a patch that nothing could test may reach review."""

    @property
    def is_empty(self) -> bool:
        """Tell whether the patch holds nothing."""
        return not self.changed_files or not self.tree or self.base_tree == self.tree


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one round came to."""

    verdict: Verdict
    grade: Grade | None = None
    """Set exactly when the verdict is ``review``."""
    label: str = ""
    """Name of the failure (see ``domain.labels``) for ``hold`` and ``retry``."""
    reason: str = ""


ORIGINS_GUARD = "package"
"""Where modules came from is never known of a run read by its exit code; ``checked`` promises nothing about it."""


def facts_of(
    patch: PatchEvidence,
    tested: TestedEvidence | None = None,
    *,
    hold_label: str = "",
    hold_reason: str = "",
    says_no_change: bool = False,
    is_reproduced: bool = False,
    has_clean_checks: bool | None = None,
    verifier_passed: bool | None = None,
    review_unproven: bool = True,
) -> RoundFacts:
    """Read the facts of a round off its evidence; ``tested`` is None when no test run was tried."""
    baseline = tested.baseline if tested else None
    head = tested.head if tested else None
    compared = compare(baseline, head, tested.rerun) if tested and baseline and head else None
    codes = (baseline.first.exit_code, baseline.second.exit_code) if baseline else ()
    return RoundFacts(
        base_tree=patch.base_tree,
        tree=patch.tree,
        changed_files=None if patch.changes is None else len(patch.changes),
        hold_label=hold_label,
        hold_reason=hold_reason,
        says_no_change=says_no_change,
        head_tree=head.tree if head else None,
        is_by_id=_is_by_id(tested),
        is_full_set=compared is not None and not steady_missing(compared),
        exit_codes=(*codes, head.exit_code) if head else codes,
        flipped=really_flipped(compared, head) if compared and head else (),
        is_reproduced=is_reproduced,
        has_clean_checks=has_clean_checks,
        verifier_passed=verifier_passed,
        review_unproven=review_unproven,
    )


def steady_missing(compared: Comparison) -> tuple[str, ...]:
    """Return ids of the baseline that are absent now, those that come and go by themselves left out."""
    return tuple(key for key in compared.missing if key not in compared.flaky)


def really_flipped(compared: Comparison, head: RunReport) -> tuple[str, ...]:
    """Return flipped tests that pass outright; one that is merely expected to fail now proves nothing."""
    return tuple(key for key in compared.flipped if head.results[key] is CaseStatus.PASSED)


def rule(outcomes: Sequence[Outcome], facts: RoundFacts) -> Ruling:
    """Give the one verdict of a round; what a model claims never raises a grade."""
    held = _hold(outcomes, facts)
    if held:
        return held
    if facts.says_no_change and facts.is_empty and all(block.label == "empty_patch" for block in _blocks(outcomes)):
        return Ruling(Verdict.NO_CHANGE, reason="the model answers that nothing needs to change")
    return _retry(outcomes, facts) or _review(outcomes, facts)


def grade(outcomes: Sequence[Outcome], facts: RoundFacts) -> Grade:
    """Grade a patch that no guard blocked; one thing unknown makes it ``unproven``."""
    unknown = {outcome.guard for outcome in outcomes if outcome.status is Status.UNKNOWN}
    if facts.is_by_id and facts.is_full_set and facts.head_tree == facts.tree and not unknown:
        is_proven = bool(facts.flipped) or facts.is_reproduced
        return Grade.PROVEN if is_proven else Grade.NO_REGRESSION
    return Grade.CHECKED if _is_checked(unknown, facts) else Grade.UNPROVEN


def _is_checked(unknown: set[str], facts: RoundFacts) -> bool:
    if facts.head_tree is None:
        return facts.has_clean_checks is True
    has_zero_codes = len(facts.exit_codes) == 3 and all(code == 0 for code in facts.exit_codes)
    is_same_tree = facts.head_tree == facts.tree
    return not facts.is_by_id and is_same_tree and has_zero_codes and unknown <= {ORIGINS_GUARD}


def _is_by_id(tested: TestedEvidence | None) -> bool:
    if tested is None or tested.baseline is None or tested.head is None:
        return False
    runs = (tested.baseline.first, tested.baseline.second, tested.head)
    return all(run.runner is Runner.PYTEST and run.results for run in runs)


def _blocks(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.status is Status.BLOCK]


def _hold(outcomes: Sequence[Outcome], facts: RoundFacts) -> Ruling | None:
    if facts.hold_label:
        return Ruling(Verdict.HOLD, label=facts.hold_label, reason=facts.hold_reason)
    for block in _blocks(outcomes):
        if is_infrastructure(block.label):
            return Ruling(Verdict.HOLD, label=block.label, reason=block.reason)
    if facts.changed_files is None:
        return Ruling(Verdict.HOLD, label="repository_error", reason="the patch could not be read off the worktree")
    return None


def _retry(outcomes: Sequence[Outcome], facts: RoundFacts) -> Ruling | None:
    for block in _blocks(outcomes):
        return Ruling(Verdict.RETRY, label=block.label, reason=block.reason)
    if facts.is_empty:
        return Ruling(Verdict.RETRY, label="empty_patch", reason="nothing differs from the base")
    if facts.head_tree is not None and facts.head_tree != facts.tree:
        return Ruling(Verdict.RETRY, label="false_green", reason="the tests ran on another tree than the patch")
    if facts.verifier_passed is False:
        return Ruling(Verdict.RETRY, label="verifier_reject", reason="the verifier does not pass the patch")
    return None


def _review(outcomes: Sequence[Outcome], facts: RoundFacts) -> Ruling:
    reached = grade(outcomes, facts)
    if reached is Grade.UNPROVEN and not facts.review_unproven:
        reason = "nothing could test the patch, and settings keep unproven patches out of review"
        return Ruling(Verdict.RETRY, label="no_tests_ran", reason=reason)
    if reached is Grade.PROVEN and facts.verifier_passed:
        reached = Grade.VERIFIED
    return Ruling(Verdict.REVIEW, reached, reason=REASONS[reached])


REASONS = {
    Grade.UNPROVEN: "no guard blocked, but nothing proves the patch",
    Grade.CHECKED: "no new error is known; no test was read by its id",
    Grade.NO_REGRESSION: "the full test set ran on this tree and nothing that passed fails",
    Grade.PROVEN: "what failed at the base passes on this tree, and nothing that passed fails",
    Grade.VERIFIED: "proven by tests, and the verifier passes it",
}
