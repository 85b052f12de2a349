from dataclasses import replace
from typing import Any

import pytest

from cockpit.domain.evidence import TestedEvidence
from cockpit.domain.outcomes import Status
from cockpit.domain.testing import Baseline, CaseStatus, ModuleOrigin
from cockpit.guards import baseline, no_regression, package, target, tests_ran
from tests.evidencekit import (
    BASE,
    ERROR,
    FAILED,
    LIMITS,
    PASSED,
    SKIPPED,
    after_tests,
    base,
    code_base,
    code_run,
    patch,
    run,
)

PASS, WARN, BLOCK, UNKNOWN = Status.PASS, Status.WARN, Status.BLOCK, Status.UNKNOWN
XFAILED, XPASSED = CaseStatus.XFAILED, CaseStatus.XPASSED
OUTSIDE = (ModuleOrigin("shop", "/home/me/shop/__init__.py", is_inside=False),)

AB = {"t.py::a": PASSED, "t.py::b": PASSED}
A_FAILS = {"t.py::a": FAILED, "t.py::b": PASSED}
BROKEN = {"t.py": ERROR}
SHAKY = Baseline(run(AB, tree=BASE), run(A_FAILS, tree=BASE))
TIMED_OUT: dict[str, Any] = {"timed_out": True, "exit_code": None}
SOUND = after_tests(base(AB), run(AB))

