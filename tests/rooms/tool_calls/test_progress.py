"""News of a running call: bounded in number, never the last one lost."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolwright.contracts.tool import Progress
from toolwright.tool_calls.progress import HEARTBEAT, KEPT_OUTPUT, ProgressFeed


class Timer:
    def __init__(self, at: float, wake: Callable[[], None]) -> None:
        self.at, self.wake, self.cancelled = at, wake, False

    def cancel(self) -> None:
        self.cancelled = True


class ManualLoop:
    """The three methods of an event loop that a feed uses, on a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, wake: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, wake))
        return self.timers[-1]

    def call_soon_threadsafe(self, call: Callable[..., None], *given: Any) -> None:
        self.timers.append(Timer(self.now, lambda: call(*given)))

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.at <= end and not timer.cancelled]:
            timer = min(due, key=lambda timer: timer.at)
            self.timers.remove(timer)
            self.now = max(self.now, timer.at)
            timer.wake()
        self.now = end


def feeding() -> tuple[ManualLoop, ProgressFeed, list[Progress]]:
    loop, told = ManualLoop(), list[Progress]()
    made: Any = loop
    feed: Any = ProgressFeed(told.append, loop=made)
    return loop, feed, told


def test_at_most_ten_news_a_second_pass() -> None:
    loop, feed, told = feeding()
    for n in range(100):
        feed.report(Progress(text=str(n)))
        loop.advance(0.01)
    assert len(told) <= 11
    feed.close()
    assert told[-1] == Progress(text="99")


def test_output_that_was_held_back_comes_along_whole() -> None:
    loop, feed, told = feeding()
    for n in range(5):
        feed.report(Progress(text=f"{n}", output=f"{n};"))
    loop.advance(0.1)
    assert told == [Progress(text="0", output="0;"), Progress(text="4", output="1;2;3;4;")]


def test_a_silent_call_gives_a_sign_of_life() -> None:
    loop, feed, told = feeding()
    loop.advance(HEARTBEAT * 2.5)
    assert told == [Progress(), Progress()]
    feed.close()
    loop.advance(HEARTBEAT * 5)
    assert len(told) == 2


def test_nothing_is_told_after_the_end() -> None:
    loop, feed, told = feeding()
    feed.close()
    feed.report(Progress(text="late"))
    loop.advance(HEARTBEAT * 2)
    assert told == []


def test_the_end_of_the_output_is_kept_even_when_nobody_listens() -> None:
    made: Any = ManualLoop()
    feed = ProgressFeed(None, loop=made)
    for n in range(KEPT_OUTPUT):
        feed.report(Progress(output=f"{n:04}"))
    assert len(feed.output) == KEPT_OUTPUT
    assert feed.output.endswith("79987999")


@pytest.mark.anyio
async def test_news_may_come_from_another_thread() -> None:
    told: list[tuple[Progress, int]] = []
    feed = ProgressFeed(
        lambda progress: told.append((progress, threading.get_ident())), loop=asyncio.get_running_loop()
    )
    await asyncio.to_thread(feed.report, Progress(text="from a thread"))
    await asyncio.sleep(0)
    feed.close()
    assert told == [(Progress(text="from a thread"), threading.get_ident())]
