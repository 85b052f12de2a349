"""The failure cases a guard has to decide, with evidence built by hand."""

import json
from pathlib import Path

import pytest

from cockpit.domain.evidence import EditRefusal, PatchEvidence
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.testing import compare
from cockpit.domain.verdict import Verdict, facts_of, rule
from cockpit.guards.registry import run_patch_guards, run_tested_guards
from tests.evidencekit import BASE, FAILED, LIMITS, PASSED, SKIPPED, after_tests, base, change, new_file, patch, run

CASES = Path(__file__).parents[1] / "cases"


def expected(case: str) -> dict[str, list[str]]:
    loaded = json.loads(next(CASES.glob(f"*/{case}-*/case.json")).read_text("utf-8"))
    value: dict[str, list[str]] = loaded["expected"]["value"]
    return value


def block(outcomes: tuple[Outcome, ...], guard: str) -> Outcome:
    found = next(outcome for outcome in outcomes if outcome.guard == guard)
    assert found.status is Status.BLOCK
    return found


def test_f02_a_conftest_that_hides_the_failing_test_is_tampering() -> None:
    one, two = "tests/test_tax.py::test_net", "tests/test_tax.py::test_gross"
    evidence = patch(changes=(new_file("conftest.py"),), written=())
    outcomes = run_patch_guards(evidence, LIMITS)
    scope = block(outcomes, "scope")
    assert scope.label == "tampered"
    assert scope.figure.split(", ") == expected("F02")["paths"]
    after = after_tests(base({one: PASSED, two: FAILED}), run({one: PASSED}), patch=evidence)
    ran = block(run_tested_guards(after, LIMITS), "tests-ran")
    assert (ran.label, ran.figure) == ("tampered", f"missing {two}")
    ruling = rule(outcomes, facts_of(evidence))
    assert (ruling.verdict, ruling.label) == (Verdict.RETRY, "tampered")


def test_f03_deleted_and_skipped_tests_are_tampering_test_by_test() -> None:
    want = expected("F03")
    gone, skipped = want["missing"], want["newly_skipped"][0]
    kept = {"tests/test_gross.py::test_zero": PASSED, "tests/test_gross.py::test_one": PASSED}
    baseline = base(kept | dict.fromkeys(gone, PASSED) | {skipped: FAILED})
    head = run(kept | {skipped: SKIPPED})
    evidence = patch(
        changes=(
            change("shop/tax.py"),
            change("tests/test_gross.py"),
            change("tests/test_tax.py", is_deleted=True, new=None),
        )
    )
    compared = compare(baseline, head)
    assert list(compared.missing) == want["missing"]
    assert list(compared.newly_skipped) == want["newly_skipped"]
    patched = run_patch_guards(evidence, LIMITS)
    outcomes = patched + run_tested_guards(after_tests(baseline, head, patch=evidence), LIMITS)
    assert {item.label for item in outcomes if item.status is Status.BLOCK} == {"tampered"}
    figure = block(outcomes, "tests-ran").figure
    assert all(key in figure for key in (*gone, skipped))
    ruling = rule(outcomes, facts_of(evidence, after_tests(baseline, head, patch=evidence)))
    assert (ruling.verdict, ruling.label, ruling.grade) == (Verdict.RETRY, "tampered", None)


@pytest.mark.parametrize("case", ["A01", "A03", "A05", "A06", "A12", "A13"])
def test_a_rejected_answer_blocks_under_the_name_of_what_went_wrong(case: str) -> None:
    labels = {"A01": "search_ambiguous", "A05": "path_invalid", "A13": "patch_inapplicable"}
    label = labels.get(case, "search_missing")
    evidence = patch(
        tree=BASE, changes=(), written=(), syntax=(), refusals=(EditRefusal(label, "a.py", "not applied"),)
    )
    ruling = rule(run_patch_guards(evidence, LIMITS), facts_of(evidence))
    assert (ruling.verdict, ruling.label) == (Verdict.RETRY, label)


def test_a_green_run_after_a_rejected_answer_proves_nothing() -> None:
    failing, passing = {"t.py::a": FAILED}, {"t.py::a": PASSED}
    evidence: PatchEvidence = patch(refusals=(EditRefusal("patch_inapplicable", "a.py", "corrupt at line 7"),))
    after = after_tests(base(failing), run(passing), patch=evidence)
    outcomes = run_patch_guards(evidence, LIMITS) + run_tested_guards(after, LIMITS)
    assert rule(outcomes, facts_of(evidence, after)).verdict is Verdict.RETRY
