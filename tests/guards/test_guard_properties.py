from hypothesis import given
from hypothesis import strategies as st

from cockpit.domain.evidence import (
    ChangeKind,
    EditRefusal,
    FileChange,
    PatchEvidence,
    SyntaxDelta,
    TestedEvidence,
    WrittenFile,
)
from cockpit.domain.labels import LABELS
from cockpit.domain.outcomes import Limits, Status
from cockpit.domain.testing import Baseline, CaseStatus, ModuleOrigin, Runner, RunReport
from cockpit.domain.verdict import Grade, Verdict, facts_of, rule
from cockpit.guards.registry import run_patch_guards, run_tested_guards

TREES = st.sampled_from(["", "b" * 40, "c" * 40, "d" * 40])
PATHS = (
    st.sampled_from(["a.py", "conftest.py", "tests/test_a.py", ".env", "", "a/../b", "x\n\x1b[2J", "\udc80"])
    | st.text()
)
DATA = st.none() | st.binary(max_size=12) | st.sampled_from([b"a\r\n", b"\xef\xbb\xbfa", b"[pytest]\n"])
FEW = st.integers(0, 99)
MODES = st.sampled_from(["", "100644", "100755", "120000", "160000"])
IDS = st.sampled_from(["t.py::a", "t.py::b", "t.py", "::"])


changes = st.builds(
    FileChange, PATHS, st.sampled_from(ChangeKind), st.booleans(), st.booleans(), st.none() | PATHS, MODES, MODES,
    FEW, FEW, DATA, DATA,
)  # fmt: skip
refusals = st.builds(EditRefusal, st.sampled_from(sorted(LABELS)) | st.text(), PATHS, st.text())
written = st.builds(WrittenFile, PATHS, DATA, st.binary(max_size=12), st.booleans())
deltas = st.builds(SyntaxDelta, PATHS, st.just("python"), FEW, FEW, st.text())
patches = st.builds(
    PatchEvidence,
    base_tree=TREES,
    tree=TREES,
    changes=st.none() | st.lists(changes, max_size=3).map(tuple),
    refusals=st.just(()) | st.lists(refusals, max_size=2).map(tuple),
    answer_label=st.just("") | st.sampled_from(sorted(LABELS)),
    answer_reason=st.text(),
    edits_asked=FEW,
    written=st.lists(written, max_size=2).map(tuple),
    ignored=st.just(()) | st.lists(PATHS, max_size=2).map(tuple),
    dirty_base=st.none() | st.just(()) | st.lists(PATHS, max_size=2).map(tuple),
    syntax=st.none() | st.lists(deltas, max_size=2).map(tuple),
    issue_text=st.text() | PATHS,
)
origins = st.none() | st.lists(st.builds(ModuleOrigin, st.text(), PATHS, st.booleans()), max_size=2).map(tuple)
runs = st.builds(
    RunReport,
    command=st.just(("pytest",)),
    tree=TREES,
    runner=st.sampled_from(Runner),
    exit_code=st.none() | st.sampled_from([0, 0, 0, 1, 2, 5, -9]),
    timed_out=st.booleans(),
    elapsed_s=st.floats(allow_nan=True, allow_infinity=True),
    level=st.just("plain"),
    results=st.dictionaries(IDS, st.sampled_from(CaseStatus), max_size=4),
    origins=origins,
    problem=st.just("") | st.text(),
)
tested_rounds = st.builds(
    TestedEvidence,
    patch=patches,
    baseline=st.none() | st.builds(Baseline, runs, runs),
    head=st.none() | runs,
    rerun=st.none() | runs,
    target_ids=st.lists(IDS, max_size=2).map(tuple),
    problem=st.text(),
)


@given(patches)
def test_every_patch_guard_reports_on_any_evidence_and_blocks_under_a_label(evidence: PatchEvidence) -> None:
    outcomes = run_patch_guards(evidence, Limits())
    assert len({outcome.guard for outcome in outcomes}) == 10
    for outcome in outcomes:
        assert outcome.reason
        assert bool(outcome.label) is (outcome.status is Status.BLOCK)


@given(tested_rounds)
def test_every_tested_guard_reports_on_any_evidence_and_blocks_under_a_label(evidence: TestedEvidence) -> None:
    outcomes = run_tested_guards(evidence, Limits())
    assert len({outcome.guard for outcome in outcomes}) == 5
    for outcome in outcomes:
        assert outcome.reason
        assert bool(outcome.label) is (outcome.status is Status.BLOCK)


@given(tested_rounds, st.booleans(), st.sampled_from([None, True, False]))
def test_no_evidence_whatever_gives_a_false_green(
    evidence: TestedEvidence, says_no_change: bool, verifier: bool | None
) -> None:
    outcomes = run_patch_guards(evidence.patch, Limits()) + run_tested_guards(evidence, Limits())
    facts = facts_of(evidence.patch, evidence, says_no_change=says_no_change, verifier_passed=verifier)
    ruling = rule(outcomes, facts)
    assert (ruling.grade is not None) is (ruling.verdict is Verdict.REVIEW)
    if ruling.verdict is not Verdict.REVIEW:
        return
    assert all(outcome.status is not Status.BLOCK for outcome in outcomes)
    assert evidence.patch.changes
    assert evidence.patch.tree != evidence.patch.base_tree
    assert evidence.head is None or evidence.head.tree == evidence.patch.tree
    if ruling.grade not in (Grade.UNPROVEN, None):
        assert evidence.head is not None
        assert evidence.baseline is not None
        assert evidence.baseline.first.tree == evidence.patch.base_tree
