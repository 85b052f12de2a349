"""Turns the edits of one answer into bytes to write: everything or nothing, and never a guess."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from cockpit.domain.evidence import EditRefusal, WrittenFile
from cockpit.edits.content import FileText, answer_texts, find_lines, read_text, splice
from cockpit.edits.model import Applied, Edit, RefusedError, SearchReplace, TreeView, WholeFile
from cockpit.edits.nearest import describe_miss
from cockpit.edits.omissions import left_out
from cockpit.edits.paths import check_known, check_new, resolve

_MAX_PLACES = 10


def apply_edits(edits: Iterable[Edit], tree: TreeView) -> Applied:
    """Return what the edits would write, in order, each on the result of those before it.

    Nothing is written here, and a single refusal leaves ``written`` empty.
    """
    desk = _Desk(tree)
    for edit in edits:
        desk.take(edit)
    desk.refuse_unchanged()
    if desk.refusals:
        return Applied((), tuple(desk.refusals))
    return Applied(tuple(desk.written()))


@dataclass(slots=True)
class _Draft:
    """A file while edits are applied to it."""

    before: bytes | None
    after: bytes
    whole_file: bool = False


@dataclass(slots=True)
class _Desk:
    """The files an answer has touched so far."""

    tree: TreeView
    drafts: dict[str, _Draft] = field(default_factory=dict)
    refusals: list[EditRefusal] = field(default_factory=list)

    def take(self, edit: Edit) -> None:
        """Apply one edit, or note why not."""
        path = edit.path or ""
        try:
            path = resolve(edit.path, self.tree)
            match edit:
                case SearchReplace():
                    self._search_replace(path, edit)
                case WholeFile():
                    self._whole_file(path, edit)
                case _:
                    assert_never(edit)
        except RefusedError as error:
            self.refusals.append(EditRefusal(error.label, path, error.message, error.hint))

    def refuse_unchanged(self) -> None:
        """Refuse files whose edits cancel each other out."""
        for path, draft in self.drafts.items():
            if draft.before == draft.after:
                self.refusals.append(EditRefusal("edit_noop", path, "the edits together leave the file as it is"))

    def written(self) -> Iterable[WrittenFile]:
        """Yield the files to write, in the order they were first touched."""
        for path, draft in self.drafts.items():
            yield WrittenFile(path, draft.before, draft.after, draft.whole_file)

    def _current(self, path: str) -> bytes | None:
        """Return the bytes as edited so far; None where no file is."""
        if path in self.drafts:
            return self.drafts[path].after
        return self.tree.read(path) if self.tree.kind(path) == "file" else None

    def _store(self, path: str, after: bytes, *, whole_file: bool) -> None:
        draft = self.drafts.setdefault(path, _Draft(self._current(path), after))
        draft.after = after
        draft.whole_file = draft.whole_file or whole_file

    def _search_replace(self, path: str, edit: SearchReplace) -> None:
        if path not in self.drafts:
            (check_known if edit.search else check_new)(path, self.tree)
        data = self._current(path)
        after = _replaced(path, data or b"", edit) if edit.search else _filled(path, data, edit)
        self._store(path, after, whole_file=False)

    def _whole_file(self, path: str, edit: WholeFile) -> None:
        check_new(path, self.tree)
        if path in self.drafts:
            raise RefusedError("format_invalid", f"the answer edits {path} and gives it as a complete file as well")
        data = self._current(path)
        old = read_text(data or b"")
        texts = answer_texts(edit.text.removeprefix("\ufeff"))
        if edit.title and texts[:1] == [edit.title] and old.texts[:1] != [edit.title]:
            texts = texts[1:]
        if not any(text.strip() for text in texts) and any(text.strip() for text in old.texts):
            raise RefusedError("format_invalid", "the complete file is empty: it leaves out all code")
        _check_complete(path, texts, old)
        after = splice(old, 0, len(old.lines), texts).encode()
        if after == data:
            raise RefusedError("edit_noop", "the complete file is the file as it is")
        self._store(path, after, whole_file=True)


def _replaced(path: str, data: bytes, edit: SearchReplace) -> bytes:
    """Return the bytes after one block."""
    search, new = answer_texts(edit.search), answer_texts(edit.replace)
    if search == new:
        raise RefusedError("edit_noop", "REPLACE is the same as SEARCH: nothing would change")
    file = read_text(data)
    start = _only_place(file.texts, search)
    _check_complete(path, new, file)
    return splice(file, start, start + len(search), new).encode()


def _filled(path: str, data: bytes | None, edit: SearchReplace) -> bytes:
    """Return the bytes after a block with an empty SEARCH: only a new or empty file can take one."""
    if data:
        raise RefusedError(
            "search_missing",
            "SEARCH is empty, but the file exists and is not",
            hint="copy the lines to be replaced into SEARCH",
        )
    new = answer_texts(edit.replace)
    if data is not None and not new:
        raise RefusedError("edit_noop", "SEARCH and REPLACE are both empty")
    empty = FileText(())
    _check_complete(path, new, empty)
    return splice(empty, 0, 0, new).encode()


def _only_place(texts: list[str], search: list[str]) -> int:
    """Return the one index where the searched lines stand."""
    places = find_lines(texts, search)
    if len(places) == 1:
        return places[0]
    if not places:
        reason, hint = describe_miss(texts, search)
        raise RefusedError("search_missing", reason, hint=hint)
    shown = ", ".join(str(place + 1) for place in places[:_MAX_PLACES])
    more = ", …" if len(places) > _MAX_PLACES else ""
    raise RefusedError(
        "search_ambiguous",
        f"SEARCH occurs {len(places)} times, at lines {shown}{more}",
        hint="add neighbouring lines to SEARCH until it occurs once",
    )


def _check_complete(path: str, new: list[str], old: FileText) -> None:
    line = left_out(new, old.texts, path)
    if line is not None:
        raise RefusedError(
            "format_invalid", f"the edit leaves out code: {line.strip()!r}", hint="write every line, leave nothing out"
        )
