"""Progress lines, the bar and the demo's closing table: one line for each change, nothing twice."""

import io
import sys

import pytest

from cockpit.cli.bar import Bar
from cockpit.cli.demo import Outcome, _plain, _table
from cockpit.cli.progress import Progress
from cockpit.cli.serving import Serving
from cockpit.domain.entries import Entry, PauseChanged, Record, StateChanged
from cockpit.domain.receipt import Receipt
from cockpit.domain.state import TaskState, step
from cockpit.domain.states import State
from cockpit.domain.timing import Timing
from tests.cli.house_of_tasks import reviewed_task


def lines_of(entries: list[Entry], *, is_terse: bool = False) -> list[str]:
    said: list[str] = []
    progress, state = Progress(said.append, prefix="> ", is_terse=is_terse), TaskState()
    for seq, entry in enumerate(entries, start=1):
        state = step(state, Record(seq, float(seq), entry))
        progress.show(state)
        progress.show(state)  # a second look at the same state says nothing
    return said


def test_each_change_is_said_once_and_in_order() -> None:
    said = lines_of(reviewed_task())
    assert len(said) == len(set(said))
    order = ["preparing repository", "50 tokens in 5.0 s", "✓ bloat", "full: pytest: exit 0", "review, proven"]
    places = [next(index for index, line in enumerate(said) if words in line) for words in order]
    assert places == sorted(places)
    assert all(line.startswith("> ") for line in said)


def test_preparing_is_said_by_what_is_done_and_by_nothing_older() -> None:
    entries = reviewed_task()
    said = lines_of([
        entries[0], StateChanged(State.PREPARING, "making the task repository"), entries[2],
        StateChanged(State.PREPARING, "a Python project: python -m pip install ."),
    ])  # fmt: skip
    assert said[1:] == [
        "> preparing: making the task repository",
        "> preparing: a Python project: python -m pip install .",
    ]


def test_terse_progress_leaves_out_what_is_well() -> None:
    said = "\n".join(lines_of(reviewed_task(), is_terse=True))
    assert "bloat" not in said
    assert "exit 0" not in said
    assert "review, proven" in said


def test_waiting_is_said_with_its_reason_and_pausing_is_marked() -> None:
    said = lines_of([
        reviewed_task()[0], StateChanged(State.WAITING, "no server\x1b answers", label="server_unavailable"),
        PauseChanged(paused=True),
    ])  # fmt: skip
    assert said[-2] == "> waiting, server_unavailable: no server␛ answers"
    assert said[-1] == said[-2] + " (paused)"


def test_a_bar_elsewhere_than_a_terminal_says_a_line_per_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with Bar("assembling") as bar:
        for done in range(101):
            bar.show(done, 100)
    assert written.getvalue().splitlines() == [f"assembling: {tenth * 10} %" for tenth in range(11)]


def test_a_bar_on_a_terminal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", written)
    with Bar("assembling") as bar:
        bar.show(0, 2 * 1024 * 1024)
        bar.show(2 * 1024 * 1024, 2 * 1024 * 1024)
    assert written.getvalue().count("\n") == 1
    assert written.getvalue().endswith("[##############################] 2 of 2 MiB\n")


def outcome(*standings: tuple[State, str]) -> Outcome:
    timing = Timing(setup_s=1.0, baseline_s=2.0, model_s=60.0, tests_s=4.0, other_s=1.6, waited_s=30.0)
    receipts = tuple(Receipt(f"{number:08x}", "t", state, grade=grade, timing=timing)
                     for number, (state, grade) in enumerate(standings))  # fmt: skip
    return Outcome(Serving(was_started=True, was_cached=False, assembling_s=9.0, starting_s=3.0), receipts, 100.0)


def test_the_closing_table_keeps_the_times_apart() -> None:
    lines = _table(outcome((State.REVIEW, "proven"), (State.FAILED, "")))
    assert lines[0].split("  ")[0] == "task"
    assert lines[3].split() == ["all", "2.0", "s", "4.0", "s", "120.0", "s", "8.0", "s", "3.2", "s", "60.0", "s"]
    assert "download         with pip, not measured here" in lines
    assert "assembling       9.0 s" in lines
    assert "everything else  2.5% of model plus tests" in lines


@pytest.mark.parametrize(
    ("standings", "enough"),
    [
        ([(State.REVIEW, "proven")] * 3, True),
        ([(State.REVIEW, "proven"), (State.REVIEW, "proven"), (State.FAILED, "")], True),
        ([(State.REVIEW, "proven"), (State.REVIEW, "no_regression"), (State.REVIEW, "")], False),
        ([(State.FAILED, "")] * 3, False),
    ],
)
def test_two_proven_patches_of_three_are_enough(standings: list[tuple[State, str]], enough: bool) -> None:
    assert _plain(outcome(*standings))["enough"] is enough
