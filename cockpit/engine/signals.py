"""Interrupts a task between two of its awaits: pause, kill, shutdown."""

import asyncio
from dataclasses import dataclass, field

from cockpit.domain.errors import CockpitError


class Interrupted(Exception):  # noqa: N818  # not an error: the operator asked for it
    """The running move was cut; the task decides anew what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class AttemptOverError(CockpitError):
    """The attempt cannot go on: its prompt no longer fits, or there is nobody to answer. ``label`` is set."""


@dataclass
class StopSignal:
    """A wish to stop that a stream can wait for."""

    _event: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = ""

    def ask(self, why: str) -> None:
        """Ask the running move to stop soon."""
        self.why = why
        self._event.set()

    def clear(self) -> None:
        """Forget the wish; the next move may run."""
        self.why = ""
        self._event.clear()

    @property
    def is_asked(self) -> bool:
        """Tell whether somebody asked to stop."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Wait until somebody asks to stop."""
        await self._event.wait()

    def check(self) -> None:
        """Raise ``Interrupted`` when somebody asked to stop."""
        if self.is_asked:
            raise Interrupted(self.why)
