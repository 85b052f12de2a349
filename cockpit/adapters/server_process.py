"""Starts, finds and stops the embedded model server, a background process that outlives the terminal."""

import asyncio
import fcntl
import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import cockpit
from cockpit.adapters import embedded, host
from cockpit.adapters.shell import spawn_detached
from cockpit.domain.errors import ServerError
from cockpit.domain.serving import CompletionRequest, CompletionServer, Turn
from cockpit.settings import Settings

COMMAND = (sys.executable, "-P", "-m", "cockpit", "server", "run")
"""What the background process runs; it finds its options in ``$COCKPIT_HOME``."""
POLL_S = 0.2
STOP_GRACE_S = 15.0
LOG_LINES = 15
PROBE = (Turn("user", "Say yes."),)

Progress = Callable[[float, str], None]
"""Called with seconds since the start and what is waited for."""


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """The embedded server that runs."""

    pid: int
    started_s: float
    """When the process was created: the same pid with another time is another process."""
    url: str
    api_key_file: str
    model: str
    log: str


def start(
    home: Path,
    settings: Settings,
    model: Path,
    *,
    wait_s: float = 180.0,
    progress: Progress | None = None,
    command: Sequence[str] = COMMAND,
) -> ServerRecord:
    """Return the running server, started first where needed, once it has generated a token.

    Blocks; call it in a thread where a loop runs. Two that start at once end with one server. Raises ``ServerError``
    with the end of its log when it dies or is not ready within ``wait_s``, ``HoldError`` when memory is short.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _lock(home):
        record = status(home)
        is_fresh = record is None
        if record is None:
            record = _launch(home, settings, model, command)
        elif Path(record.model) != model:
            raise ServerError(
                f"the embedded server runs with another model: {record.model}",
                hint="stop it first: cockpit server stop",
                label="model_mismatch",
                is_final=True,
            )
        try:
            _wait_ready(record, wait_s, progress or _ignore, probe=is_fresh)
        except ServerError:
            stop(home)
            raise
        return record


def status(home: Path) -> ServerRecord | None:
    """Return the record of the server that lives, loading or ready; None when none does."""
    try:
        record = ServerRecord(**json.loads(_record_file(home).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return record if host.is_alive(record.pid, record.started_s) else None


def stop(home: Path, grace_s: float = STOP_GRACE_S) -> bool:
    """End the server and wait until it is gone; False when none ran."""
    record = status(home)
    was_alive = record is not None and host.end_process(record.pid, record.started_s, grace_s)
    for path in (_record_file(home), embedded.options_file(home), home / "server.key"):
        path.unlink(missing_ok=True)
    return was_alive


def _launch(home: Path, settings: Settings, model: Path, command: Sequence[str]) -> ServerRecord:
    model_mib = model.stat().st_size // (1024 * 1024)
    sizes = embedded.fit(settings.embedded, cores=host.physical_cores(), free_mib=host.free_mib(), model_mib=model_mib)
    key_file, port, log = home / "server.key", _free_port(), home / "server.log"
    _write_key(key_file)
    embedded.write_options(home, embedded.EmbeddedOptions(model, port, key_file, sizes))
    log.unlink(missing_ok=True)
    pid = spawn_detached(command, cwd=home, env=_environment(home), log=log)
    url = f"http://{embedded.LOOPBACK}:{port}"
    record = ServerRecord(pid, host.started_s(pid) or 0.0, url, str(key_file), str(model), str(log))
    _write_record(home, record)
    return record


def _environment(home: Path) -> dict[str, str]:
    """Return our environment with this home and this very package, installed or not."""
    return {**os.environ, "COCKPIT_HOME": str(home), "PYTHONPATH": str(Path(cockpit.__file__).parents[1])}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((embedded.LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _write_key(path: Path) -> None:
    """Make a new key that only this user can read, from the first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(secrets.token_urlsafe(32) + "\n")


def _write_record(home: Path, record: ServerRecord) -> None:
    fresh = _record_file(home).with_suffix(".new")
    fresh.write_text(json.dumps(asdict(record)), "utf-8")
    fresh.replace(_record_file(home))


def _wait_ready(record: ServerRecord, wait_s: float, progress: Progress, *, probe: bool) -> None:
    """Wait until the server has the model and, with ``probe``, generates; a loaded model alone proves little."""
    began = time.monotonic()
    key = Path(record.api_key_file).read_text("utf-8").strip()
    while True:
        elapsed_s = time.monotonic() - began
        problem = asyncio.run(_problem(record.url, key, max(wait_s - elapsed_s, POLL_S), probe=probe))
        if problem is None:
            return
        if not host.is_alive(record.pid, record.started_s):
            raise _failed("the embedded server ended before it was ready", record)
        if problem.is_final or elapsed_s > wait_s:
            raise _failed(f"the embedded server is not ready after {elapsed_s:.0f} s: {problem.message}", record)
        progress(elapsed_s, problem.message)
        time.sleep(POLL_S)


async def _problem(url: str, key: str, wait_s: float, *, probe: bool) -> ServerError | None:
    """Ask for the facts and, with ``probe``, one token; return what stands in the way."""
    from cockpit.adapters.llama import LlamaServer, Transport  # imported late: httpx costs half a second

    server = LlamaServer(Transport(url, key))
    try:
        async with asyncio.timeout(wait_s):
            await server.facts()
            if probe:
                await _generate_one(server)
    except TimeoutError:
        return ServerError("it has the model, but generated no token", hint="look at its log")
    except ServerError as error:
        return error
    finally:
        await server.aclose()
    return None


async def _generate_one(server: CompletionServer) -> None:
    ids = await server.tokenize(await server.render(PROBE), special=True)
    async for _ in server.stream(CompletionRequest(PROBE, ids, max_tokens=1)):
        pass


def _failed(message: str, record: ServerRecord) -> ServerError:
    lines: list[str] = []
    with suppress(OSError):
        lines = Path(record.log).read_text("utf-8", errors="replace").splitlines()[-LOG_LINES:]
    return ServerError("\n".join([f"{message}; its log ends with:", *lines]), hint=f"the whole log is {record.log}")


def _record_file(home: Path) -> Path:
    return home / "server.json"


def _ignore(elapsed_s: float, waiting_for: str) -> None:
    """Tell nobody."""


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    with (home / "server.lock").open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
