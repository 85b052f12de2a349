"""A small server that speaks llama.cpp's dialect and fails as it is told; it understands what it is sent."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Chunk = dict[str, Any] | bytes | float
"""Sent as an event; bytes as they are; a number is a pause in seconds."""


@dataclass(frozen=True)
class Call:
    """One completion: its number from 1, the prompt's ids, and what of the answer is still to be said."""

    number: int
    prompt: list[int]
    left: str
    room: int

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Chunk]:
        """Yield a stretch of the answer, a character a token."""
        for index, letter in list(enumerate(self.left, 1))[start:stop]:
            yield {"content": letter, "tokens": [ord(letter)], "stop": False, "tokens_predicted": index}

    def last(self, count: int, **changes: Any) -> Chunk:  # noqa: ANN401  # any field of the last event
        """Return the event that ends an answer of ``count`` tokens."""
        size = len(self.prompt)
        timings = {"cache_n": 0, "prompt_n": size, "prompt_ms": 1.0, "predicted_n": count, "predicted_ms": 1.0}
        return {
            "content": "", "tokens": [], "stop": True, "stop_type": "eos", "truncated": False,
            "tokens_predicted": count, "tokens_evaluated": size, "timings": timings,
        } | changes  # fmt: skip

    def whole(self) -> Iterator[Chunk]:
        """Say all that is left, as a healthy server does."""
        yield from self.pieces()
        yield self.last(len(self.left))


Fault = Callable[[Call], Iterator[Chunk] | None]


@dataclass(frozen=True)
class Script:
    """How the server behaves."""

    status: int = 200
    """Of everything but completions."""
    error: str = ""
    context: int = 16384
    answer: str = ""
    refuse_completion: int = 0
    fault: Fault | None = None
    """Takes over a completion; None from it lets the plain answer go out."""


@dataclass
class Faulty:
    """A running server."""

    url: str
    script: Script
    calls: list[Call] = field(default_factory=list)

    def set(self, **changes: Any) -> None:  # noqa: ANN401  # fields of the script
        """Behave otherwise from now on."""
        self.script = replace(self.script, **changes)


class Handler(BaseHTTPRequestHandler):
    """Answers like llama.cpp; a token is a character's number, so that a resumed answer can be told from a new one."""

    made: Faulty

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        said = {"default_generation_settings": {"n_ctx": self.made.script.context}, "total_slots": 2}
        answers: dict[str, Any] = {
            "/props": {**said, "model_path": "scripted-32b.gguf", "build_info": "b1", "chat_template": "x"},
            "/slots": [], "/metrics": {}, "/v1/models": {"data": []},
        }  # fmt: skip
        self._plain(answers.get(self.path.split("?")[0], {}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/apply-template":
            turns = "".join(f"[{turn['role']}]{turn['content']}" for turn in body["messages"])
            self._plain({"prompt": turns + "[assistant]"})
        elif self.path == "/tokenize":
            self._plain({"tokens": [ord(letter) for letter in body["content"]]})
        elif self.made.script.refuse_completion:
            self._refuse(self.made.script.refuse_completion, "not you")
        else:
            self._complete(body)

    def _complete(self, body: dict[str, Any]) -> None:
        script, prompt = self.made.script, body["prompt"]
        call = Call(len(self.made.calls) + 1, prompt, _left(prompt, script.answer), body["n_predict"])
        self.made.calls.append(call)
        chunks = script.fault(call) if script.fault else None
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for chunk in chunks if chunks is not None else call.whole():
                self._send(chunk)
        except OSError:
            pass
        self.close_connection = True

    def _send(self, chunk: Chunk) -> None:
        if isinstance(chunk, float):
            time.sleep(chunk)
            return
        data = chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"
        self.wfile.write(data)
        self.wfile.flush()

    def _plain(self, answer: object) -> None:
        if self.made.script.status != 200:
            self._refuse(self.made.script.status, self.made.script.error)
        else:
            self._reply(200, answer)

    def _refuse(self, status: int, message: str) -> None:
        self._reply(status, {"error": {"code": status, "message": message}})

    def _reply(self, status: int, answer: object) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def faulty(**script: Any) -> Iterator[Faulty]:  # noqa: ANN401  # fields of the script
    """Lend a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {}))
    server.daemon_threads = True
    made = Faulty(f"http://127.0.0.1:{server.server_address[1]}", Script(**script))
    server.RequestHandlerClass.made = made  # type: ignore[attr-defined]  # it is a Handler
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def _left(prompt: list[int], answer: str) -> str:
    """Return what of the answer the prompt does not end with yet."""
    ids = [ord(letter) for letter in answer]
    for kept in range(len(ids), 0, -1):
        if prompt[-kept:] == ids[:kept]:
            return answer[kept:]
    return answer
