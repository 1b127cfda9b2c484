"""Tools whose views cannot be used."""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import KeyValue, Stack, Text, View
from toolwright.surfaces.rendering.call_view import Views
from toolwright.surfaces.rendering.generic import generic_view


class Drawn:
    """A tool of which only the view matters."""

    def __init__(self, view: Callable[[CallState], Any]) -> None:
        self._view = view
        self.asked = 0
        self.spec = ToolSpec(name="drawn", description="", input_schema={})

    def traits(self, input: Input) -> Traits:
        return NO_PROMISES

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        return Done("")

    def view(self, call: CallState) -> View:
        self.asked += 1
        return cast(View, self._view(call))


STATE = CallState(
    call_id="c1",
    tool="drawn",
    offered_name="Drawn",
    input={"a": "b", "n": [1]},
    phase="done",
    outcome=Done("out"),
)


def failing(_: CallState) -> View:
    raise ValueError("no")


def broken(**members: Any) -> Callable[[CallState], View]:
    return lambda _: View(**{"title": "t", **members})


def test_a_good_view_is_taken() -> None:
    reports: list[tuple[str, str]] = []
    view = View("mine", use=Text("x"))

    assert Views(report=lambda *said: reports.append(said)).of(Drawn(lambda _: view), STATE) == view
    assert reports == []


@pytest.mark.parametrize(
    ("view", "problem"),
    [
        (failing, "it raised ValueError: no"),
        (lambda _: None, "it is NoneType, not a view"),
        (lambda _: "text", "it is str, not a view"),
        (broken(title=None), "its title, activity or summary is no text"),
        (broken(use="text"), "a part of it cannot be drawn: str is no node"),
        (
            broken(result=Stack(cast(Any, (object(),)))),
            "a part of it cannot be drawn: object is no part of a view",
        ),
        (
            broken(error=KeyValue(cast(Any, (("k", {}),)))),
            "a part of it cannot be drawn: dict is no part of a view",
        ),
    ],
)
def test_a_view_that_fails_is_replaced_and_reported_once(
    view: Callable[[CallState], Any], problem: str
) -> None:
    reports: list[tuple[str, str]] = []
    views = Views(report=lambda *said: reports.append(said))
    tool = Drawn(view)

    assert [views.of(tool, STATE) for _ in range(3)] == [generic_view(STATE)] * 3
    assert reports == [("drawn", problem)]
    assert tool.asked == 1


def test_a_view_that_takes_too_long_is_not_waited_for() -> None:
    release = threading.Event()
    reports: list[tuple[str, str]] = []
    views = Views(report=lambda *said: reports.append(said), longest=0.01)

    def slow(_: CallState) -> View:
        release.wait(10)
        return View("late")

    assert views.of(Drawn(slow), STATE) == generic_view(STATE)
    release.set()
    assert reports == [("drawn", "it took more than 0.01 s")]
