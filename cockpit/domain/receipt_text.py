"""Writes a receipt as plain text, fitted to a width; every foreign text is made safe to show."""

from collections.abc import Iterator
from dataclasses import dataclass

from cockpit.domain.outcomes import Outcome, Status
from cockpit.domain.receipt import GRADE_WORDS, Receipt, RoundRow, TestRow
from cockpit.domain.states import State
from cockpit.domain.text import cell_width, crop_cells, pad_cells, visible
from cockpit.domain.timing import Timing

GLYPHS = {Status.PASS: "✓", Status.WARN: "!", Status.BLOCK: "✗", Status.UNKNOWN: "?"}
ASCII_GLYPHS = {Status.PASS: "+", Status.WARN: "!", Status.BLOCK: "x", Status.UNKNOWN: "?"}
KEY_CELLS = 18
NARROWEST = 40


@dataclass(frozen=True, slots=True)
class _Page:
    """Wraps and sanitises; the two things that every line needs."""

    width: int
    ascii_only: bool

    def safe(self, text: str) -> str:
        return visible(text, ascii_only=self.ascii_only)

    def glyph(self, status: Status) -> str:
        return (ASCII_GLYPHS if self.ascii_only else GLYPHS)[status]

    def row(self, key: str, value: str, *, indent: int = 0) -> Iterator[str]:
        """Yield ``key  value``, the value wrapped below itself; nothing for an empty value."""
        if not value:
            return
        front = " " * indent + pad_cells(key, KEY_CELLS - indent)
        for line in wrap(self.safe(value), self.width - KEY_CELLS):
            yield (front + line).rstrip()
            front = " " * KEY_CELLS


def receipt_lines(receipt: Receipt, width: int = 100, *, ascii_only: bool = False) -> list[str]:
    """Return the receipt line by line, none wider than ``width`` cells (at least 40)."""
    page = _Page(max(width, NARROWEST), ascii_only)
    lines = [*_head(page, receipt), "", *_ground(page, receipt)]
    for item in receipt.rounds:
        lines += ["", *_round(page, item)]
    lines += ["", *page.row("time", timing_text(receipt.timing))]
    return lines


def standing(receipt: Receipt) -> str:
    """Return state, grade and label in words, for example ``review, proven``."""
    parts = [receipt.state]
    if receipt.state == State.REVIEW:
        parts.append(receipt.grade or "unproven")
    elif receipt.label:
        parts.append(receipt.label)
    return ", ".join([*parts, "paused"] if receipt.paused else parts)


def guard_line(outcome: Outcome, *, ascii_only: bool = False) -> str:
    """Return one guard's row: glyph, name, reason and figure; sanitised, not wrapped."""
    figure = f" ({outcome.figure})" if outcome.figure and outcome.figure not in outcome.reason else ""
    glyph = (ASCII_GLYPHS if ascii_only else GLYPHS)[outcome.status]
    return visible(f"{glyph} {outcome.guard}: {outcome.reason}{figure}", ascii_only=ascii_only)


def tests_line(row: TestRow) -> str:
    """Return one test run in words: command, exit code, counts, seconds; raw foreign text."""
    ended = "did not end by itself" if row.exit_code is None else f"exit {row.exit_code}"
    counts = f", {row.passed} passed, {row.failed} failed" if row.runner == "pytest" else ""
    flaky = f", {row.flaky} flaky" if row.flaky else ""
    cached = ", from the cache" if row.cached else ""
    problem = f"; {row.problem}" if row.problem else ""
    return f"{row.command or 'no command'}: {ended}{counts}{flaky}, {row.elapsed_s:.1f} s{cached}{problem}"


def timing_text(timing: Timing) -> str:
    """Return the columns in one line; everything else also as a share of model plus tests."""
    columns = (
        ("setup", timing.setup_s),
        ("baseline", timing.baseline_s),
        ("model", timing.model_s),
        ("tests", timing.tests_s),
        ("everything else", timing.other_s),
    )
    text = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in columns)
    share = f" ({timing.other_share:.1%} of model plus tests)" if timing.model_s + timing.tests_s else ""
    waited = f"; waited {timing.waited_s:.1f} s" if timing.waited_s >= 0.05 else ""
    return text + share + waited


