"""Blocks a patch that reaches beyond the code an issue is about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cockpit.domain.evidence import ChangeKind, FileChange, PatchEvidence
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status, matches
from cockpit.guards.machinery import is_machinery, touches_test_settings
from cockpit.guards.wording import count, listed

NAME = "scope"
STAGE = Stage.PATCH
GENERATED = ("*.min.js", "*.min.css", "*_pb2.py", "*_pb2_grpc.py", "*.pb.go", "*.pyc", "*.map")


@dataclass(frozen=True, slots=True)
class Finding:
    """One path and what speaks against touching it."""

    path: str
    why: str
    label: str = "scope"
    """Empty for what is only worth a warning."""


def check(evidence: PatchEvidence, limits: Limits) -> Outcome:
    """Block tests and test machinery always, other special files unless the issue names them."""
    if evidence.changes is None:
        return Outcome(NAME, Status.UNKNOWN, "no patch to look at")
    findings = [finding for change in evidence.changes for finding in _findings(change, evidence.issue_text, limits)]
    tampered = [finding for finding in findings if finding.label == "tampered"]
    outside = [finding for finding in findings if finding.label == "scope"]
    for blocking in (tampered, outside):
        if blocking:
            reason = f"{blocking[0].path}: {blocking[0].why}"
            return Outcome(NAME, Status.BLOCK, reason, _figure(blocking), blocking[0].label)
    files = [change.path for change in evidence.changes if not (change.is_new and limits.is_test(change.path))]
    if len(files) > limits.max_files:
        reason = f"touches {count(len(files), 'file')}, more than {limits.max_files}"
        return Outcome(NAME, Status.BLOCK, reason, listed(files), "scope")
    if findings:
        return Outcome(NAME, Status.WARN, f"{findings[0].path}: {findings[0].why}", _figure(findings))
    return Outcome(NAME, Status.PASS, f"{count(len(files), 'file')} touched, none of them special", listed(files))


def is_named(path: str, text: str) -> bool:
    """Tell whether an issue names this very path, or the file's name on its own."""
    name = path.rpartition("/")[2]
    return any(re.search(rf"(?<![\w./\\-]){re.escape(part)}(?![\w/-]|\.\w)", text) for part in {path, name} if part)


def _findings(change: FileChange, issue: str, limits: Limits) -> Iterator[Finding]:
    if is_machinery(change):
        yield Finding(change.path, "decides how tests run", "tampered")
    elif touches_test_settings(change):
        yield Finding(change.path, "its settings for tests differ", "tampered")
    elif any(limits.is_test(path) for path in _existing(change)):
        yield Finding(change.path, "belongs to the tests the patch is judged by", "tampered")
    for path in dict.fromkeys((change.path, *_existing(change))):
        why = _special(path, change, limits)
        if why and not is_named(path, issue):
            yield Finding(path, why)
    if change.is_new:
        why = "is a new test, it proves nothing yet" if limits.is_test(change.path) else "is a new file"
        yield Finding(change.path, why, "")


def _existing(change: FileChange) -> tuple[str, ...]:
    """Paths of the base that this change alters, moves or removes."""
    if change.is_new:
        return ()
    return (change.old_path or change.path,)


def _special(path: str, change: FileChange, limits: Limits) -> str:
    named = (
        ("is a lock file", limits.lock_patterns),
        ("is vendored code", limits.vendored_patterns),
        ("configures builds or checks", limits.ci_patterns),
        ("is generated", GENERATED),
    )
    for why, patterns in named:
        if matches(path, patterns):
            return why
    if any(part.startswith(".") for part in path.split("/")):
        return "is a hidden file"
    return _special_kind(change)


def _special_kind(change: FileChange) -> str:
    if change.kind is ChangeKind.SUBMODULE or "160000" in (change.old_mode, change.new_mode):
        return "is a submodule"
    if change.kind is ChangeKind.SYMLINK or "120000" in (change.old_mode, change.new_mode):
        return "is a symbolic link"
    is_mode = change.old_mode and change.new_mode and change.old_mode != change.new_mode
    return "changes its mode" if is_mode or change.kind is ChangeKind.MODE else ""


def _figure(findings: list[Finding]) -> str:
    return listed(dict.fromkeys(finding.path for finding in findings))
