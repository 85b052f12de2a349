"""Builds evidence by hand: a sound patch and a sound test run, of which a test changes one thing."""
# ruff: noqa: ANN401  # a test overrides any field of the evidence

from typing import Any

from cockpit.domain.evidence import ChangeKind, FileChange, PatchEvidence, SyntaxDelta, TestedEvidence, WrittenFile
from cockpit.domain.outcomes import Limits
from cockpit.domain.testing import Baseline, CaseStatus, ModuleOrigin, Runner, RunReport

BASE = "b" * 40
HEAD = "c" * 40
LIMITS = Limits()
OLD = b"def price(net):\n    return net\n"
NEW = b"def price(net):\n    return net * 1.2\n"
PASSED, FAILED, SKIPPED, ERROR = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED, CaseStatus.ERROR


def change(path: str = "shop/tax.py", **values: Any) -> FileChange:
    """A changed text file of one line added and one deleted."""
    plain: dict[str, Any] = {
        "old_mode": "100644",
        "new_mode": "100644",
        "added": 1,
        "deleted": 1,
        "old": OLD,
        "new": NEW,
    }
    kind = values.pop("kind", ChangeKind.TEXT)
    return FileChange(path, kind, **(plain | values))


def new_file(path: str, data: bytes = b"x = 1\n", **values: Any) -> FileChange:
    """A file that the base does not have."""
    fresh: dict[str, Any] = {"is_new": True, "old": None, "old_mode": "", "new": data, "added": 1, "deleted": 0}
    return change(path, **(fresh | values))


def patch(**values: Any) -> PatchEvidence:
    """A sound patch of one file, applied, harvested and parsed."""
    plain: dict[str, Any] = {
        "changes": (change(),),
        "edits_asked": 1,
        "written": (WrittenFile("shop/tax.py", OLD, NEW, whole_file=False),),
        "syntax": (SyntaxDelta("shop/tax.py", "python", 0, 0),),
    }
    return PatchEvidence(values.pop("base_tree", BASE), values.pop("tree", HEAD), **(plain | values))


INSIDE = (ModuleOrigin("shop", "shop/__init__.py", is_inside=True),)


def run(results: dict[str, CaseStatus] | None = None, *, tree: str = HEAD, **values: Any) -> RunReport:
    """A run that ended by itself; its exit code follows from the results unless given."""
    results = {"tests/test_tax.py::test_a": PASSED} if results is None else results
    has_failed = any(status in (FAILED, ERROR) for status in results.values())
    plain: dict[str, Any] = {
        "command": ("pytest",),
        "runner": Runner.PYTEST,
        "exit_code": int(has_failed),
        "timed_out": False,
        "elapsed_s": 1.0,
        "level": "plain",
        "results": results,
        "origins": INSIDE,
    }
    return RunReport(tree=tree, **(plain | values))


def code_run(exit_code: int | None, *, tree: str = HEAD, **values: Any) -> RunReport:
    """A run of which only the exit code is known."""
    return run({}, tree=tree, **({"runner": Runner.EXIT_CODE, "exit_code": exit_code, "origins": None} | values))


def base(results: dict[str, CaseStatus] | None = None, **values: Any) -> Baseline:
    """Two runs on the base that agree."""
    first = run(results, tree=BASE, **values)
    return Baseline(first, first)


def code_base(first: int, second: int | None = None) -> Baseline:
    """Two runs on the base known by their exit codes."""
    return Baseline(code_run(first, tree=BASE), code_run(first if second is None else second, tree=BASE))


def after_tests(baseline: Baseline | None, head: RunReport | None, **values: Any) -> TestedEvidence:
    """A sound patch with these runs."""
    return TestedEvidence(values.pop("patch", patch()), baseline, head, **values)
