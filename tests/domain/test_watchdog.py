"""A call that hangs or loops is noticed by what it does not do; a slow one is left alone."""

from cockpit.domain.serving import Finish, Finished, Piece, Progress, Usage
from cockpit.domain.watchdog import Watchdog, WatchLimits

LIMITS = WatchLimits(prefill_stall_s=300, decode_stall_s=3, call_s=1000)


def label_of(watchdog: Watchdog, now_s: float) -> str | None:
    alarm = watchdog.check(now_s)
    return alarm.label if alarm else None


def test_before_the_first_token_the_token_limit_does_not_apply() -> None:
    watchdog = Watchdog(LIMITS, started_s=100)
    assert label_of(watchdog, 399) is None
    assert label_of(watchdog, 400) == "prefill_timeout"


def test_progress_on_the_prompt_starts_the_wait_again() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    for step in range(1, 4):
        watchdog.feed(200.0 * step, Progress(total=400, cached=0, processed=step * 100, elapsed_ms=0))
    assert label_of(watchdog, 899) is None
    assert label_of(watchdog, 900) == "prefill_timeout"


def test_progress_that_says_the_same_again_is_none() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    for now_s in range(0, 301, 10):
        watchdog.feed(now_s, Progress(total=400, cached=0, processed=128, elapsed_ms=0))
    assert label_of(watchdog, 300) == "prefill_timeout"


def test_after_the_first_token_silence_is_a_stall() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    watchdog.feed(200, Piece("I"))
    assert label_of(watchdog, 202.9) is None
    alarm = watchdog.check(203)
    assert alarm
    assert (alarm.label, alarm.reason) == ("decode_timeout", "no token for 3 s (limit 3 s)")


def test_a_token_without_text_is_a_sign_of_life() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    watchdog.feed(1, Piece("I"))
    watchdog.feed(3.9, Piece("", (378,)))
    assert label_of(watchdog, 6) is None


def test_the_whole_call_has_a_limit_however_busy_it_is() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    watchdog.feed(999.5, Piece("still here"))
    assert label_of(watchdog, 999.9) is None
    alarm = watchdog.check(1000)
    assert alarm
    assert alarm.reason == "the call took 1000 s in all (limit 1000 s)"


def test_a_loop_is_an_alarm_and_thoughts_are_read_apart_from_the_answer() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    for number in range(79):
        watchdog.feed(1, Piece("wait, let me see\n", is_reasoning=True))
        watchdog.feed(1, Piece(f"line {number}\n"))
    assert label_of(watchdog, 1) is None
    watchdog.feed(1, Piece("wait, let me see\n", is_reasoning=True))
    assert label_of(watchdog, 1) == "gen_repetition"


def test_nothing_is_wrong_with_a_call_that_is_over() -> None:
    watchdog = Watchdog(LIMITS, started_s=0)
    watchdog.feed(5, Finished(Finish.STOP, Usage()))
    assert label_of(watchdog, 10_000) is None
