"""The front of a prompt: most stable first, every file in a fence that its text cannot close."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.edits.parse import parse_answer
from cockpit.roles.hunter import Front, ShownFile, bridge_to, card_of, fence_for, front_turns, system_text

FRONT = Front(
    edit_format="whole_file",
    card="# Repository\nshop",
    issue="The sum is wrong.\n",
    shortlist=(("b.py", "named in the issue"),),
    files=(
        ShownFile("a.py", "x = 1\n", is_complete=True),
        ShownFile("t.py", "assert x", is_complete=False, is_test=True),
    ),
    lessons=("changed y",),
    failing="- t.py::test_x",
    steering=("Look at x.",),
)


def test_blocks_stand_from_the_most_stable_to_the_task() -> None:
    system, user = front_turns(FRONT)
    assert (system.speaker, user.speaker) == ("system", "user")
    headings = re.findall(r"^# .*$", user.text, re.MULTILINE)
    assert headings == [
        "# Repository", "# Issue", "# Other files that may matter", "# File", "# Test, must not be changed",
        "# Tests that fail now", "# Ideas that already failed", "# The operator says", "# Task",
    ]  # fmt: skip


def test_what_is_not_there_leaves_no_heading() -> None:
    bare = replace(FRONT, card="", shortlist=(), lessons=(), failing="", steering=(), files=FRONT.files[:1])
    assert re.findall(r"^# .*$", front_turns(bare)[1].text, re.MULTILINE) == ["# Issue", "# File", "# Task"]


def test_parts_of_a_file_are_called_so() -> None:
    partly = replace(FRONT, files=(ShownFile("a.py", "x", is_complete=False),))
    assert "# Parts of file\na.py\n```\nx\n```" in front_turns(partly)[1].text


@pytest.mark.parametrize(
    ("edit_format", "wanted"),
    [("whole_file", "complete corrected text of a.py"), ("search_replace", "blocks for a.py")],
)
def test_the_task_names_the_format_and_the_only_file_that_may_change(edit_format: str, wanted: str) -> None:
    system, user = front_turns(replace(FRONT, edit_format=edit_format))
    assert wanted in user.text
    assert system.text == system_text(edit_format)


def test_of_several_files_the_one_with_the_bug_is_meant() -> None:
    two = replace(FRONT, files=(FRONT.files[0], ShownFile("b.py", "y", is_complete=True)))
    assert "text of the file with the bug." in front_turns(two)[1].text


@given(st.text(st.sampled_from("`ab \n"), max_size=60))
def test_no_line_of_a_text_closes_its_fence(text: str) -> None:
    fence = fence_for(text)
    assert len(fence) >= 3
    assert not any(line.lstrip().startswith(fence) for line in text.split("\n"))


@pytest.mark.parametrize(
    ("path", "language"), [("a.py", "python"), ("x/y.rs", "rust"), ("Makefile", ""), ("a.xyz", "")]
)
def test_the_bridge_leads_into_a_block_that_is_read_as_that_file(path: str, language: str) -> None:
    bridge = bridge_to(path, "x = 1\n")
    assert bridge == f"\n\n{path}\n```{language}\n"
    parsed = parse_answer(
        f"The bug: one.{bridge}x = 2\n```\n", edit_format="whole_file", finish="stop", in_play=(path,)
    )
    assert [edit.path for edit in parsed.edits] == [path]


@pytest.mark.parametrize(
    ("command", "card"),
    [
        (("/envs/1/bin/python", "-m", "pytest"), "# Repository\nshop, tested by: python -m pytest"),
        ((), "# Repository\nshop"),
    ],
)
def test_the_card_holds_no_path_of_this_machine(command: tuple[str, ...], card: str) -> None:
    assert card_of("shop", command) == card
