"""Makes a home with tasks in it, as the engine would have written them, without an engine."""

import json
from collections.abc import Sequence
from pathlib import Path

from cockpit.domain.ask import Ask
from cockpit.domain.entries import (
    AttemptStarted,
    BaselineMeasured,
    Entry,
    GuardsJudged,
    PatchHarvested,
    RepositoryPrepared,
    StateChanged,
    StepEnded,
    StepStarted,
    TaskAdded,
    TestsRan,
    VerdictReached,
)
from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.states import State
from cockpit.domain.summary import summarise
from cockpit.journal.layout import Home
from cockpit.journal.log import JournalWriter
from cockpit.journal.snapshot import load_state
from cockpit.journal.summary import read_tasks, write_tasks

PATCH = b"--- a/shop/pages.py\n+++ b/shop/pages.py\n@@ -1 +1 @@\n-\tx = 1\n+\tx = 2 # \x1b[31m\n"
TREE = "b" * 40


def reviewed_task(title: str = "The first page is skipped") -> list[Entry]:
    """Return the facts of a task whose patch awaits review."""
    return [
        TaskAdded("", Ask(repo="/home/me/shop", issue="Page 1 is wrong", title=title)),
        StateChanged(State.PREPARING),
        RepositoryPrepared("/home/me/shop", "c" * 40, "a" * 40, "main", "shop", 0.5),
        BaselineMeasured(("pytest",), "pytest", "given", 4, 1, 0, 1, cached=False, level="plain", elapsed_s=1.0),
        StateChanged(State.WORKING),
        AttemptStarted(1, "/w/1", "a" * 40),
        StepStarted(1, 1, 1, "hunter", 900, "whole_file", 0.1),
        StepEnded(1, 1, 1, "stop", 900, 900, 0, 50, 10.0, 20.0, 5.0, model="qwen", build="b1", server="http://x"),
        PatchHarvested(1, 1, TREE, "a" * 40, "e" * 64, (("shop/pages.py", 1, 1),), 1, "s", 0.2),
        GuardsJudged(1, 1, "patch", (Outcome("bloat", Status.PASS, "2 lines changed"),)),
        TestsRan(1, 1, "full", TREE, ("pytest",), "pytest", 0, 5, 0, 1.0, "plain", "", flipped=("t::a",)),
        VerdictReached(1, 1, "review", "", "a failing test flipped", "proven"),
        StateChanged(State.REVIEW, "a failing test flipped", grade="proven"),
    ]


def write_task(home: Home, task: str, entries: Sequence[Entry], *, start_s: float = 1000.0) -> None:
    """Write a task's folder and its row in the list."""
    home.create()
    folder = home.task(task)
    folder.root.mkdir()
    with JournalWriter(folder.journal, durable=False) as journal:
        for number, entry in enumerate(entries):
            own = TaskAdded(task, entry.ask) if isinstance(entry, TaskAdded) else entry
            journal.append(own, start_s + number)
    state, _ = load_state(folder)
    write_tasks(home, [*(row for row in read_tasks(home) if row.id != task), summarise(state)])


def write_round(home: Home, task: str, *, patch: bytes = PATCH, text: str = "Fixed\x07 it.\n") -> None:
    """Write the files of the first round: the patch, and what the model said."""
    folder = home.task(task)
    round_folder, step_folder = folder.round(1, 1), folder.step(1, 1)
    round_folder.root.mkdir(parents=True)
    step_folder.root.mkdir(parents=True)
    round_folder.patch.write_bytes(patch)
    rows = [
        {"kind": "open", "at_s": 0.0, "role": "hunter", "attempt": 1, "ordinal": 1, "prompt_ids": [],
         "prompt_tokens": 3, "max_tokens": 9},
        {"kind": "delta", "ms": 1, "index": 0, "text": text, "ids": [7]},
        {"kind": "end", "ms": 2, "finish": "stop", "usage": {}},
    ]  # fmt: skip
    step_folder.stream.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def home_with_review(root: Path, task: str = "0a1b2c3d", title: str = "The first page is skipped") -> Home:
    """Return a home whose one task awaits review."""
    home = Home(root)
    write_task(home, task, reviewed_task(title))
    write_round(home, task)
    return home
