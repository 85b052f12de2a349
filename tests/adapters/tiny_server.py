"""Stands in for the embedded server's process: the same endpoints, no model. ``$TINY`` chooses how it behaves."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OPTIONS = json.loads((Path(os.environ["COCKPIT_HOME"]) / "server.options.json").read_text())
BEHAVIOUR = os.environ.get("TINY", "")
LOADING = iter(range(2))
"""How many requests find the model still loading."""
ANSWERS: dict[str, Any] = {
    "/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 2, "model_path": "tiny"},
    "/slots": [],
    "/metrics": {},
    "/apply-template": {"prompt": "hi"},
    "/tokenize": {"tokens": [1, 2]},
}
STREAM = (
    b'data: {"content":"yes","tokens":[5],"tokens_predicted":1}\n\n'
    b'data: {"content":"","stop":true,"stop_type":"limit"}\n\n'
)


class Handler(BaseHTTPRequestHandler):
    """Answers like llama.cpp."""

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def answer(self) -> None:
        key = Path(OPTIONS["api_key_file"]).read_text().strip()
        if self.headers["Authorization"] != f"Bearer {key}":
            self.send(401, b'{"error":{"message":"Invalid API Key"}}')
        elif BEHAVIOUR == "loads for ever" or next(LOADING, None) is not None:
            self.send(503, b'{"error":{"message":"Loading model"}}')
        elif self.path == "/completion":
            self.send(200, STREAM)
        else:
            self.send(200, json.dumps(ANSWERS[self.path]).encode())

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if BEHAVIOUR == "dies":
    sys.stderr.write("cannot load the model\nit has no head\n")
    sys.exit(3)
ThreadingHTTPServer(("127.0.0.1", OPTIONS["port"]), Handler).serve_forever()