def wrap(text: str, cells: int) -> list[str]:
    """Break one line of safe text at blanks so that no part is wider than ``cells``; long words are cut."""
    lines: list[str] = []
    current = ""
    for word in text.split(" "):
        joined = f"{current} {word}" if current else word
        if cell_width(joined) <= cells:
            current = joined
            continue
        if current:
            lines.append(current)
        *full, current = _cut(word, cells)
        lines += full
    return [*lines, current] if current or not lines else lines


def _cut(word: str, cells: int) -> list[str]:
    parts: list[str] = []
    while cell_width(word) > cells and (front := crop_cells(word, cells)):
        parts.append(front)
        word = word[len(front) :]
    return [*parts, word]


def _head(page: _Page, receipt: Receipt) -> Iterator[str]:
    yield from page.row("receipt", f"{receipt.task}  {standing(receipt)}")
    yield from page.row("title", receipt.title)
    yield from page.row("reason", receipt.reason)
    if receipt.state == State.REVIEW:
        grade = receipt.grade or "unproven"
        yield from page.row("grade", f"{grade}: {GRADE_WORDS.get(grade, '')}")
    if receipt.decision:
        yield from page.row("decision", f"{receipt.decision}: {receipt.ref} at {receipt.commit[:12]}")
    yield from page.row("trouble", receipt.trouble)


def _ground(page: _Page, receipt: Receipt) -> Iterator[str]:
    """Yield what everything was measured on."""
    branch = f" ({receipt.branch})" if receipt.branch else ""
    yield from page.row("repository", f"{receipt.repo}{branch}")
    if receipt.base_commit:
        yield from page.row("base", f"commit {receipt.base_commit[:12]}, tree {receipt.base_tree[:12]}")
    yield from page.row("model", ", ".join(part for part in (receipt.model, receipt.build, receipt.server) if part))
    for lack in receipt.missing:
        yield from page.row("  without", lack)
    yield from page.row("sandbox", receipt.level)
    yield from page.row("environment", receipt.environment)
    for command in receipt.setup:
        yield from page.row("  by", command)
    if receipt.baseline:
        yield from page.row("baseline", tests_line(receipt.baseline))
        yield from page.row("  found by", receipt.baseline.why)
    yield from page.row("must pass", ", ".join(receipt.targets))


def _round(page: _Page, item: RoundRow) -> Iterator[str]:
    yield f"attempt {item.attempt}, round {item.number}"
    yield from page.row("answer", _answer(item), indent=2)
    yield from page.row("claimed", item.claim, indent=2)
    yield from page.row("measured", _patch(item), indent=2)
    for outcome in item.guards:
        yield from _guard(page, outcome)
    for run in item.tests:
        yield from page.row(run.which, f"{tests_line(run)}{_on_tree(run)}", indent=2)
        yield from page.row("flipped", ", ".join(run.flipped), indent=4)
    yield from page.row("verdict", _verdict(item), indent=2)


def _answer(item: RoundRow) -> str:
    if not item.finish:
        return f"{item.prompt_tokens} prompt tokens; no answer yet" if item.prompt_tokens else ""
    asked = f"{item.prompt_tokens} prompt tokens ({item.cached_tokens} cached, {item.sent_tokens} sent)"
    written = f" as {item.edit_format}" if item.edit_format else ""
    return f"{item.generated_tokens} tokens{written}, {item.finish}, {item.model_s:.1f} s; {asked}"


def _patch(item: RoundRow) -> str:
    if not item.tree:
        return ""
    files = ", ".join(f"{path} +{added} -{deleted}" for path, added, deleted in item.files) or "no file differs"
    digest = f", patch {item.patch_sha256[:12]}" if item.patch_sha256 else ""
    return f"{files}; tree {item.tree[:12]}{digest}"


def _guard(page: _Page, outcome: Outcome) -> Iterator[str]:
    figure = f" ({outcome.figure})" if outcome.figure and outcome.figure not in outcome.reason else ""
    key = f"{page.glyph(outcome.status)} {page.safe(outcome.guard)}"
    text = f"{outcome.reason}{figure}"
    if cell_width(key) < KEY_CELLS - 2:
        yield from page.row(key, text, indent=2)
        return
    yield f"  {key}"
    yield from page.row("", text, indent=2)


def _on_tree(run: TestRow) -> str:
    return f", on tree {run.tree[:12]}" if run.tree else ""


def _verdict(item: RoundRow) -> str:
    if not item.verdict:
        return ""
    named = ", ".join(part for part in (item.verdict, item.grade, item.label) if part)
    return f"{named}: {item.reason}" if item.reason else named
