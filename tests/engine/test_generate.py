"""One model call: every token is written down, and it goes on wherever it was cut."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, Finish, Finished, Piece, Progress, Turn, Usage
from cockpit.domain.stream import Cut, End, Insert, Open, Resume, answer_of
from cockpit.engine.generate import Generated, Generation
from cockpit.engine.signals import Interrupted
from cockpit.journal.streamlog import StreamWriter, read_stream
from cockpit.settings import Settings
from cockpit.settings.schema import WatchdogSettings
from tests.engine.scripted import SILENCE, ScriptedServer, ids_of, make_context
from tests.journal.limits import room_for

PROMPT = (7, 8, 9)
OPEN = Open(0.0, "hunter", 1, 1, PROMPT, len(PROMPT), 400)
LED = replace(OPEN, opening="The bug:", bridge="\n\na.py\n```\n")
ASKED = CompletionRequest(turns=(Turn("user", "Fix it."),), prompt_ids=PROMPT, max_tokens=400)
READ = Progress(total=3, cached=0, processed=3, elapsed_ms=1.0)
DONE = Finished(Finish.STOP, Usage(generated_tokens=2))
HASTY = Settings(watchdog=WatchdogSettings.model_validate({"decode_stall_s": 0.2, "prefill_stall_s": 0.2}))


def say(text: str) -> Piece:
    return Piece(text, ids_of(text))


class Call:
    """One call on disk, to be begun and gone on with."""

    def __init__(self, folder: Path, opened: Open = OPEN, settings: Settings | None = None) -> None:
        self.ctx = make_context(folder, settings)
        self.opened = opened
        self.step = self.ctx.folder.step(1, 1)
        self.step.root.mkdir(parents=True)
        with StreamWriter(self.step.stream, time.monotonic) as writer:
            writer.open(opened)

    @property
    def lines(self) -> list[object]:
        return list(read_stream(self.step.stream)[0])

    @property
    def text(self) -> str:
        return answer_of(read_stream(self.step.stream)[0]).text

    async def until_some_text(self) -> None:
        """Wait for a token in the file, which is all that anybody else sees of a call."""
        while not self.text:  # noqa: ASYNC110  # a file tells nobody that it grew
            await asyncio.sleep(0.01)

    async def go(self, server: ScriptedServer, request: CompletionRequest = ASKED) -> Generated:
        return await Generation(self.ctx, self.step, self.opened).run(server, request)


async def test_a_call_that_a_crash_kept_from_the_journal_is_not_sent_again(tmp_path: Path) -> None:
    call = Call(tmp_path)
    first = await call.go(ScriptedServer([READ, say("ok"), DONE]))
    again = await call.go(ScriptedServer())
    assert first == again
    assert (again.answer.text, again.finish, again.usage.prompt_tokens) == ("ok", "stop", 3)


async def test_a_pause_in_silence_cuts_at_the_last_token_and_the_call_goes_on_from_there(tmp_path: Path) -> None:
    call = Call(tmp_path)
    server = ScriptedServer([READ, say("half "), SILENCE], [READ, say("done"), DONE])
    job = asyncio.create_task(call.go(server))
    await call.until_some_text()
    call.ctx.stop.ask("pause")
    with pytest.raises(Interrupted):
        await job
    assert server.open_streams == 0
    cut = call.lines[-1]
    assert isinstance(cut, Cut)
    assert (cut.why, cut.at) == ("pause", 5)
    call.ctx.stop.clear()
    assert (await call.go(server)).answer.text == "half done"
    assert server.requests[1].prompt_ids == (*PROMPT, *ids_of("half "))
    assert server.requests[1].max_tokens == 395
    assert [line.kept for line in call.lines if isinstance(line, Resume)] == [5]


async def test_a_server_that_sends_no_ids_is_asked_from_the_start(tmp_path: Path) -> None:
    call = Call(tmp_path, replace(OPEN, prompt_ids=(), prompt_tokens=0))
    asked = replace(ASKED, prompt_ids=())
    with pytest.raises(ServerError, match="gone"):
        await call.go(ScriptedServer([Piece("half "), ServerError("gone")]), asked)
    server = ScriptedServer([Piece("whole"), DONE])
    assert (await call.go(server, asked)).answer.text == "whole"
    assert server.requests[0].skip_tokens == 0


async def test_a_small_model_is_led_through_our_opening_its_line_and_our_fence(tmp_path: Path) -> None:
    call = Call(tmp_path, LED)
    server = ScriptedServer([READ, say(" off by one"), say(".\n\nSo "), SILENCE], [READ, say("x = 1\n"), DONE])
    generated = await call.go(server)
    assert generated.answer.text == "The bug: off by one.\n\na.py\n```\nx = 1\n"
    assert server.requests[1].prompt_ids == (*PROMPT, *ids_of("The bug: off by one.\n\na.py\n```\n"))
    assert server.open_streams == 0


async def test_a_lead_that_was_dropped_is_put_in_again(tmp_path: Path) -> None:
    call = Call(tmp_path, LED)
    short = Finished(Finish.STOP, Usage(prompt_tokens=1, truncated=True))
    with pytest.raises(ServerError, match="read 1 of"):
        await call.go(ScriptedServer([say(" one\n")], [say("x"), short]))
    assert call.text == ""
    generated = await call.go(ScriptedServer([say(" two\n")], [say("y"), DONE]))
    assert generated.answer.text == "The bug: two\n\na.py\n```\ny"


async def test_a_lead_is_not_given_twice_after_a_cut(tmp_path: Path) -> None:
    call = Call(tmp_path, LED)
    with pytest.raises(ServerError, match="gone"):
        await call.go(ScriptedServer([say(" one\n")], [say("x"), ServerError("gone")]))
    generated = await call.go(ScriptedServer([say("y"), DONE]))
    assert generated.answer.text == "The bug: one\n\na.py\n```\nxy"
    assert sum(isinstance(line, Insert) for line in call.lines) == 2


async def test_a_stall_is_noticed_after_a_first_line_that_the_server_ended(tmp_path: Path) -> None:
    call = Call(tmp_path, LED, HASTY)
    with pytest.raises(ServerError, match="no token") as caught:
        await call.go(ScriptedServer([say(" one"), DONE], [READ, say("x"), SILENCE]))
    assert caught.value.label == "decode_timeout"
    assert call.text.endswith("```\nx")


async def test_an_answer_that_goes_round_in_circles_ends_with_its_reason_also_after_a_crash(tmp_path: Path) -> None:
    call = Call(tmp_path)
    first = await call.go(ScriptedServer([READ, *[say("again and again\n")] * 500]))
    assert first.finish == "gen_repetition"
    assert "circles" in first.reason
    assert await call.go(ScriptedServer()) == first


async def test_a_stream_that_breaks_off_holds_the_task_and_keeps_the_tokens(tmp_path: Path) -> None:
    call = Call(tmp_path)
    with pytest.raises(ServerError, match="without a last word"):
        await call.go(ScriptedServer([READ, say("half")]))
    assert call.text == "half"
    assert not any(isinstance(line, End) for line in call.lines)


async def test_a_full_disk_does_not_hide_that_the_job_was_cancelled(tmp_path: Path) -> None:
    call = Call(tmp_path)
    job = asyncio.create_task(call.go(ScriptedServer([READ, say("half"), SILENCE])))
    await call.until_some_text()
    with room_for(call.step.stream.stat().st_size):
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
    assert (await call.go(ScriptedServer([READ, say(" done"), DONE]))).answer.text == "half done"
    assert [line.why for line in call.lines if isinstance(line, Cut)] == ["crash"]
