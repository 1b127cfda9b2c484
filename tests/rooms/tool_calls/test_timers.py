"""Many timers behind one of the event loop's, on a clock that is moved by hand."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from toolwright.tool_calls.timers import Timers


class Handle:
    def __init__(self, at: float, call: Callable[[], object]) -> None:
        self.at, self.call, self.cancelled = at, call, False

    def cancel(self) -> None:
        self.cancelled = True


class ManualLoop:
    """What of an event loop timers use."""

    def __init__(self) -> None:
        self.now = 0.0
        self.handles: list[Handle] = []

    def time(self) -> float:
        return self.now

    def call_at(self, at: float, call: Callable[..., object], *given: object) -> Handle:
        self.handles.append(Handle(at, lambda: call(*given)))
        return self.handles[-1]

    def call_soon(self, call: Callable[[], object]) -> Handle:
        return self.call_at(self.now, call)

    @property
    def set(self) -> list[float]:
        return [handle.at for handle in self.handles if not handle.cancelled]

    def advance(self, end: float) -> None:
        while due := [handle for handle in self.handles if handle.at <= end and not handle.cancelled]:
            handle = min(due, key=lambda handle: handle.at)
            self.handles.remove(handle)
            self.now = max(self.now, handle.at)
            handle.call()
        self.now = end


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> ManualLoop:
    made = ManualLoop()
    given: Any = made
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: given)
    return made


def test_each_is_called_at_its_time_whatever_the_order_they_were_set_in(loop: ManualLoop) -> None:
    timers, rung = Timers(), list[str]()
    for seconds, name in ((30, "late"), (10, "early"), (20, "between")):
        timers.call_later(seconds, partial(rung.append, name))
    loop.advance(9)
    assert rung == []
    loop.advance(20)
    assert rung == ["early", "between"]
    loop.advance(30)
    assert rung == ["early", "between", "late"]


def test_one_that_was_cancelled_is_not_called_and_those_behind_it_are(loop: ManualLoop) -> None:
    timers, rung = Timers(), list[str]()
    first = timers.call_later(10, lambda: rung.append("first"))
    timers.call_later(20, lambda: rung.append("second"))
    first.cancel()
    first.cancel()
    loop.advance(30)
    assert rung == ["second"]


def test_the_loop_has_one_timer_for_all_and_none_once_it_has_woken_for_nothing(loop: ManualLoop) -> None:
    timers = Timers()
    for _ in range(100):
        timers.call_later(10, lambda: None).cancel()
    assert loop.set == [10]
    loop.advance(10)
    assert loop.set == []


def test_one_may_set_another_and_cancel_its_neighbour(loop: ManualLoop) -> None:
    timers, rung = Timers(), list[str]()
    neighbour = timers.call_later(20, lambda: rung.append("neighbour"))

    def first() -> None:
        neighbour.cancel()
        timers.call_later(5, lambda: rung.append("next"))

    timers.call_later(10, first)
    loop.advance(40)
    assert rung == ["next"]
    assert loop.set == []
