"""How calls stand in a transcript."""

from typing import Any

import pytest

from toolwright.contracts.tool import CallState, Done, Failed, Progress
from toolwright.contracts.view import (
    Collapsible,
    Diff,
    Group,
    Hunk,
    Line,
    Output,
    Phase,
    Stack,
    Text,
    View,
)
from toolwright.surfaces.rendering.calls import DrawnCall, Verbosity, clipped, draw_call, draw_calls
from toolwright.surfaces.rendering.plain import render_plain

VIEW = View(
    "Shell: make test",
    activity="Running the tests",
    use=Text("make test"),
    progress=Text("12 of 40"),
    result=Output("all passed"),
    error=Text("it broke"),
    rejected=Text("not now"),
    summary="all passed",
)


def state(phase: Phase, **more: Any) -> CallState:
    return CallState(
        call_id="c1", tool="bash", offered_name="Bash", input={"command": "make"}, phase=phase, **more
    )


FAILED = Failed("command_failed", "Exit code 2\nmore", hint="Read the output.")
REJECTED = Failed("rejected_by_user", "not now")


@pytest.mark.parametrize(
    ("call", "mode", "shown"),
    [
        (state("streaming"), "compact", "[…] Running the tests"),
        (state("queued"), "compact", "[queued] Shell: make test"),
        (state("waiting_permission"), "compact", "[asks] Shell: make test"),
        (state("running"), "compact", "[running] Running the tests"),
        (
            state("running", progress=Progress("12 of 40")),
            "compact",
            "[running] Running the tests · 12 of 40",
        ),
        (state("running", duration=1.9), "compact", "[running] Running the tests"),
        (state("running", duration=2.4), "compact", "[running] Running the tests · 2 s"),
        (state("done", outcome=Done("x")), "compact", "[done] Shell: make test · all passed"),
        (
            state("error", outcome=FAILED),
            "compact",
            "[failed] Shell: make test · command_failed: Exit code 2",
        ),
        (state("rejected", outcome=REJECTED), "compact", "[rejected] Shell: make test · not now"),
        (state("running"), "normal", "[running] Running the tests\n  make test\n  12 of 40"),
        (state("done", outcome=Done("x")), "normal", "[done] Shell: make test\n  make test\n  all passed"),
        (state("error", outcome=FAILED), "normal", "[failed] Shell: make test\n  make test\n  it broke"),
        (
            state("rejected", outcome=REJECTED),
            "normal",
            "[rejected] Shell: make test · not now\n  not now\n  make test",
        ),
    ],
)
def test_each_phase_shows_what_matters(call: CallState, mode: Verbosity, shown: str) -> None:
    assert render_plain(draw_call(VIEW, call, mode)) == shown


def test_what_was_proposed_is_shown_once() -> None:
    view = View("Shell", use=Text("make test"), rejected=Stack((Text("rejected"), Text("make test"))))

    shown = render_plain(draw_call(view, state("rejected", outcome=REJECTED)))

    assert shown == "[rejected] Shell · not now\n  rejected\n  make test"


def test_an_error_without_a_view_shows_code_message_and_hint() -> None:
    shown = render_plain(draw_call(View("Shell"), state("error", outcome=FAILED)))

    assert shown == "[failed] Shell\n  [command_failed] Exit code 2\n  more\n  Read the output."


def test_a_call_without_any_view_is_drawn_from_itself() -> None:
    shown = render_plain(draw_call(None, state("done", outcome=Done("first\nsecond"))))

    assert shown == "[done] Bash\n  command: make\n  first\n  second"


def call(tool: str, name: str, *, folds: bool = True, phase: Phase = "done") -> DrawnCall:
    return DrawnCall(
        View(f"{name} x", folds=folds),
        CallState(call_id="c", tool=tool, offered_name=name, input={}, phase=phase),
    )


READ, GREP, GLOB = call("read", "Read"), call("grep", "Grep"), call("glob", "Glob")
SHELL = call("bash", "Bash", folds=False)


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([READ], "[done] Read x"),
        ([READ, READ, READ, READ, GREP, GLOB], "[done] Read 4 files, searched 2 patterns"),
        ([GREP, READ], "[done] Searched 1 pattern, read 1 file"),
        ([READ, SHELL, READ, GREP], "[done] Read x\n[done] Bash x\n[done] Read 1 file, searched 1 pattern"),
        ([READ, call("read", "Read", phase="running")], "[done] Read x\n[running] Read x"),
        ([call("own", "Own"), call("own", "Own")], "[done] Called Own 2 times"),
    ],
)
def test_neighbours_that_read_and_search_are_folded(calls: list[DrawnCall], shown: str) -> None:
    assert render_plain(draw_calls(calls, "compact")) == shown


def test_outside_compact_mode_each_call_has_its_line() -> None:
    assert render_plain(draw_calls([READ, GREP])) == "[done] Read x\n[done] Grep x"


def test_long_output_is_folded_after_ten_lines_and_whole_in_full_mode() -> None:
    output = Output("\n".join(map(str, range(25))))
    view = View("Shell", result=output)

    assert clipped(output) == Collapsible(Output("\n".join(map(str, range(10)))), output, hidden_lines=15)
    assert clipped(Stack((output,))) == Stack((clipped(output),))
    assert clipped(Output("short")) == Output("short")
    full = draw_call(view, state("done", outcome=Done("x")), "full")
    assert isinstance(full, Group)
    assert full.children == (output,)


def test_a_long_diff_is_folded_after_twenty_lines() -> None:
    diff = Diff("a", tuple(Hunk(1, 0, 1, 15, ("+x",) * 15) for _ in range(3)), 45, 0)

    folded = clipped(diff)

    assert isinstance(folded, Collapsible)
    assert isinstance(folded.summary, Diff)
    assert [len(hunk.lines) for hunk in folded.summary.hunks] == [15, 5]
    assert (folded.body, folded.hidden_lines) == (diff, 25)
    assert clipped(Diff("a", diff.hunks[:1], 15, 0)) == Diff("a", diff.hunks[:1], 15, 0)


def test_the_head_is_always_one_line() -> None:
    head = draw_call(View("two\nlines"), state("done", outcome=Done("x")), "compact")

    assert isinstance(head, Line)
    assert render_plain(head) == "[done] two⏎lines"


@pytest.mark.parametrize("beside", [(), (Text("make test"),)])
def test_a_refusal_is_said_once(beside: tuple[Text, ...]) -> None:
    word = Line((Text("rejected", "warn"), Text(": not now", "dim")))
    view = View("Shell", use=Text("make test"), rejected=Stack((word, *beside)) if beside else word)
    shown = render_plain(draw_call(view, state("rejected", outcome=REJECTED)))
    assert shown == "[rejected] Shell · not now\n  make test"


def test_a_title_that_the_first_line_repeats_stands_once() -> None:
    named = Line((Text("Shell", "bold"), Text(" make test", "dim")))
    one = View("Shell", use=named, result=Text("passed"))
    done = state("done", outcome=Done("x"))
    assert render_plain(draw_call(one, done)) == "[done] Shell make test\n  passed"
    several = View("Shell", use=Stack((named, Text("in build"))))
    assert render_plain(draw_call(several, done)) == "[done] Shell make test\n  in build"
    assert render_plain(draw_call(one, done, "compact")) == "[done] Shell make test"
