"""The view that can always be drawn."""

from toolwright.contracts.tool import CallState, Done, Failed, Progress
from toolwright.contracts.view import Badge, KeyValue, Line, Output, Stack, Text, View
from toolwright.surfaces.rendering.generic import generic_view

STATE = CallState(
    call_id="c1",
    tool="drawn",
    offered_name="Drawn",
    input={"a": "b", "n": [1]},
    phase="done",
    outcome=Done("out"),
)


def test_the_generic_view_of_a_finished_call() -> None:
    assert generic_view(STATE) == View(
        "Drawn",
        activity="Running Drawn",
        use=KeyValue((("a", Text("b")), ("n", Text("[1]")))),
        result=Output("out"),
        summary="out",
    )


def test_the_generic_view_of_a_failed_and_of_a_running_call() -> None:
    failed = CallState(
        call_id="c",
        tool="t",
        offered_name="T",
        input={},
        phase="error",
        outcome=Failed("timeout", "late", hint="wait"),
    )
    running = CallState(
        call_id="c", tool="t", offered_name="T", input={}, phase="running", progress=Progress("half")
    )

    assert generic_view(failed) == View(
        "T",
        activity="Running T",
        error=Stack(
            (Line((Badge("timeout", "error"), Text(" "), Text("late", "error"))), Text("wait", "dim"))
        ),
        rejected=Text("late"),
        summary="timeout: late",
    )
    assert generic_view(running).progress == Text("half")


def test_a_view_given_with_the_result_is_used() -> None:
    done = CallState(
        call_id="c", tool="t", offered_name="T", input={}, phase="done", outcome=Done("x", view=Text("drawn"))
    )

    assert generic_view(done).result == Text("drawn")
