"""Shows a file as its outline, or as whole symbols with an outline of the rest; bytes are never cut."""

from collections.abc import Iterator, Sequence

from cockpit.adapters.syntax import Symbol, outline


def outline_text(path: str, source: bytes, budget_lines: int) -> str:
    """Return one line for each definition, nested ones indented; the deepest are left out first, and counted."""
    return "\n".join(_outline_lines(outline(path, source), budget_lines))


def enclosing_symbols(path: str, source: bytes, names: Sequence[str]) -> tuple[Symbol, ...]:
    """Return the definitions meant by names, in the order of the file, none inside another one of them.

    A name is qualified (``Cart.total``), plain (``total``), or a line number (``42``), which means the innermost
    definition around it.
    """
    symbols = outline(path, source)
    meant = [symbol for symbol in symbols if any(_is_meant(symbol, name, symbols) for name in names)]
    return tuple(_outermost(meant))


def context_for(path: str, source: bytes, budget_bytes: int, wanted: Sequence[str]) -> str:
    """Return the whole file when it fits, else the wanted symbols whole and an outline of the rest.

    Wanted symbols come in the order of ``wanted`` until the budget is used up; one that does not fit is left to the
    outline. The outline is shortened by whole lines. The text never has more bytes than the budget.
    """
    text = source.decode("utf-8", "replace")
    if _size(text) <= budget_bytes:
        return text
    symbols = outline(path, source)
    lines = [line.decode("utf-8", "replace") for line in source.split(b"\n")]  # the parser counts line feeds only
    chosen: list[Symbol] = []
    for name in wanted:
        for symbol in _innermost_first(symbols, name):
            trial = _outermost([*chosen, symbol])
            if _size(_shown(trial, lines)) <= budget_bytes:
                chosen = trial
    shown = _shown(chosen, lines)
    return shown + _rest(symbols, chosen, budget_bytes - _size(shown), len(lines) - (lines[-1] == ""))


def _innermost_first(symbols: Sequence[Symbol], name: str) -> list[Symbol]:
    return sorted((symbol for symbol in symbols if _is_meant(symbol, name, symbols)), key=_length)


def _is_meant(symbol: Symbol, name: str, symbols: Sequence[Symbol]) -> bool:
    if name.isdecimal():
        line = int(name[:9])
        around = [other for other in symbols if other.start_line <= line <= other.end_line]
        return bool(around) and symbol == min(around, key=_length)
    return symbol.name == name or symbol.name.endswith(f".{name}")


def _length(symbol: Symbol) -> int:
    return symbol.end_line - symbol.start_line


def _outermost(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Sort by line and drop what lies inside another one."""
    kept: list[Symbol] = []
    for symbol in sorted(symbols, key=lambda symbol: (symbol.start_line, -symbol.end_line)):
        if not kept or symbol.end_line > kept[-1].end_line:
            kept.append(symbol)
    return kept


def _shown(symbols: Sequence[Symbol], lines: Sequence[str]) -> str:
    return "".join(
        f"[lines {symbol.start_line}-{symbol.end_line}: {symbol.name}]\n{_body(symbol, lines)}\n" for symbol in symbols
    )


def _body(symbol: Symbol, lines: Sequence[str]) -> str:
    return "\n".join(lines[symbol.start_line - 1 : symbol.end_line]) + "\n"


def _rest(symbols: Sequence[Symbol], chosen: Sequence[Symbol], budget_bytes: int, total_lines: int) -> str:
    others = [symbol for symbol in symbols if not any(_holds(outer, symbol) for outer in chosen)]
    head = f"[outline of the rest, {total_lines} lines in all]\n"
    fits, too_many = -1, len(others) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _size(_headed(head, others, middle)) <= budget_bytes:
            fits = middle
        else:
            too_many = middle
    return _headed(head, others, fits) if fits >= 0 else ""


def _headed(head: str, symbols: Sequence[Symbol], budget_lines: int) -> str:
    return head + "".join(f"{line}\n" for line in _outline_lines(symbols, budget_lines))


def _holds(outer: Symbol, inner: Symbol) -> bool:
    return outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def _outline_lines(symbols: Sequence[Symbol], budget_lines: int) -> Iterator[str]:
    depths = sorted(symbol.name.count(".") for symbol in symbols)
    kept = list(symbols)
    if len(kept) > budget_lines:
        deepest = depths[budget_lines] if depths else 0
        kept = [symbol for symbol in symbols if symbol.name.count(".") < deepest]
        same = [symbol for symbol in symbols if symbol.name.count(".") == deepest]
        kept = sorted([*kept, *same[: max(0, budget_lines - len(kept))]], key=lambda symbol: symbol.start_line)
    for symbol in kept:
        indent = "    " * symbol.name.count(".")
        yield f"{indent}{symbol.signature}  ({symbol.start_line}-{symbol.end_line})"
    if len(kept) < len(symbols):
        yield f"({len(symbols) - len(kept)} more definitions)"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
