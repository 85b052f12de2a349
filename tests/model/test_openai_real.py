"""A server that speaks only OpenAI's chat dialect serves a task, and the receipt says what that costs."""

import json
from pathlib import Path

import pytest

from cockpit.adapters.openai import MISSING
from cockpit.adapters.server_process import ServerRecord
from cockpit.domain.commands import Pause, Resume
from cockpit.domain.states import State
from cockpit.domain.stream import Cut, Open, answer_of
from cockpit.domain.stream import Resume as Resumed
from tests.engine.project import ISSUE, make_project
from tests.model.judge import Judge

pytestmark = [pytest.mark.model, pytest.mark.e2e, pytest.mark.timeout(1800)]


def test_a_plain_chat_server_finishes_a_task_and_starts_an_answer_over_after_a_pause(
    judge_root: Path, model_server: ServerRecord, tmp_path: Path
) -> None:
    judge = Judge.of(judge_root, model_server, COCKPIT_SERVER_DIALECT="openai")
    judge.start()
    try:
        task = judge.add(make_project(tmp_path / "repo"), ISSUE, "", rounds=1, attempts=1)
        judge.until(lambda: len(judge.lines(task)) > 5, "some text has come")
        judge.command(Pause(judge.client.new_id(), task))
        judge.until(lambda: isinstance(judge.lines(task)[-1], Cut), "the stream is cut")
        judge.until_idle()
        judge.command(Resume(judge.client.new_id(), task))
        state = judge.wait(task)
    finally:
        judge.stop()
    assert state.state in {State.REVIEW, State.FAILED, State.NO_CHANGE}, state.reason
    assert state.label != "engine_error", state.trouble
    lines = judge.lines(task)
    assert isinstance(lines[0], Open)
    assert lines[0].prompt_ids == ()
    assert [line.kept for line in lines if isinstance(line, Resumed)] == [0], "it cannot go on inside an answer"
    assert answer_of(lines).text.count("```") <= 4, "the answer stands once"
    receipt = json.loads(judge.cockpit("show", task, "--receipt", "--json").stdout)
    assert tuple(receipt["missing"]) == MISSING
    shown = judge.cockpit("show", task, "--receipt").stdout
    assert "token ids and counting before a call" in " ".join(shown.split())
