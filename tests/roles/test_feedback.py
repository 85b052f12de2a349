"""What the model hears of its answer: every reason once, the output's end, and nothing it could echo as an answer."""

import pytest

from cockpit.domain.evidence import EditRefusal
from cockpit.domain.labels import LABELS
from cockpit.domain.outcomes import Outcome, Status
from cockpit.roles.feedback import ADVICE, feedback_turn, shorten


def block(guard: str, reason: str, label: str = "") -> Outcome:
    return Outcome(guard, Status.BLOCK, reason, label=label)


def said(*outcomes: Outcome, refusals: tuple[EditRefusal, ...] = (), digest: str = "", **more: object) -> str:
    wishes: dict[str, object] = {"round_number": 2, "rounds": 6, **more}
    return feedback_turn(outcomes, refusals, digest, **wishes)  # type: ignore[arg-type]


def test_a_telling_block_silences_the_one_that_only_says_that_nothing_was_applied() -> None:
    missing = block("unique-search", "a.py: SEARCH is not in the file", "search_missing")
    text = said(missing, block("applied", "1 edit not applied: a.py", "patch_inapplicable"))
    assert "Not accepted: a.py: SEARCH is not in the file." in text
    assert "not applied" not in text


def test_that_nothing_changed_is_said_when_nothing_else_is_known() -> None:
    assert ADVICE["empty_patch"] in said(block("applied", "nothing differs from the base", "empty_patch"))


def test_outcomes_that_do_not_block_are_not_mentioned() -> None:
    text = said(Outcome("scope", Status.WARN, "is a new file"), block("bloat", "900 lines", "bloat"))
    assert "new file" not in text
    assert ADVICE["bloat"] in text


def test_a_hint_of_a_refusal_stands_once_however_many_edits_were_refused() -> None:
    refusal = EditRefusal("search_missing", "a.py", "SEARCH is not in the file", "closest is line 3: x = 1")
    text = said(block("unique-search", "a.py: no", "search_missing"), refusals=(refusal, refusal))
    assert text.count("closest is line 3: x = 1") == 1


def test_a_change_that_no_guard_blocked_is_said_to_be_kept_with_the_reason_of_the_verdict() -> None:
    text = said(Outcome("scope", Status.PASS, "1 file"), reason="the verifier does not pass the patch")
    assert "Not accepted: the verifier does not pass the patch." in text
    assert "Your change was kept." in text


def test_the_operator_is_heard_after_the_output_and_before_the_task() -> None:
    text = said(
        block("target", "t.py::x fails", "target_still_fails"), digest="E assert 1 == 2", steering=("Look at y",)
    )
    parts = text.split("\n\n")
    assert parts[1] == "Test output:\nE assert 1 == 2"
    assert parts[2] == "The operator says: Look at y"
    assert parts[3].startswith("Your change was taken back. 5 tries left.")


def test_the_last_round_is_announced_as_one_try() -> None:
    assert " 1 try left." in said(block("bloat", "x", "bloat"), round_number=6)


@pytest.mark.parametrize(
    ("edit_format", "wanted"),
    [("whole_file", "the complete corrected file"), ("search_replace", "SEARCH/REPLACE blocks")],
)
def test_it_asks_for_the_format_of_the_attempt(edit_format: str, wanted: str) -> None:
    assert said(block("bloat", "x", "bloat"), edit_format=edit_format).endswith(f"the path and {wanted}.")


def test_advice_is_given_for_labels_that_exist() -> None:
    assert set(ADVICE) <= set(LABELS)


def test_of_a_long_output_the_end_is_kept_in_whole_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    kept = shorten(text, 50)
    assert len(kept) <= 50
    assert kept.split("\n")[-1] == "line 99"
    assert all(line in text.split("\n") for line in kept.split("\n"))
    assert shorten("short\n", 50) == "short"
