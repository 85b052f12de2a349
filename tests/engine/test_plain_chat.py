"""A server that knows only OpenAI's chat serves a task to its end, and the receipt says what that costs."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cockpit.adapters.openai import MISSING
from cockpit.domain.commands import Pause, Resume
from cockpit.domain.receipt import receipt_of
from cockpit.domain.states import State
from cockpit.domain.stream import Cut, Open, answer_of
from cockpit.domain.stream import Resume as Resumed
from cockpit.journal.streamlog import read_stream
from tests.engine.house import House
from tests.engine.project import ISSUE, RIGHT_ANSWER, make_project

pytestmark = pytest.mark.e2e


class Chat(BaseHTTPRequestHandler):
    """Writes the right answer line by line, as any chat server would."""

    def do_GET(self) -> None:
        known = self.path == "/v1/models"
        self._head(200 if known else 404, "application/json")
        self.wfile.write(json.dumps({"data": [{"id": "plain"}]} if known else {"error": {"message": "no"}}).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._head(200 if self.path == "/v1/chat/completions" else 404, "text/event-stream")
        try:
            for line in RIGHT_ANSWER.splitlines(keepends=True):
                self._say({"choices": [{"delta": {"content": line}}]})
                time.sleep(0.1)
            self._say({"choices": [{"delta": {}, "finish_reason": "stop"}]})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # the engine hung up: a pause

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def _say(self, chunk: object) -> None:
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def chat() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_paused_answer_starts_over_and_the_receipt_says_why(house: House, tmp_path: Path, chat: str) -> None:
    house.env = {"COCKPIT_SERVER_URL": chat, "COCKPIT_SERVER_DIALECT": "openai"}
    house.start()
    task = house.add(make_project(tmp_path / "repo"), ISSUE, "")
    stream = house.home.task(task).step(1, 1).stream
    house.until(lambda: stream.exists() and len(read_stream(stream)[0]) > 3, "some text has come")
    house.command(Pause(house.client.new_id(), task))
    house.until(lambda: isinstance(read_stream(stream)[0][-1], Cut), "the stream is cut")
    house.command(Resume(house.client.new_id(), task))
    state = house.wait(task)
    assert (state.state, state.grade) == (State.REVIEW, "proven"), state.reason
    lines, _ = read_stream(stream)
    assert isinstance(lines[0], Open)
    assert lines[0].prompt_ids == ()
    assert [line.kept for line in lines if isinstance(line, Resumed)] == [0]
    assert answer_of(lines).text == RIGHT_ANSWER, "the answer stands once"
    assert receipt_of(state).missing == MISSING
