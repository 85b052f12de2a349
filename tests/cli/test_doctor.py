"""Doctor: every row says what is there and what to do; 0 only when a task could run."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cockpit.cli.checks import Mark, Row, is_ready, row_lines
from cockpit.cli.server_checks import server_rows
from cockpit.cli.serving import Address
from cockpit.domain.text import cell_width
from cockpit.settings import Settings
from tests.cli.conftest import Call

NAMES = {
    "python",
    "git",
    "sandbox",
    "tmux",
    "home",
    "disk",
    "engine",
    "lingering",
    "gpu library",
    "extras",
    "demo model",
}


def test_every_check_is_a_row_and_nothing_is_made(call: Call, home_root: Path) -> None:
    said = call("doctor", "--json").json
    assert {row["name"] for row in said["rows"]} >= NAMES
    assert all(row["todo"] for row in said["rows"] if row["mark"] != "ok")
    assert not home_root.exists()


def test_without_a_server_no_task_can_run(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cockpit.cli.model_checks.missing_extras", lambda: ("the extra 'local'",))
    checked = call("doctor")
    assert checked.code == 1
    assert "bad" in checked.out
    assert "pip install" in checked.out


def test_a_server_that_is_away_is_bad(call: Call) -> None:
    checked = call("doctor", "--server-url", "http://127.0.0.1:9", "--json")
    assert checked.code == 1
    row = next(row for row in checked.json["rows"] if row["name"] == "server")
    assert (row["mark"], "127.0.0.1:9" in row["found"], bool(row["todo"])) == ("bad", True, True)


def test_a_home_of_a_newer_version_is_bad(call: Call, home_root: Path) -> None:
    home_root.mkdir()
    (home_root / "format").write_text("99\n", "ascii")
    rows = call("doctor", "--json").json["rows"]
    assert next(row["mark"] for row in rows if row["name"] == "home") == "bad"


def test_a_model_file_that_is_not_there_is_bad(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COCKPIT_MODEL_FILE", str(tmp_path / "none.gguf"))
    checked = call("doctor")
    assert checked.code == 1
    assert "none.gguf" in checked.out


def test_rows_are_wrapped_and_harmless() -> None:
    row = Row(Mark.WARN, "model", "a\x1b[2J" + " word" * 40, "do " + "this " * 30)
    lines = list(row_lines(row, 60))
    assert max(cell_width(line) for line in lines) <= 60
    assert "\x1b" not in "".join(lines)
    assert lines[0].startswith("warn model")
    assert any("-> do this" in line for line in lines)


def test_only_bad_rows_keep_a_task_from_running() -> None:
    assert is_ready([Row(Mark.OK, "a", ""), Row(Mark.WARN, "b", "", "")])
    assert not is_ready([Row(Mark.OK, "a", ""), Row(Mark.BAD, "b", "", "")])


SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

FACTS = json.loads(sys.argv[1])

class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.headers.get("Authorization") != "Bearer secret":
            return self.say(401, {"error": {"code": 401, "message": "Invalid API Key"}})
        known = {
            "/props": {"default_generation_settings": {"n_ctx": FACTS["context"]}, "total_slots": 2,
                       "model_path": "/models/small.gguf", "build_info": "b4321", "chat_template": "x"},
            "/slots": [], "/v1/models": {"data": [{"id": "small"}]},
        }
        path = self.path.split("?")[0]
        self.say(200, known[path]) if path in known else self.say(404, {"error": {"code": 404, "message": "no"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer secret":
            return self.say(401, {"error": {"code": 401, "message": "Invalid API Key"}})
        if self.path == "/apply-template":
            return self.say(200, {"prompt": "<hello>"})
        if self.path == "/tokenize":
            return self.say(200, {"tokens": [1, 2, 3]})
        text = FACTS["canary"] if "json_schema" in body else "Yes"
        last = {"content": text, "tokens": [5], "stop": True, "stop_type": "eos", "truncated": False,
                "timings": {"cache_n": 0, "prompt_n": 3, "prompt_ms": 30.0, "predicted_n": 1, "predicted_ms": 9.0}}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(("data: " + json.dumps(last) + "\\n\\n").encode())

    def say(self, code, value):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass

server = HTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def fake_server(context: int = 8192, canary: str = '{"canary": "zx81"}') -> Iterator[str]:
    """A server that says what it is told to say."""
    command = [sys.executable, "-c", SERVER, json.dumps({"context": context, "canary": canary})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def rows_of(url: str, key: str = "secret") -> dict[str, Row]:
    async def gather() -> list[Row]:
        return [row async for row in server_rows(Settings(), Address(url, key, "server.url"))]

    return {row.name: row for row in asyncio.run(gather())}


def test_a_good_server_is_checked_point_by_point() -> None:
    with fake_server() as url:
        rows = rows_of(url)
    marks = {name: row.mark.value for name, row in rows.items()}
    assert marks == {
        "server": "ok", "model": "ok", "context": "ok", "live token rates": "warn", "template": "ok",
        "tokenizer": "ok", "schema": "ok", "one token": "ok",
    }  # fmt: skip
    assert "b4321" in rows["model"].found
    assert "--metrics" in rows["live token rates"].todo
    assert "3 prompt tokens at 100/s" in rows["one token"].found


def test_a_server_that_ignores_schemas_or_is_small_is_told() -> None:
    with fake_server(context=2048, canary="Sure! Here it is.") as url:
        rows = rows_of(url)
    assert rows["schema"].mark is Mark.WARN
    assert "Sure!" in rows["schema"].found
    assert rows["context"].mark is Mark.WARN
    assert "2048" in rows["context"].found


def test_a_wrong_key_is_bad_and_says_where_the_key_belongs() -> None:
    with fake_server() as url:
        rows = rows_of(url, key="wrong")
    assert list(rows) == ["server"]
    assert rows["server"].mark is Mark.BAD
    assert "api_key_file" in rows["server"].todo
