"""A real engine process on a home of its own, with recorded answers instead of a model."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.client.client import Client
from cockpit.client.engine_process import engine_environment, engine_status
from cockpit.domain.ask import Ask, Budget
from cockpit.domain.commands import AddTask, Command
from cockpit.domain.entries import CommandDone, CommandRefused
from cockpit.domain.state import TaskState
from cockpit.domain.states import ACTIVE, State
from cockpit.journal.layout import Home

WAIT_S = 120.0
"""Generous: the machine may be busy with other things."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer of a model, as it would have been recorded."""

    text: str
    finish: str = "stop"
    pause_s: float = 0.0
    """Time between its pieces; ``replay:DIR?speed=1`` takes it."""


def record_answers(folder: Path, answers: Sequence[str | Recorded], *, attempt: int = 1, first: int = 1) -> str:
    """Write recorded steps as the engine itself writes them; returns what ``--model`` takes."""
    for number, answer in enumerate(answers, first):
        item = answer if isinstance(answer, Recorded) else Recorded(answer)
        _record_step(folder / "attempts" / str(attempt) / "steps" / str(number), item, attempt, number)
    return f"replay:{folder}"


def _record_step(folder: Path, item: Recorded, attempt: int, ordinal: int) -> None:
    pieces = item.text.splitlines(keepends=True) or [""]
    rows: list[dict[str, object]] = [
        {
            "kind": "open", "at_s": 0.0, "role": "hunter", "attempt": attempt, "ordinal": ordinal,
            "prompt_ids": [1, 2, 3], "prompt_tokens": 3, "max_tokens": 4096,
        }
    ]  # fmt: skip
    rows += [
        {
            "kind": "delta",
            "ms": round(index * item.pause_s * 1000),
            "index": index,
            "text": text,
            "ids": [1000 + index],
            "channel": "content",
        }
        for index, text in enumerate(pieces)
    ]
    usage = {"prompt_tokens": 3, "cached_tokens": 0, "generated_tokens": len(pieces)}
    rows.append({"kind": "end", "ms": len(pieces), "finish": item.finish, "usage": usage})
    folder.mkdir(parents=True)
    (folder / "stream.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@dataclass
class House:
    """A home with its engine."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None
    patience_s: float = WAIT_S
    poll_s: float = 0.02

    @property
    def home(self) -> Home:
        """The home's layout."""
        return Home(self.root)

    @property
    def client(self) -> Client:
        """A client on this home."""
        return Client(self.home)

    def start(self) -> int:
        """Start an engine and wait until it is ready; returns its pid."""
        self.home.create()
        log = (self.root / "engine.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "cockpit", "engine", "run"],
            env={**engine_environment(self.home), **self.env},
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        self.until(self._is_ready, "the engine is ready")
        return self.process.pid

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the engine ended: {(self.root / 'engine.log').read_text('utf-8')}")
        status = engine_status(self.home)
        return status.is_fresh and status.record is not None and status.record.pid == self.process.pid

    def kill9(self) -> None:
        """Kill the engine, and nothing but the engine, at this very instant."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """End the engine in good order."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(WAIT_S)
        self.process = None

    def add(self, repo: Path | str, issue: str, model: str, **wishes: object) -> str:
        """Add a task and wait until the engine has it; returns its id."""
        budget = Budget(**{key: wishes.pop(key) for key in ("rounds", "attempts") if key in wishes})  # type: ignore[arg-type]
        client = self.client
        task = client.new_id()
        ask = Ask(repo=str(repo), issue=issue, model=model, budget=budget, **wishes)  # type: ignore[arg-type]
        done = self.command(AddTask(client.new_id(), task, ask))
        assert isinstance(done, CommandDone), done
        return task

    def command(self, command: Command) -> CommandDone | CommandRefused:
        """Send a command and wait for its answer."""
        client = self.client
        client.send(command)
        task = None if isinstance(command, AddTask) else getattr(command, "task", None)
        return client.wait_for(command.id, task, WAIT_S)

    def state(self, task: str) -> TaskState:
        """The task as its journal tells it."""
        return self.client.state(task)

    def wait(self, task: str, *wanted: State) -> TaskState:
        """Wait until the task is in one of these states, by default until it rests."""
        goal = set(wanted) or set(State) - ACTIVE
        self.until(lambda: self.state(task).state in goal, f"task {task} is {sorted(goal)}", lambda: self._tell(task))
        return self.state(task)

    def _tell(self, task: str) -> str:
        log = (self.root / "engine.log").read_text("utf-8")
        state, journal = self.state(task), self.client.folder(task).journal.read_text("utf-8")
        return f"{state.state}: {state.reason}\n{journal}\n{log}"

    def until(self, holds: Callable[[], bool], what: str, tell: Callable[[], str] = str) -> None:
        """Wait for something to become true."""
        deadline_s = time.monotonic() + self.patience_s
        while not holds():
            if time.monotonic() > deadline_s:
                raise AssertionError(f"waited {self.patience_s:.0f} s in vain until {what}\n{tell()}")
            time.sleep(self.poll_s)
