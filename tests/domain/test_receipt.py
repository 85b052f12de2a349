"""Receipts: what was claimed and what was measured, from states made by hand."""

import json
from dataclasses import replace

import pytest

from cockpit.domain.ask import Ask
from cockpit.domain.entries import (
    AttemptStarted,
    BaselineMeasured,
    Entry,
    EnvironmentPrepared,
    GuardsJudged,
    PatchHarvested,
    PauseChanged,
    Record,
    RepositoryPrepared,
    StateChanged,
    StepEnded,
    StepStarted,
    TaskAdded,
    TestsRan,
    VerdictReached,
)
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.receipt import receipt_json, receipt_of
from cockpit.domain.receipt_text import receipt_lines, standing, wrap
from cockpit.domain.state import fold
from cockpit.domain.states import State
from cockpit.domain.text import cell_width
from cockpit.domain.timing import timing_of

TREE = "8f14e45fceea167a5a36dedd4bea2543deadbeef"
TEST = "tests/test_pages.py::test_first"
GRADES = ("verified", "proven", "no_regression", "checked", "unproven")


def added(title: str = "The first page is skipped") -> TaskAdded:
    return TaskAdded("0a1b2c3d", Ask(repo="/home/me/shop", issue="Page 1 is wrong", title=title, expect=(TEST,)))


def prepared() -> list[Entry]:
    return [
        StateChanged(State.PREPARING),
        RepositoryPrepared("/home/me/shop", "c" * 40, "a" * 40, "main", "shop", 0.5),
        EnvironmentPrepared("9e107d9d372bb6826bd81d3542a419d6", "/envs/9e", "python", {}, (("pip", "install", "."),),
                            cached=False, level="bubblewrap", elapsed_s=4.0),
        BaselineMeasured(("python", "-m", "pytest", "-q"), "pytest", "tests/ holds pytest tests", 20, 1, 0, 1,
                         cached=False, level="bubblewrap", elapsed_s=3.0, targets=(TEST,)),
    ]  # fmt: skip


def round_of(number: int, status: Status, verdict: VerdictReached, *, reason: str = "1 line") -> list[Entry]:
    return [
        StepStarted(1, number, number, "hunter", 1500 + number, "whole_file", 0.1),
        StepEnded(1, number, number, "stop", 1500 + number, 40, 1460 + number, 212, 900.0, 20000.0, 21.0,
                  model="qwen", build="b1234", server="http://127.0.0.1:1"),
        PatchHarvested(1, number, TREE, "a" * 40, "e" * 64, (("shop/pages.py", 1, 1),), 1, "s", 0.2),
        GuardsJudged(1, number, "patch", (Outcome("bloat", status, reason, label="bloat"),)),
        TestsRan(1, number, "full", TREE, ("python", "-m", "pytest"), "pytest", 0, 21, 0, 2.0, "bubblewrap", "",
                 flipped=(TEST,), overhead_s=0.3),
        verdict,
    ]  # fmt: skip


def journal(entries: list[Entry], *, start_s: float = 1000.0, step_s: float = 10.0) -> list[Record]:
    return [Record(seq, start_s + step_s * (seq - 1), entry) for seq, entry in enumerate(entries, start=1)]


def reviewed(grade: str = "proven", *, title: str = "The first page is skipped", reason: str = "1 line") -> list[Entry]:
    return [
        added(title),
        *prepared(),
        StateChanged(State.WORKING),
        AttemptStarted(1, "/w/0a1b2c3d-1", "a" * 40),
        *round_of(1, Status.BLOCK, VerdictReached(1, 1, "retry", "bloat", "70 lines are too many"), reason=reason),
        *round_of(2, Status.PASS, VerdictReached(1, 2, "review", "", "a failing test flipped", grade), reason=reason),
        StateChanged(State.REVIEW, "a failing test flipped", grade=grade),
    ]


def text_of(entries: list[Entry], **options: bool) -> str:
    return "\n".join(receipt_lines(receipt_of(fold(journal(entries))), **options))


def test_a_receipt_names_claim_measure_command_exit_code_and_hashes() -> None:
    text = text_of(reviewed())
    for expected in (
        "0a1b2c3d", "review, proven", "The first page is skipped", "/home/me/shop (main)", "commit cccccccccccc",
        "qwen, b1234, http://127.0.0.1:1", "bubblewrap", "made for this task", "pip install .", "exit 1, 20 passed",
        TEST, "212 tokens as whole_file, stop", "1502 prompt tokens (1462 cached, 40 sent)", "1 edit",
        "shop/pages.py +1 -1", TREE[:12], "exit 0, 21 passed, 0 failed", "✗ bloat", "✓ bloat",
        "retry, bloat: 70 lines are too many", "review, proven: a failing test flipped",
    ):  # fmt: skip
        assert expected in text, expected


