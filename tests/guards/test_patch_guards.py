from types import ModuleType
from typing import Any

import pytest

from cockpit.domain.evidence import ChangeKind, EditRefusal, PatchEvidence, SyntaxDelta, WrittenFile
from cockpit.domain.outcomes import Outcome, Status
from cockpit.guards import answer, applied, bloat, clean_base, no_op, path, syntax, unique_search
from tests.evidencekit import BASE, HEAD, LIMITS, OLD, change, patch

PASS, WARN, BLOCK, UNKNOWN = Status.PASS, Status.WARN, Status.BLOCK, Status.UNKNOWN


def refused(label: str, reason: str = "stands 2 times, lines 3 and 9", where: str = "stock.py") -> EditRefusal:
    return EditRefusal(label, where, reason)


@pytest.mark.parametrize("label", ["format_invalid", "gen_length", "gen_repetition", "thinking_only"])
def test_an_answer_that_cannot_be_read_blocks_with_its_own_label(label: str) -> None:
    outcome = answer.check(patch(answer_label=label, answer_reason="no edit found"), LIMITS)
    assert outcome == Outcome("answer", BLOCK, "no edit found", label=label)


def test_a_label_without_a_reason_still_says_something() -> None:
    assert "gen_length" in answer.check(patch(answer_label="gen_length"), LIMITS).reason


TABLE: list[tuple[ModuleType, PatchEvidence, Status, str]] = [
    (answer, patch(), PASS, ""),
    (unique_search, patch(), PASS, ""),
    (unique_search, patch(refusals=(refused("search_missing"),)), BLOCK, "search_missing"),
    (unique_search, patch(refusals=(refused("search_ambiguous"),)), BLOCK, "search_ambiguous"),
    (unique_search, patch(refusals=(refused("edit_noop"),)), PASS, ""),
    (no_op, patch(), PASS, ""),
    (no_op, patch(refusals=(refused("edit_noop"),)), BLOCK, "edit_noop"),
    (no_op, patch(written=(WrittenFile("a.py", OLD, OLD, whole_file=True),)), BLOCK, "edit_noop"),
    (path, patch(), PASS, ""),
    (path, patch(refusals=(refused("path_invalid"),)), BLOCK, "path_invalid"),
    (path, patch(refusals=(refused("edit_ignored_path"),)), BLOCK, "edit_ignored_path"),
    (path, patch(ignored=("build/out.py",)), BLOCK, "edit_ignored_path"),
    (applied, patch(), PASS, ""),
    (applied, patch(changes=None), UNKNOWN, ""),
    (applied, patch(changes=()), BLOCK, "empty_patch"),
    (applied, patch(tree=BASE), BLOCK, "empty_patch"),
    (applied, patch(refusals=(refused("patch_inapplicable"),)), BLOCK, "patch_inapplicable"),
    (applied, patch(refusals=(refused("search_missing"),), changes=None), BLOCK, "patch_inapplicable"),
    (clean_base, patch(), PASS, ""),
    (clean_base, patch(dirty_base=("notes.txt",)), BLOCK, "dirty_base"),
    (clean_base, patch(dirty_base=None), UNKNOWN, ""),
    (bloat, patch(), PASS, ""),
    (bloat, patch(changes=None), UNKNOWN, ""),
    (bloat, patch(changes=(change(added=60, deleted=0),)), PASS, ""),
    (bloat, patch(changes=(change(added=50, deleted=0), change("b.py", added=6, deleted=5))), BLOCK, "bloat"),
    (bloat, patch(changes=(change(added=15, deleted=26),)), WARN, ""),
    (bloat, patch(changes=(change(added=16, deleted=26),)), PASS, ""),
    (bloat, patch(changes=(change(added=0, deleted=25),)), PASS, ""),
    (bloat, patch(changes=(change("logo.png", kind=ChangeKind.BINARY, added=0, deleted=0),)), WARN, ""),
    (syntax, patch(), PASS, ""),
    (syntax, patch(syntax=None), UNKNOWN, ""),
    (syntax, patch(syntax=(SyntaxDelta("a.py", "python", 2, 2),)), PASS, ""),
    (syntax, patch(syntax=(SyntaxDelta("a.py", "python", 2, 1),)), PASS, ""),
    (syntax, patch(syntax=(SyntaxDelta("a.py", "python", 0, 1, "line 12: unexpected indent"),)), BLOCK, "syntax_new"),
]


@pytest.mark.parametrize(("guard", "evidence", "status", "label"), TABLE)
def test_a_patch_guard_concludes_as_its_table_says(
    guard: ModuleType, evidence: PatchEvidence, status: Status, label: str
) -> None:
    outcome = guard.check(evidence, LIMITS)
    assert (outcome.guard, outcome.status, outcome.label) == (guard.NAME, status, label)
    assert outcome.reason


def test_an_ambiguous_search_tells_how_many_places_match_and_where() -> None:
    outcome = unique_search.check(patch(refusals=(refused("search_ambiguous"),), edits_asked=3), LIMITS)
    assert "2 times" in outcome.reason
    assert "lines 3 and 9" in outcome.reason
    assert outcome.figure == "1 of 3 edits"


@pytest.mark.parametrize("changes", [(), (change(),)])
def test_applied_shows_both_trees_whether_or_not_something_changed(changes: tuple[Any, ...]) -> None:
    figure = applied.check(patch(changes=changes), LIMITS).figure
    assert BASE[:10] in figure
    assert HEAD[:10] in figure


def test_a_syntax_block_names_file_and_line() -> None:
    deltas = (SyntaxDelta("a.py", "python", 0, 1, "line 12: unexpected indent"),)
    assert syntax.check(patch(syntax=deltas), LIMITS).reason == "a.py no longer parses: line 12: unexpected indent"


def test_a_file_of_no_known_language_passes_with_a_note() -> None:
    outcome = syntax.check(patch(changes=(change("README.md"),), syntax=()), LIMITS)
    assert outcome.status is PASS
    assert "README.md not parsed" in outcome.reason
