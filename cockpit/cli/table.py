"""Lays tasks out as a table fitted to a width: those that wait for the operator first, then those at work."""

from collections.abc import Iterable, Sequence

from cockpit.domain.states import ACTIVE, State
from cockpit.domain.summary import TaskSummary
from cockpit.domain.text import cell_width, crop_cells, visible

HEAD = ("TASK", "STATE", "PHASE", "ROUND", "AGE", "TITLE")
GAP = "  "
LEAST_TITLE = 12
"""Cells of the title below which a column is left out."""
CHOICES = ((0, 1, 2, 3, 4), (0, 1, 3, 4), (0, 1, 4), (0, 1))
"""Columns shown before the title, from wide to narrow terminals."""


def in_order(tasks: Iterable[TaskSummary]) -> list[TaskSummary]:
    """Sort: review and waiting first, then active, then the rest; within each the longest waiting or newest first."""
    return sorted(tasks, key=lambda task: (_rank(task), task.changed_at_s if _rank(task) < 2 else -task.changed_at_s))


def task_table(tasks: Sequence[TaskSummary], now_s: float, width: int, *, ascii_only: bool = False) -> list[str]:
    """Return the lines of the table, none wider than ``width`` cells."""
    rows = [HEAD, *(_row(task, now_s, ascii_only=ascii_only) for task in tasks)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]  # all but titles are words of ours
    shown = next(
        (columns for columns in CHOICES if sum(widths[at] + len(GAP) for at in columns) + LEAST_TITLE <= width),
        CHOICES[-1],
    )
    lines: list[str] = []
    for row in rows:
        front = "".join(row[column].ljust(widths[column]) + GAP for column in shown)
        lines.append(crop_cells(front + _cropped(row[5], width - len(front)), width).rstrip())
    return lines


def age(seconds: float) -> str:
    """Return a span in its largest unit, for example ``3h``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def _rank(task: TaskSummary) -> int:
    if task.state is State.REVIEW:
        return 0
    if task.state is State.WAITING:
        return 1
    return 2 if task.state in ACTIVE else 3


def _row(task: TaskSummary, now_s: float, *, ascii_only: bool) -> tuple[str, ...]:
    standing = f"{task.state.value}/{task.grade or 'unproven'}" if task.state is State.REVIEW else task.state.value
    if task.label and task.state is not State.REVIEW:
        standing += f"/{task.label}"
    return (
        task.id,
        f"{standing} (paused)" if task.paused else standing,
        task.phase if task.phase != task.state.value.replace("_", " ") else "",
        f"{task.attempt}.{task.round}" if task.round else "",
        age(now_s - task.added_at_s),
        visible(task.title, ascii_only=ascii_only),
    )


def _cropped(text: str, cells: int) -> str:
    if cell_width(text) <= cells:
        return text
    return crop_cells(text, cells - 3) + "..." if cells > 3 else crop_cells(text, cells)
