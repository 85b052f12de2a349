r"""Makes foreign text safe to show: whatever moves a cursor, hides or reorders becomes a visible mark.

The one sanitiser: presenters, CLI printing, titles and notifications pass foreign text through ``visible``.
Files keep their exact bytes; nothing here is applied to what is stored.
"""

import re

from cockpit.domain.cells import cell_width, crop_cells, expand_tabs, pad_cells

__all__ = ["cell_width", "crop_cells", "expand_tabs", "hidden_positions", "pad_cells", "visible"]

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls; tab and line feed are judged apart
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiner, Arabic mark, fillers, Mongolian
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"  # zero width, direction, separators, fillers
    "\ud800-\udfff\ufff0-\ufffb\ufffe\uffff"  # lone surrogates, annotations, non-characters
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls of rare scripts
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff" + _SELECTORS
)
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u2328\u23cf-\u23fa\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_ELEMENT = f"[{_PICTURE}](?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_JOINING = (
    "\u0600-\u061b\u061d-\u070e\u0710-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1820-\u18aa\ua840-\ua9ff"
    "\uaae0-\uabff\U00010a00-\U0001134f\U00011400-\U000117ff"
)
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2"
_KEPT = (
    f"{_ELEMENT}(?:\u200d{_ELEMENT})*"  # an emoji sequence, its joiners and selectors included
    "|[0-9#*]\ufe0f\u20e3"  # a keycap
    f"|[{_IDEOGRAPH}][\ufe00-\ufe02\U000e0100-\U000e01ef]"  # a registered form of an ideograph
    "|[\u1820-\u18aa][\u180b-\u180d\u180f]"  # a Mongolian letter form
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"  # joining in Arabic, Indic and their kin
    f"|(?<=[{_VIRAMA}])[\u200c\u200d]"  # an explicit half form
)
_SCAN = re.compile(f"({_KEPT})|[{_HIDDEN}]")
_NOT_ASCII = re.compile("[^\x20-\x7e\n\t]")


def visible(text: str, *, keep_newlines: bool = False, ascii_only: bool = False, tab_size: int = 4) -> str:
    """Return ``text`` as it may be shown: no control, direction, zero-width or separator character is left.

    C0 and DEL become control pictures, everything else hidden its code point, as in ``⟨U+202E⟩``. Joiners inside
    emoji and inside Arabic and Indic words stay. A tab becomes blanks up to the next stop. Line feeds become ``␊``
    unless ``keep_newlines``. With ``ascii_only`` the result is pure ASCII and marks are written ``<U+202E>``.
    """
    if text.isascii() and text.isprintable():
        return text
    if ascii_only:
        shown = _NOT_ASCII.sub(_ascii_mark, text)
        shown = shown if keep_newlines else shown.replace("\n", "<U+000A>")
    else:
        shown = _SCAN.sub(_mark, text)
        shown = shown if keep_newlines else shown.replace("\n", "␊")
    return "\n".join(expand_tabs(line, tab_size) for line in shown.split("\n")) if "\t" in shown else shown


def hidden_positions(text: str) -> tuple[tuple[int, int], ...]:
    """Return (column from 1, code point) of every hidden character of one line; tabs and line feeds are none."""
    if text.isascii() and text.isprintable():
        return ()
    return tuple((found.start() + 1, ord(found[0])) for found in _SCAN.finditer(text) if not found[1])


def _mark(found: re.Match[str]) -> str:
    """Return what is shown in place of one match of the scan."""
    if found[1]:
        return found[1]
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _ascii_mark(found: re.Match[str]) -> str:
    return f"<U+{ord(found[0]):04X}>"
