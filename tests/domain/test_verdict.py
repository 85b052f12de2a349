from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.evidence import EditRefusal, PatchEvidence, SyntaxDelta, TestedEvidence
from cockpit.domain.labels import LABELS, is_infrastructure
from cockpit.domain.outcomes import Limits, Outcome, Status
from cockpit.domain.testing import CaseStatus, ModuleOrigin
from cockpit.domain.verdict import Grade, RoundFacts, Ruling, Verdict, facts_of, rule
from cockpit.guards.registry import run_patch_guards, run_tested_guards
from tests.evidencekit import (
    BASE,
    FAILED,
    PASSED,
    SKIPPED,
    after_tests,
    base,
    change,
    code_base,
    code_run,
    new_file,
    patch,
    run,
)

FIXED = {"t.py::a": FAILED, "t.py::b": PASSED}
GREEN = {"t.py::a": PASSED, "t.py::b": PASSED}


def decide(evidence: PatchEvidence, tested: TestedEvidence | None = None, **values: Any) -> Ruling:  # noqa: ANN401  # any fact of a round
    outcomes = run_patch_guards(evidence, Limits())
    if tested is not None:
        tested = replace(tested, patch=evidence)
        outcomes += run_tested_guards(tested, Limits())
    return rule(outcomes, facts_of(evidence, tested, **values))


PROVEN = after_tests(base(FIXED), run(GREEN))
STEADY = after_tests(base(GREEN), run(GREEN))
UNTESTED = after_tests(None, None, problem="no tests found")


@pytest.mark.parametrize(
    ("tested", "values", "grade"),
    [
        (PROVEN, {}, Grade.PROVEN),
        (PROVEN, {"verifier_passed": True}, Grade.VERIFIED),
        (STEADY, {}, Grade.NO_REGRESSION),
        (STEADY, {"verifier_passed": True}, Grade.NO_REGRESSION),
        (STEADY, {"is_reproduced": True}, Grade.PROVEN),
        (after_tests(base(FIXED), run(FIXED)), {}, Grade.NO_REGRESSION),
        (after_tests(code_base(0), code_run(0)), {}, Grade.CHECKED),
        (after_tests(code_base(0), code_run(0)), {"verifier_passed": True}, Grade.CHECKED),
        (after_tests(code_base(1), code_run(0)), {}, Grade.UNPROVEN),
        (after_tests(code_base(1), code_run(1)), {}, Grade.UNPROVEN),
        (after_tests(code_base(0, 1), code_run(0)), {}, Grade.UNPROVEN),
        (after_tests(None, code_run(0)), {}, Grade.UNPROVEN),
        (after_tests(None, run(GREEN)), {}, Grade.UNPROVEN),
        (after_tests(base(FIXED), run(GREEN, origins=None)), {}, Grade.UNPROVEN),
        (after_tests(base(FIXED, problem="killed"), run(GREEN)), {}, Grade.UNPROVEN),
        (UNTESTED, {}, Grade.UNPROVEN),
        (UNTESTED, {"verifier_passed": True}, Grade.UNPROVEN),
        (UNTESTED, {"has_clean_checks": True}, Grade.CHECKED),
        (None, {"has_clean_checks": False}, Grade.UNPROVEN),
        (None, {}, Grade.UNPROVEN),
    ],
)
def test_a_patch_without_a_block_reaches_review_with_exactly_this_grade(
    tested: TestedEvidence | None, values: dict[str, Any], grade: Grade
) -> None:
    ruling = decide(patch(), tested, **values)
    assert (ruling.verdict, ruling.grade, ruling.label) == (Verdict.REVIEW, grade, "")
    assert ruling.reason


@pytest.mark.parametrize("label", [label for label in LABELS if is_infrastructure(label)])
def test_infrastructure_holds_the_task_even_beside_a_block(label: str) -> None:
    ruling = decide(patch(changes=()), PROVEN, hold_label=label, hold_reason="away")
    assert ruling == Ruling(Verdict.HOLD, None, label, "away")


def test_an_infrastructure_label_on_an_answer_holds_too() -> None:
    ruling = decide(patch(answer_label="ctx_truncated"))
    assert (ruling.verdict, ruling.label) == (Verdict.HOLD, "ctx_truncated")


def test_a_failed_harvest_holds_rather_than_blames_the_model() -> None:
    ruling = decide(patch(changes=None), UNTESTED)
    assert (ruling.verdict, ruling.label) == (Verdict.HOLD, "repository_error")


def test_the_first_block_names_the_retry() -> None:
    ruling = decide(patch(changes=(), refusals=(EditRefusal("search_missing", "a.py", "not there"),)))
    assert (ruling.verdict, ruling.label, ruling.reason) == (Verdict.RETRY, "search_missing", "a.py: not there")


def test_nothing_to_change_is_believed_only_of_an_untouched_tree() -> None:
    untouched = patch(tree=BASE, changes=(), written=(), syntax=())
    assert decide(untouched, says_no_change=True).verdict is Verdict.NO_CHANGE
    assert decide(untouched).label == "empty_patch"
    assert decide(patch(), PROVEN, says_no_change=True).grade is Grade.PROVEN


