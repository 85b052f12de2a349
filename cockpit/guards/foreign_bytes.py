"""Finds what changed in a file besides its text: line ends, byte order mark, last newline, tabs."""

import re
from collections import Counter
from collections.abc import Iterator

BOM = b"\xef\xbb\xbf"
LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
EOL_NAMES = {b"\n": "LF", b"\r\n": "CRLF", b"\r": "CR", b"": "no line end"}


def byte_faults(before: bytes, after: bytes) -> Iterator[str]:
    """Yield one sentence for each kind of byte that changed without its line being edited; linear in size."""
    if before.startswith(BOM) != after.startswith(BOM):
        yield "byte order mark " + ("removed" if before.startswith(BOM) else "added")
    old, new = _lines(before), _lines(after)
    yield from _line_end_faults(old, new)
    yield from _last_newline_faults(old, new)
    yield from _tab_faults(old, new)


def _lines(data: bytes) -> list[tuple[bytes, bytes]]:
    """Split into (text, line end); the empty match at the very end of the data is dropped."""
    found = LINE.findall(data.removeprefix(BOM))
    return [(text, end) for text, end in found if text or end]


def _line_end_faults(old: list[tuple[bytes, bytes]], new: list[tuple[bytes, bytes]]) -> Iterator[str]:
    styles = {end for _, end in old if end}
    if len(styles) == 1:
        strange = {end for _, end in new if end} - styles
        if strange:
            yield f"line ends went from {_names(styles)} to {_names({end for _, end in new if end})}"
        return
    counts = Counter(old), Counter(new)
    texts = Counter(text for text, _ in old), Counter(text for text, _ in new)
    for text, end in counts[0]:
        if end and texts[0][text] == texts[1][text] and _is_moved(text, end, counts):
            yield "line ends of lines that were not edited changed"
            return


def _is_moved(
    text: bytes, end: bytes, counts: tuple[Counter[tuple[bytes, bytes]], Counter[tuple[bytes, bytes]]]
) -> bool:
    """Tell whether a line that stayed lost this line end to another one (the last line's is judged apart)."""
    lost = counts[0][text, end] > counts[1][text, end]
    return lost and counts[0][text, b""] == counts[1][text, b""]


def _last_newline_faults(old: list[tuple[bytes, bytes]], new: list[tuple[bytes, bytes]]) -> Iterator[str]:
    if not old or not new:
        return
    had, has = bool(old[-1][1]), bool(new[-1][1])
    if had and not has:
        yield "newline at the end of the file removed"
    if has and not had and old[-1][0] == new[-1][0]:
        yield "newline at the end of the file added"


def _tab_faults(old: list[tuple[bytes, bytes]], new: list[tuple[bytes, bytes]]) -> Iterator[str]:
    """Compare, for each text that occurs as often as before, how many of its lines are indented by tabs."""
    texts = Counter(text.strip() for text, _ in old), Counter(text.strip() for text, _ in new)
    tabbed = _tabbed(old), _tabbed(new)
    for text in tabbed[0].keys() | tabbed[1].keys():
        before, after = tabbed[0][text], tabbed[1][text]
        if before != after and texts[0][text] == texts[1][text]:
            yield "tabs of lines that were not edited became spaces" if before > after else "spaces became tabs"
            return


def _tabbed(lines: list[tuple[bytes, bytes]]) -> Counter[bytes]:
    indented = ((text, text.lstrip()) for text, _ in lines)
    return Counter(bare.strip() for text, bare in indented if bare and b"\t" in text[: len(text) - len(bare)])


def _names(ends: set[bytes]) -> str:
    return " and ".join(sorted(EOL_NAMES[end] for end in ends))