def test_what_a_server_cannot_do_stands_in_the_receipt() -> None:
    lacks = ("pausing inside an answer: needs /completion", "token ids: needs /tokenize")
    entries = [replace(entry, missing=lacks) if isinstance(entry, StepEnded) else entry for entry in reviewed()]
    assert receipt_of(fold(journal(entries))).missing == lacks
    assert all(lack in text_of(entries) for lack in lacks)
    assert "without" not in text_of(reviewed())


@pytest.mark.parametrize("grade", GRADES)
def test_a_patch_in_review_carries_its_grade_and_what_it_means(grade: str) -> None:
    receipt = receipt_of(fold(journal(reviewed(grade))))
    assert standing(receipt) == f"review, {grade}"
    assert receipt.is_grey is (grade == "unproven")
    assert any(line.startswith("grade") and grade in line for line in receipt_lines(receipt))


def test_a_review_without_a_grade_is_called_unproven() -> None:
    receipt = receipt_of(fold(journal(reviewed(""))))
    assert receipt.is_grey
    assert standing(receipt) == "review, unproven"


def test_a_failed_task_shows_its_label_and_never_a_grade() -> None:
    entries = [*reviewed()[:-1], StateChanged(State.FAILED, "too many lines", label="bloat")]
    text = text_of(entries)
    assert "failed, bloat" in text
    assert "\ngrade" not in text


def test_a_task_that_has_not_begun_has_a_short_receipt() -> None:
    assert "queued" in text_of([added()])
    assert "attempt" not in text_of([added()])


def test_no_line_is_wider_than_asked_and_nothing_is_lost() -> None:
    wide = "漢字" * 40 + " " + "x" * 300
    for width in (40, 57, 80, 120):
        lines = receipt_lines(receipt_of(fold(journal(reviewed(title=wide, reason=wide)))), width)
        assert max(cell_width(line) for line in lines) <= width
        assert "".join(lines).count("x") >= 900


def test_foreign_text_cannot_move_the_cursor_or_hide() -> None:
    text = text_of(reviewed(title="a\x1b[2Jb\u202ec", reason="one\ntwo\r\u200b"))
    assert not set(text) & {"\x1b", "\u202e", "\r", "\u200b"}
    assert "⟨U+202E⟩" in text


def test_ascii_receipts_hold_nothing_but_ascii() -> None:
    text = text_of(reviewed(title="Größe → 漢", reason="…"), ascii_only=True)
    assert text.isascii()
    assert "x bloat" in text
    assert "+ bloat" in text


def test_timing_has_a_column_for_each_kind_of_work() -> None:
    timing = timing_of(journal(reviewed()))
    assert (timing.setup_s, timing.baseline_s) == (4.0, 3.0)
    assert (timing.model_s, timing.tests_s) == (42.0, 4.0)
    assert timing.waited_s == 10.0  # from added to preparing


def test_what_no_entry_claims_is_everything_else() -> None:
    records = journal(reviewed())
    timing = timing_of(records)
    worked_s = records[-1].at_s - records[1].at_s
    assert timing.other_s == pytest.approx(worked_s - 4.0 - 3.0 - 42.0 - 4.0)
    assert timing.work_s == pytest.approx(worked_s)


def test_waiting_for_another_task_to_make_the_environment_is_no_work_of_this_one() -> None:
    shared = EnvironmentPrepared("9e", "/envs/9e", "python", {}, (), cached=True, level="plain", elapsed_s=0.0)
    timing = timing_of(journal([added(), StateChanged(State.PREPARING), shared, StateChanged(State.REVIEW)]))
    assert (timing.setup_s, timing.other_s, timing.waited_s) == (0.0, 10.0, 20.0)


def test_waiting_and_pausing_are_nobodys_work() -> None:
    entries: list[Entry] = [
        added(),
        StateChanged(State.WORKING),
        PauseChanged(paused=True),
        PauseChanged(paused=False),
        StateChanged(State.WAITING, "server away"),
        StateChanged(State.WORKING),
        StateChanged(State.REVIEW),
        StateChanged(State.APPROVED),
    ]
    timing = timing_of(journal(entries))
    assert timing.waited_s == 30.0
    assert timing.other_s == 30.0


def test_cached_and_sent_tokens_stay_apart_in_json() -> None:
    data = json.loads(json.dumps(receipt_json(receipt_of(fold(journal(reviewed()))))))
    assert [(row["cached_tokens"], row["sent_tokens"]) for row in data["rounds"]] == [(1461, 40), (1462, 40)]
    assert data["rounds"][1]["tree"] == TREE
    assert data["timing"]["model_s"] == 42.0
    assert data["grey"] is False


def test_the_model_that_was_asked_for_stands_until_an_answer_came() -> None:
    first = added()
    entries: list[Entry] = [replace(first, ask=replace(first.ask, model="replay:/x"))]
    assert receipt_of(fold(journal(entries))).model == "replay:/x"


@pytest.mark.parametrize(("text", "lines"), [("", [""]), ("ab cd", ["ab", "cd"]), ("abcdefg", ["abc", "def", "g"])])
def test_wrapping_breaks_at_blanks_and_cuts_what_is_too_long(text: str, lines: list[str]) -> None:
    assert wrap(text, 3) == lines