def test_nothing_to_change_does_not_cover_up_another_block() -> None:
    evidence = patch(tree=BASE, changes=(), written=(), dirty_base=("x",))
    assert decide(evidence, says_no_change=True).verdict is Verdict.RETRY


def test_an_unproven_patch_stays_out_of_review_when_settings_say_so() -> None:
    ruling = decide(patch(), UNTESTED, review_unproven=False)
    assert (ruling.verdict, ruling.grade, ruling.label) == (Verdict.RETRY, None, "no_tests_ran")
    assert decide(patch(), STEADY, review_unproven=False).grade is Grade.NO_REGRESSION


def test_the_verifier_can_hold_back() -> None:
    ruling = decide(patch(), PROVEN, verifier_passed=False)
    assert (ruling.verdict, ruling.label) == (Verdict.RETRY, "verifier_reject")


def test_a_test_that_is_only_expected_to_fail_now_has_not_flipped() -> None:
    tested = after_tests(base(FIXED), run(GREEN | {"t.py::a": CaseStatus.XFAILED}))
    assert facts_of(patch(), tested).flipped == ()


PATCH_FAULTS: list[dict[str, Any]] = [
    {"changes": ()},
    {"tree": BASE},
    {"answer_label": "gen_length"},
    {"refusals": (EditRefusal("edit_noop", "a.py", "same text"),)},
    {"ignored": ("build/a.py",)},
    {"dirty_base": ("a.py",)},
    {"changes": (change(new_mode="100755"),)},
    {"changes": (change(added=500),)},
    {"changes": (new_file("conftest.py"),)},
    {"syntax": (SyntaxDelta("a.py", "python", 0, 1),)},
]
OUTSIDE = (ModuleOrigin("shop", "/elsewhere", is_inside=False),)
RUN_FAULTS: list[dict[str, Any]] = [
    {"tree": BASE},
    {"results": {}},
    {"results": {"t.py::b": PASSED}},
    {"results": GREEN | {"t.py::a": SKIPPED}},
    {"results": GREEN | {"t.py::b": FAILED}},
    {"exit_code": 1},
    {"exit_code": None},
    {"timed_out": True},
    {"problem": "import error"},
    {"origins": OUTSIDE},
]


@given(st.lists(st.sampled_from(PATCH_FAULTS), max_size=3), st.lists(st.sampled_from(RUN_FAULTS), max_size=3))
def test_one_fault_is_enough_to_keep_a_proven_patch_out_of_review(
    patch_faults: list[dict[str, Any]], run_faults: list[dict[str, Any]]
) -> None:
    evidence, head = patch(), run(GREEN)
    for fault in patch_faults:
        evidence = replace(evidence, **fault)
    for fault in run_faults:
        head = replace(head, **fault)
    ruling = decide(evidence, after_tests(base(FIXED), head), verifier_passed=True)
    if not (evidence == patch() and head == run(GREEN)):
        assert ruling.verdict is Verdict.RETRY
    else:
        assert ruling.grade is Grade.VERIFIED


outcome_lists = st.lists(
    st.builds(Outcome, st.sampled_from(["package", "syntax"]), st.sampled_from(Status), st.just("why")), max_size=4
)
trees = st.sampled_from(["", BASE, "c" * 40])
facts = st.builds(
    RoundFacts,
    base_tree=trees,
    tree=trees,
    changed_files=st.sampled_from([None, 0, 1, 2]),
    hold_label=st.sampled_from(["", "", "disk_full"]),
    says_no_change=st.booleans(),
    head_tree=st.none() | trees,
    is_by_id=st.booleans(),
    is_full_set=st.booleans(),
    exit_codes=st.lists(st.sampled_from([0, 1, None]), max_size=3).map(tuple),
    flipped=st.sampled_from([(), ("t.py::a",)]),
    is_reproduced=st.booleans(),
    has_clean_checks=st.sampled_from([None, True, False]),
    verifier_passed=st.sampled_from([None, True, False]),
    review_unproven=st.booleans(),
)


@given(outcome_lists, facts)
def test_no_combination_of_facts_reviews_an_empty_blocked_or_elsewhere_tested_patch(
    outcomes: list[Outcome], given_facts: RoundFacts
) -> None:
    ruling = rule(outcomes, given_facts)
    assert (ruling.grade is not None) is (ruling.verdict is Verdict.REVIEW)
    if ruling.verdict is Verdict.REVIEW:
        assert not given_facts.is_empty
        assert all(outcome.status is not Status.BLOCK for outcome in outcomes)
        assert given_facts.head_tree in (None, given_facts.tree)
    if ruling.grade in (Grade.PROVEN, Grade.VERIFIED):
        assert given_facts.flipped or given_facts.is_reproduced
        assert given_facts.is_by_id
        assert given_facts.is_full_set
        assert given_facts.head_tree == given_facts.tree
        assert all(outcome.status is not Status.UNKNOWN for outcome in outcomes)
