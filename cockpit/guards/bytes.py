"""Blocks bytes that nobody asked to change: line ends, byte order mark, last newline, tabs, mode."""

from collections.abc import Iterator

from cockpit.domain.evidence import FileChange, PatchEvidence, WrittenFile
from cockpit.domain.outcomes import Limits, Outcome, Stage, Status
from cockpit.guards.foreign_bytes import byte_faults
from cockpit.guards.wording import count, listed

NAME = "bytes"
STAGE = Stage.PATCH


def check(evidence: PatchEvidence, _limits: Limits) -> Outcome:
    """Compare what an answer wrote with what was harvested, and each file with itself before.

    Only this round's paths are looked at: those of earlier rounds were judged then.
    """
    if evidence.changes is None:
        return Outcome(NAME, Status.UNKNOWN, "no patch to compare with")
    changes = {change.path: change for change in evidence.changes}
    faults = [
        f"{written.path}: {fault}"
        for written in evidence.written
        if written.path not in evidence.ignored
        for fault in _faults(written, changes.get(written.path))
    ]
    if faults:
        return Outcome(NAME, Status.BLOCK, faults[0], listed(faults), "foreign_bytes")
    return Outcome(NAME, Status.PASS, "no bytes changed outside the edits", count(len(evidence.written), "file"))


def _faults(written: WrittenFile, change: FileChange | None) -> Iterator[str]:
    if change is None:
        if written.before is None:
            yield "was written, but the patch does not hold it"
    elif change.is_deleted:
        yield "was written, but the patch deletes it"
    else:
        if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
            yield f"mode went from {change.old_mode} to {change.new_mode}"
        if change.new is not None and not _is_same(written.after, change):
            yield "the patch holds other bytes than the edit wrote"
    if written.before:
        yield from byte_faults(written.before, written.after)


def _is_same(written: bytes, change: FileChange) -> bool:
    """Equal as harvested; git may store LF for a file that its attributes check out with CRLF."""
    if written == change.new:
        return True
    stores_lf = b"\r\n" not in (change.old or b"")
    return stores_lf and written.replace(b"\r\n", b"\n") == change.new
