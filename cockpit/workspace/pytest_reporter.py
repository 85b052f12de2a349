"""Records what pytest really did, from inside pytest, in a chain of sealed lines that outsiders cannot continue.

This file is copied under a name made up for the run and loaded with ``-p``; it uses the standard library and pytest
only. Each line carries a MAC over itself and all lines before it, keyed with a secret that is read once at import and
removed from the disk. The last line is written after every other hook and holds the exit status.

What cannot be forged: printed text, exit codes, files written by a test or by a process it started (the chain breaks,
or the last line is missing), a run cut short by ``os._exit`` or a signal, and a hook that turns a raised exception into
a pass (the exception itself is recorded next to the report).

What can be forged: code of the project runs in this same process, so code that is written against this plugin can read
its memory, replace pytest's internals before a test is called, or make the test body do nothing. Guards therefore also
block patches that touch the machinery of tests, and missing tests are found by comparing ids with the baseline.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import json
import sys
import unittest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    XdistNode = Any

HERE = Path(__file__).resolve().parent
PLAN = HERE / "plan.json"
RECORDS = HERE / "records.jsonl"


def _take_plan() -> dict[str, Any] | None:
    """Read the run's secret and questions once; None in a worker of a parallel run, which is told what it needs."""
    try:
        text = PLAN.read_text("utf-8")
        PLAN.unlink()
    except OSError:
        return None
    plan: dict[str, Any] = json.loads(text)
    return plan


_plan = _take_plan()


class Witness:
    """Keeps the exception of a phase beside its report, before and after other hooks had their say."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
        """Note what was raised on the report itself, which travels from a worker to the recorder."""
        raised = _name_of_failure(call)
        outcome = yield
        if getattr(outcome, "excinfo", None) is None:
            outcome.get_result().cockpit_raised = raised or _name_of_failure(call)


class Recorder(Witness):
    """Writes the chain, in the one process that sees all reports."""

    def __init__(self, secret: str, modules: list[str]) -> None:
        self._secret = secret.encode()
        self._seal = b""
        self._stream = RECORDS.open("ab", buffering=0)
        self.modules = modules
        self.origins: dict[str, str] = {}

    def note(self, kind: str, **facts: object) -> None:
        """Append one sealed line."""
        body = json.dumps({"kind": kind, **facts}).encode("ascii")
        self._seal = hmac.new(self._secret, self._seal + body, hashlib.sha256).hexdigest().encode()
        self._stream.write(body + b"\t" + self._seal + b"\n")

    def pytest_runtest_logstart(self, nodeid: object) -> None:
        """Say which test begins, so that a run which dies can name it."""
        self.note("start", id=str(nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record one phase of one test."""
        self.note(
            "phase",
            id=str(report.nodeid),
            when=str(report.when),
            outcome=str(report.outcome),
            raised=str(getattr(report, "cockpit_raised", "")),
            is_xfail=hasattr(report, "wasxfail"),
            is_part=hasattr(report, "context"),
        )

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record what could not be collected."""
        if not report.passed:
            self.note("collect", id=str(report.nodeid), outcome=str(report.outcome))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: XdistNode) -> None:
        """Tell a worker of a parallel run which modules to look for."""
        node.workerinput["cockpit_modules"] = self.modules

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: XdistNode) -> None:
        """Take over what a worker of a parallel run found."""
        self.origins.update(getattr(node, "workeroutput", {}).get("cockpit_origins", {}))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Close the chain after every other hook, JUnit's file included."""
        yield
        for name, path in find_origins(self.modules).items():
            self.origins.setdefault(name, path)
        self.note("complete", exit_status=int(session.exitstatus), origins=self.origins)
        self._stream.close()


class Worker(Witness):
    """Answers for one worker of a parallel run; its reports travel to the recorder."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Send the origins of modules home."""
        yield
        config: Any = session.config
        config.workeroutput["cockpit_origins"] = find_origins(config.workerinput.get("cockpit_modules", []))


def pytest_configure(config: pytest.Config) -> None:
    """Start recording, or stop the run when its secret is gone: someone else has read it."""
    global _plan  # noqa: PLW0603  # the secret must not outlive its one use
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Worker())
        return
    if _plan is None:
        raise pytest.UsageError("the plan of this run was taken by someone else")
    config.pluginmanager.register(Recorder(_plan["secret"], _plan["modules"]))
    _plan = None


def _name_of_failure(call: pytest.CallInfo[Any]) -> str:
    """Return the exception that makes a phase a failure; empty for none, and for a skip or an expected failure."""
    harmless = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
    if call.excinfo is None or isinstance(call.excinfo.value, harmless):
        return ""
    return str(call.excinfo.typename)


def find_origins(modules: list[str]) -> dict[str, str]:
    """Return where top-level modules were imported from, or would be."""
    found = {}
    for name in modules:
        try:
            spec = getattr(sys.modules.get(name), "__spec__", None) or importlib.util.find_spec(name)
        except Exception:  # noqa: BLE001, S112  # a foreign finder may raise anything; the module then has no origin
            continue
        places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
        real = [place for place in places if place and place not in ("built-in", "frozen", "namespace")]
        if real:
            found[name] = str(Path(real[0]).resolve())
    return found
