"""Decides when a model call counts as hung or lost; it is told what arrived and asked in between, it has no clock."""

from dataclasses import dataclass

from cockpit.domain.repetition import Repetition
from cockpit.domain.serving import Finished, Piece, Progress, StreamEvent


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """When to give up a call."""

    prefill_stall_s: float = 300.0
    """Seconds without progress on the prompt; a keep-alive is no progress."""
    decode_stall_s: float = 120.0
    """Seconds without a token, after the first one."""
    call_s: float = 1800.0
    """Seconds the call may take in all."""
    repeats: int = 8
    """How often a block comes in a row before it may count as a loop."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why a call is to be stopped."""

    label: str
    """``prefill_timeout``, ``decode_timeout`` or ``gen_repetition``."""
    reason: str


class Watchdog:
    """Watches one model call."""

    def __init__(self, limits: WatchLimits, started_s: float) -> None:
        self._limits = limits
        self._started_s = started_s
        self._moved_s = started_s
        """When the call last came nearer to its end."""
        self._processed = -1
        self._has_token = False
        self._is_over = False
        self._loops = {False: Repetition(limits.repeats), True: Repetition(limits.repeats)}
        self._loop: str | None = None

    def feed(self, now_s: float, event: StreamEvent) -> None:
        """Take note of something the server sent."""
        match event:
            case Progress():
                if event.processed > self._processed:
                    self._processed, self._moved_s = event.processed, now_s
            case Piece():
                self._has_token, self._moved_s = True, now_s
                self._loop = self._loop or self._loops[event.is_reasoning].feed(event.text)
            case Finished():
                self._is_over = True

    def check(self, now_s: float) -> Alarm | None:
        """Return why the call has to be stopped now, or None."""
        if self._is_over:
            return None
        if self._loop:
            return Alarm("gen_repetition", f"the answer goes round in circles: {self._loop}")
        stage, limit_s = self._stage()
        still_s, taken_s = now_s - self._moved_s, now_s - self._started_s
        if still_s >= limit_s:
            what = "no token" if self._has_token else "no progress on the prompt"
            return Alarm(stage, f"{what} for {still_s:.0f} s (limit {limit_s:g} s)")
        if taken_s >= self._limits.call_s:
            return Alarm(stage, f"the call took {taken_s:.0f} s in all (limit {self._limits.call_s:g} s)")
        return None

    def _stage(self) -> tuple[str, float]:
        if self._has_token:
            return "decode_timeout", self._limits.decode_stall_s
        return "prefill_timeout", self._limits.prefill_stall_s
