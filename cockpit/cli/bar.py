"""Draws a progress bar on standard error: one line that grows on a terminal, a line per tenth elsewhere."""

import sys
from types import TracebackType
from typing import Self

CELLS = 30
MIB = 1024 * 1024


class Bar:
    """Shows how much of something is done; says nothing when nothing had to be done."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._tenth = -1
        self._permille = -1
        self._is_open = False

    def show(self, done: int, total: int) -> None:
        """Show ``done`` of ``total`` bytes."""
        permille = done * 1000 // total if total else 1000
        if sys.stderr.isatty():
            if permille != self._permille:
                filled = "#" * (permille * CELLS // 1000)
                sys.stderr.write(f"\r{self._title} [{filled:<{CELLS}}] {done // MIB} of {total // MIB} MiB")
                self._is_open = True
        elif permille // 100 != self._tenth:
            self._tenth = permille // 100
            sys.stderr.write(f"{self._title}: {self._tenth * 10} %\n")
        self._permille = permille
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_open:
            sys.stderr.write("\n")
            sys.stderr.flush()
