"""Reads the lines that stand before the hunks of one file in a diff: names, modes, renames, binary data."""

from dataclasses import dataclass, field

from cockpit.domain.patch import FilePatch, Hunk
from cockpit.domain.quoting import decode_path, split_pair, unquote

_FACTS = {
    b"old mode ": "old_mode", b"new mode ": "new_mode", b"new file mode ": "new_file", b"deleted file mode ": "deleted",
    b"rename from ": "rename_from", b"rename to ": "rename_to", b"copy from ": "copy_from", b"copy to ": "copy_to",
    b"similarity index ": "similarity", b"dissimilarity index ": "dissimilarity", b"index ": "index",
}  # fmt: skip
_NOWHERE = b"/dev/null"


@dataclass(slots=True)
class Header:
    """Collects what the lines before the first hunk say."""

    lines: list[bytes] = field(default_factory=list)
    is_from_git: bool = False
    """True when a ``diff --git`` line opens the file; other makers of diffs start at ``---``."""
    pair: tuple[bytes, bytes] | None = None
    old: bytes | None = None
    """Name on the ``---`` line."""
    new: bytes | None = None
    """Name on the ``+++`` line."""
    facts: dict[str, bytes] = field(default_factory=dict)
    is_binary: bool = False

    def take(self, line: bytes) -> None:
        """Keep one line and note its fact; lines without a known front are only kept."""
        self.lines.append(line)
        if line.startswith(b"diff --git "):
            self.is_from_git = True
            self.pair = split_pair(line.removeprefix(b"diff --git "))
        elif line.startswith(b"--- "):
            self.old = _named(line[4:])
        elif line.startswith(b"+++ "):
            self.new = _named(line[4:])
        elif line == b"GIT binary patch" or (line.startswith(b"Binary files ") and line.endswith(b" differ")):
            self.is_binary = True
        else:
            self._note(line)

    def _note(self, line: bytes) -> None:
        for front, name in _FACTS.items():
            if line.startswith(front):
                self.facts[name] = line[len(front) :]

    def file_patch(self, hunks: tuple[Hunk, ...]) -> FilePatch | None:
        """Return the file patch these lines open; None when they name no path."""
        old, new = self._paths()
        if old is None and new is None:
            return None
        mode = self.facts.get("index", b"").partition(b" ")[2].decode("ascii", "replace")
        return FilePatch(
            old_path=old,
            new_path=new,
            header=tuple(self.lines),
            hunks=hunks,
            old_mode=self._mode("old_mode", "deleted") or ("" if "new_file" in self.facts else mode),
            new_mode=self._mode("new_mode", "new_file") or ("" if "deleted" in self.facts else mode),
            is_binary=self.is_binary,
            is_new=old is None,
            is_deleted=new is None,
            is_rename="rename_to" in self.facts,
            is_copy="copy_to" in self.facts,
            similarity=_percent(self.facts.get("similarity")),
        )

    def _mode(self, *names: str) -> str:
        return next((self.facts[name].decode("ascii", "replace") for name in names if name in self.facts), "")

    def _paths(self) -> tuple[str | None, str | None]:
        """Return the paths before and after; None on the side where the file does not exist."""
        facts = self.facts
        for kind in ("rename", "copy"):
            if f"{kind}_from" in facts and f"{kind}_to" in facts:
                return decode_path(unquote(facts[f"{kind}_from"])), decode_path(unquote(facts[f"{kind}_to"]))
        left, right = self.pair or (_NOWHERE, _NOWHERE)
        old, new = self.old or left, self.new or right
        if "new_file" in facts:
            old = _NOWHERE
        if "deleted" in facts:
            new = _NOWHERE
        return _side(old, b"a/"), _side(new, b"b/")


def _named(raw: bytes) -> bytes:
    """Return the name of a ``---`` or ``+++`` line; a tab ends it (git adds one when the name holds blanks)."""
    return unquote(raw.rstrip(b"\r").partition(b"\t")[0])


def _side(raw: bytes, prefix: bytes) -> str | None:
    return None if raw == _NOWHERE else decode_path(raw.removeprefix(prefix))


def _percent(raw: bytes | None) -> int | None:
    digits = (raw or b"").rstrip(b"%")
    return int(digits) if digits.isdigit() else None
