"""Reads back what our plugin and JUnit's file say about one run of pytest, and whether the two agree."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cockpit.domain.testing import BAD, CaseStatus
from cockpit.workspace.junit import JunitCounts, open_plain, read_junit

RECORDS = "records.jsonl"
JUNIT = "junit.xml"
WORST_FIRST = (
    CaseStatus.ERROR, CaseStatus.FAILED, CaseStatus.XPASSED, CaseStatus.SKIPPED, CaseStatus.XFAILED, CaseStatus.PASSED,
)  # fmt: skip
DISAGREE = "the result files disagree"


@dataclass(frozen=True, slots=True)
class PytestResults:
    """What a run of pytest came to, as far as its records can be trusted."""

    results: dict[str, CaseStatus] = field(default_factory=dict)
    """Empty whenever there is a problem."""
    origins: dict[str, str] = field(default_factory=dict)
    """Absolute path by module name."""
    exit_status: int | None = None
    """As pytest itself meant to exit; None without a last record."""
    running: str = ""
    """The test that had begun and not ended when the records stopped, or the run was interrupted."""
    problem: str = ""

    @property
    def has_failures(self) -> bool:
        """Whether any test failed or broke."""
        return any(status in BAD for status in self.results.values())


def read_results(folder: Path, secret: str) -> PytestResults:
    """Read both files of a run; any doubt becomes a ``problem`` and leaves the results empty."""
    records, is_whole = read_chain(folder / RECORDS, secret)
    running = _running(records)
    if not is_whole:
        return PytestResults(running=running, problem=f"{DISAGREE}: the records of the run were altered")
    if not records or records[-1]["kind"] != "complete":
        return PytestResults(running=running, problem="pytest ended before it could report")
    last = records[-1]
    results, contradiction = judge(records)
    problem = contradiction or _compare(results, read_junit(folder / JUNIT))
    return PytestResults({} if problem else results, last["origins"], last["exit_status"], running, problem)


def read_chain(path: Path, secret: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the records whose seals hold, and whether that is all of the file."""
    records: list[dict[str, Any]] = []
    seal = b""
    for line in _lines(path):
        body, _, found = line.rstrip(b"\n").rpartition(b"\t")
        seal = hmac.new(secret.encode(), seal + body, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(seal, found) or _is_closed(records):
            # a last line without its end is a process that died while writing, not a forgery
            return records, not line.endswith(b"\n")
        records.append(json.loads(body))
    return records, True


def readable(name: str) -> str:
    """Return a test's id as text that can be stored: bytes of a file name that are no UTF-8 are spelled out."""
    return name.encode("utf-8", "backslashreplace").decode()


def judge(records: list[dict[str, Any]]) -> tuple[dict[str, CaseStatus], str]:
    """Return the status by id, and a sentence when a report contradicts the exception that was raised."""
    found: dict[str, CaseStatus] = {}
    contradiction = ""
    for record in records:
        if record["kind"] not in ("phase", "collect"):
            continue
        name, status = readable(record["id"]), _status(record)
        if record.get("raised") and record["outcome"] == "passed" and not record["is_xfail"]:
            contradiction = contradiction or f"{DISAGREE}: {name} raised {record['raised']} and is reported as passed"
        if status is not None:
            found[name] = min(status, found.get(name, status), key=WORST_FIRST.index)
    return found, contradiction


def _compare(results: dict[str, CaseStatus], junit: JunitCounts | None) -> str:
    """Say what differs; in JUnit's file two ids may share a name, and one id may have two entries."""
    if junit is None:
        return f"{DISAGREE}: pytest's own report is missing or broken"
    bad = sum(status in BAD for status in results.values())
    if not junit.names <= len(results) <= junit.entries:
        return f"{DISAGREE}: {len(results)} tests recorded, {junit.entries} in pytest's own report"
    if not junit.bad_names <= bad <= junit.bad_entries:
        return f"{DISAGREE}: {bad} failures recorded, {junit.bad_entries} in pytest's own report"
    return ""


def _status(record: dict[str, Any]) -> CaseStatus | None:
    """Return what one phase says about its test; None when it says nothing."""
    outcome = record["outcome"]
    if record["kind"] == "collect":
        return CaseStatus.SKIPPED if outcome == "skipped" else CaseStatus.ERROR
    if record["is_part"]:  # one part of a test: only its failure says something about the whole
        return CaseStatus.FAILED if outcome == "failed" else None
    if outcome == "failed":  # an unexpected pass under strict rules, too
        return CaseStatus.FAILED if record["when"] == "call" else CaseStatus.ERROR
    if outcome == "skipped":
        return CaseStatus.XFAILED if record["is_xfail"] else CaseStatus.SKIPPED
    if record["when"] != "call" or outcome != "passed":
        return None
    return CaseStatus.XPASSED if record["is_xfail"] else CaseStatus.PASSED


def _running(records: list[dict[str, Any]]) -> str:
    begun = ""
    for record in records:
        if record["kind"] == "start":
            begun = record["id"]
        elif record["kind"] == "phase" and record["when"] == "teardown" and record["id"] == begun:
            begun = ""
    return readable(begun)


def _is_closed(records: list[dict[str, Any]]) -> bool:
    return bool(records) and records[-1]["kind"] == "complete"


def _lines(path: Path) -> Iterator[bytes]:
    stream = open_plain(path)
    if stream is not None:
        with stream:
            yield from stream
