"""Fails a run in which a test was skipped that is not listed here with its reason."""

from collections.abc import Iterator

import pytest

ALLOWED: dict[str, str] = {
    "tests/engine/test_wrong_input.py::test_a_full_disk": "only root may mount a small disk",
    "tests/engine/test_wrong_input.py::test_a_call_on_a_full_disk": "only root may mount a small disk",
}
"""Node id (or the beginning of one) of each test that may be skipped, and why."""

_skipped: list[tuple[str, str]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped.append((report.nodeid, reason))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append((report.nodeid, str(report.longrepr)))


def _unlisted() -> Iterator[str]:
    for nodeid, reason in _skipped:
        if not any(nodeid.startswith(prefix) for prefix in ALLOWED):
            yield f"{nodeid}: {reason}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _unlisted():
        terminalreporter.write_line(f"SKIPPED WITHOUT LEAVE {line}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if any(_unlisted()) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