TABLE: dict[str, tuple[Any, TestedEvidence, Status, str]] = {
    "two runs agree": (baseline, SOUND, PASS, ""),
    "two exit codes agree": (baseline, after_tests(code_base(0), code_run(0)), PASS, ""),
    "no baseline": (baseline, after_tests(None, run(AB)), UNKNOWN, ""),
    "baseline without a test": (baseline, after_tests(base({}), run(AB)), UNKNOWN, ""),
    "baseline with a problem": (baseline, after_tests(base(AB, problem="pytest not found"), run(AB)), UNKNOWN, ""),
    "baseline timed out": (baseline, after_tests(base(AB, **TIMED_OUT), run(AB)), UNKNOWN, ""),
    "baseline of another tree": (baseline, after_tests(Baseline(run(AB), run(AB)), run(AB)), UNKNOWN, ""),
    "exit codes differ": (baseline, after_tests(code_base(0, 1), code_run(0)), UNKNOWN, ""),
    "flaky tests": (baseline, after_tests(SHAKY, run(AB)), WARN, ""),
    "own modules": (package, SOUND, PASS, ""),
    "other checkout": (package, after_tests(base(AB), run(AB, origins=OUTSIDE)), BLOCK, "wrong_package"),
    "other checkout at the base": (package, after_tests(base(AB, origins=OUTSIDE), run(AB)), BLOCK, "wrong_package"),
    "origins not read": (package, after_tests(base(AB), run(AB, origins=None)), UNKNOWN, ""),
    "exit code has no origins": (package, after_tests(code_base(0), code_run(0)), UNKNOWN, ""),
    "nothing imported": (package, after_tests(base(AB), run(AB, origins=())), WARN, ""),
    "no run, no origins": (package, after_tests(base(AB), None), UNKNOWN, ""),
    "all ran": (tests_ran, SOUND, PASS, ""),
    "command ran": (tests_ran, after_tests(code_base(0), code_run(1)), PASS, ""),
    "no run": (tests_ran, after_tests(base(AB), None, problem="no environment"), UNKNOWN, ""),
    "another tree": (tests_ran, after_tests(base(AB), run(AB, tree=BASE)), BLOCK, "false_green"),
    "rerun of another tree": (
        tests_ran,
        after_tests(base(AB), run(AB), rerun=run(AB, tree=BASE)),
        BLOCK,
        "false_green",
    ),
    "no test ran": (tests_ran, after_tests(base(AB), run({})), BLOCK, "no_tests_ran"),
    "no test ran, exit code 5": (tests_ran, after_tests(base(AB), run({}, exit_code=5)), BLOCK, "no_tests_ran"),
    "no test ran at the base either": (tests_ran, after_tests(base({}), run({})), UNKNOWN, ""),
    "problem": (tests_ran, after_tests(base(AB), run(AB, problem="import error")), BLOCK, "no_tests_ran"),
    "killed": (tests_ran, after_tests(base(AB), run(AB, exit_code=None)), BLOCK, "no_tests_ran"),
    "timed out": (tests_ran, after_tests(base(AB), run(AB, **TIMED_OUT)), BLOCK, "test_timeout"),
    "command timed out": (tests_ran, after_tests(code_base(0), code_run(None, timed_out=True)), BLOCK, "test_timeout"),
    "ids lost": (tests_ran, after_tests(base(AB), code_run(0)), BLOCK, "no_tests_ran"),
    "missing": (tests_ran, after_tests(base(AB), run({"t.py::a": PASSED})), BLOCK, "tampered"),
    "skipped": (tests_ran, after_tests(base(AB), run(AB | {"t.py::b": SKIPPED})), BLOCK, "tampered"),
    "marked as expected failure": (
        tests_ran,
        after_tests(base(A_FAILS), run(AB | {"t.py::a": XFAILED})),
        BLOCK,
        "tampered",
    ),
    "expected failure before": (
        tests_ran,
        after_tests(base(AB | {"t.py::a": XFAILED}), run(AB | {"t.py::a": XFAILED})),
        PASS,
        "",
    ),
    "flaky test missing": (tests_ran, after_tests(SHAKY, run({"t.py::b": PASSED})), PASS, ""),
    "missing once": (tests_ran, after_tests(base(AB), run({"t.py::a": PASSED}), rerun=run(AB)), PASS, ""),
    "file no longer loads": (tests_ran, after_tests(base(AB), run(BROKEN, exit_code=2)), BLOCK, "regression"),
    "file never loaded": (tests_ran, after_tests(base(BROKEN, exit_code=2), run(BROKEN, exit_code=2)), PASS, ""),
    "more tests than before": (tests_ran, after_tests(base(AB), run(AB | {"t.py::c": PASSED})), PASS, ""),
    "nothing broke": (no_regression, SOUND, PASS, ""),
    "no baseline to compare": (no_regression, after_tests(None, run(AB)), UNKNOWN, ""),
    "no run to compare": (no_regression, after_tests(base(AB), None), UNKNOWN, ""),
    "bad baseline": (no_regression, after_tests(base(AB, problem="no pytest"), run(A_FAILS)), UNKNOWN, ""),
    "read in two ways": (no_regression, after_tests(code_base(0), run(AB)), UNKNOWN, ""),
    "test broke": (no_regression, after_tests(base(AB), run(A_FAILS)), BLOCK, "regression"),
    "test broke twice": (no_regression, after_tests(base(AB), run(A_FAILS), rerun=run(A_FAILS)), BLOCK, "regression"),
    "test failed once": (no_regression, after_tests(base(AB), run(A_FAILS), rerun=run(AB)), PASS, ""),
    "new test fails": (no_regression, after_tests(base(AB), run(AB | {"t.py::c": FAILED})), BLOCK, "regression"),
    "still failing": (no_regression, after_tests(base(A_FAILS), run(A_FAILS)), PASS, ""),
    "flaky before": (no_regression, after_tests(SHAKY, run(A_FAILS)), PASS, ""),
    "skipped before, fails": (
        no_regression,
        after_tests(base(AB | {"t.py::a": SKIPPED}), run(A_FAILS)),
        BLOCK,
        "regression",
    ),
    "unexplained exit": (no_regression, after_tests(base(AB), run(AB, exit_code=1)), BLOCK, "false_green"),
    "crash at exit": (no_regression, after_tests(base(A_FAILS), run(A_FAILS, exit_code=3)), BLOCK, "false_green"),
    "same odd exit before": (no_regression, after_tests(base(AB, exit_code=2), run(AB, exit_code=2)), PASS, ""),
    "forced exit 0": (no_regression, after_tests(base(A_FAILS), run(A_FAILS, exit_code=0)), BLOCK, "false_green"),
    "always exit 0": (no_regression, after_tests(base(A_FAILS, exit_code=0), run(A_FAILS, exit_code=0)), PASS, ""),
    "fixed, exit still 1": (no_regression, after_tests(base(A_FAILS), run(AB, exit_code=1)), BLOCK, "false_green"),
    "expected failure passes": (
        no_regression,
        after_tests(base(AB | {"t.py::a": XFAILED}), run(AB | {"t.py::a": XPASSED})),
        WARN,
        "",
    ),
    "exit 0 stays": (no_regression, after_tests(code_base(0), code_run(0)), PASS, ""),
    "exit 0 lost": (no_regression, after_tests(code_base(0), code_run(1)), BLOCK, "regression"),
    "exit 0 lost once": (no_regression, after_tests(code_base(0), code_run(1), rerun=code_run(0)), UNKNOWN, ""),
    "exit 1 stays": (no_regression, after_tests(code_base(1), code_run(1)), UNKNOWN, ""),
    "exit 1 gone": (no_regression, after_tests(code_base(1), code_run(0)), WARN, ""),
    "exit code shaky": (no_regression, after_tests(code_base(0, 1), code_run(1)), UNKNOWN, ""),
    "named test passes": (target, after_tests(base(A_FAILS), run(AB), target_ids=("t.py::a",)), PASS, ""),
    "named test fails": (
        target,
        after_tests(base(A_FAILS), run(A_FAILS), target_ids=("t.py::a",)),
        BLOCK,
        "target_still_fails",
    ),
    "named test absent": (target, after_tests(base(AB), run(AB), target_ids=("t.py::z",)), BLOCK, "target_still_fails"),
    "named test excused": (
        target,
        after_tests(base(A_FAILS), run(AB | {"t.py::a": XFAILED}), target_ids=("t.py::a",)),
        BLOCK,
        "target_still_fails",
    ),
    "named test shaky": (
        target,
        after_tests(base(A_FAILS), run(AB), rerun=run(A_FAILS), target_ids=("t.py::a",)),
        WARN,
        "",
    ),
    "named test, exit code": (target, after_tests(code_base(0), code_run(0), target_ids=("t.py::a",)), UNKNOWN, ""),
    "exit code, none named": (target, after_tests(code_base(0), code_run(0)), PASS, ""),
    "no run, target": (target, after_tests(base(AB), None), UNKNOWN, ""),
    "no baseline, none named": (target, after_tests(None, run(AB)), UNKNOWN, ""),
    "flipped": (target, after_tests(base(A_FAILS), run(AB)), PASS, ""),
    "nothing flipped": (target, after_tests(base(A_FAILS), run(A_FAILS)), WARN, ""),
    "nothing failed": (target, SOUND, PASS, ""),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_a_tested_guard_concludes_as_its_table_says(row: tuple[Any, TestedEvidence, Status, str]) -> None:
    guard, evidence, status, label = row
    outcome = guard.check(evidence, LIMITS)
    assert (outcome.guard, outcome.status, outcome.label) == (guard.NAME, status, label), outcome.reason
    assert outcome.reason


def test_a_regression_names_its_tests() -> None:
    assert no_regression.check(after_tests(base(AB), run(A_FAILS)), LIMITS).figure == "t.py::a"


def test_a_flipped_test_is_named() -> None:
    assert target.check(after_tests(base(A_FAILS), run(AB)), LIMITS).figure == "t.py::a"


def test_the_reason_why_nothing_ran_is_passed_on() -> None:
    evidence = after_tests(None, None, problem="no tests found")
    assert {guard.check(evidence, LIMITS).reason for guard in (baseline, tests_ran, no_regression, target)} == {
        "no tests found"
    }


def test_a_run_on_the_base_never_counts_for_a_patch() -> None:
    evidence = after_tests(base(A_FAILS), run(AB, tree=BASE), patch=replace(patch(), tree="d" * 40))
    assert "another tree" in tests_ran.check(evidence, LIMITS).reason
