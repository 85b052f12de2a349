"""Keeps a waiting client from waiting for an engine that is gone."""

import time

from cockpit.domain.errors import CockpitError
from cockpit.journal.layout import Home
from cockpit.journal.lock import is_engine_alive

GRACE_S = 5.0
"""An engine may be restarted under a client that waits; longer than this it is gone."""


class Vigil:
    """Watches the engine's lock while a client waits for a task."""

    def __init__(self, home: Home, *, grace_s: float = GRACE_S) -> None:
        self._home = home
        self._grace_s = grace_s
        self._seen_s = time.monotonic()

    def check(self) -> None:
        """Raise ``CockpitError`` when no engine has run for the grace time."""
        now_s = time.monotonic()
        if is_engine_alive(self._home):
            self._seen_s = now_s
        elif now_s - self._seen_s > self._grace_s:
            raise CockpitError(
                "the engine is not running, so the task does not go on",
                hint=f"start it with `cockpit engine start`; {self._home.engine_log} says why it ended",
            )
