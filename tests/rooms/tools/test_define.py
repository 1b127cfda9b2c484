"""Three ways to write a tool, one contract."""

import functools
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import anyio
import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    Progress,
    Tool,
    ToolSpec,
    Touch,
    Traits,
)
from toolwright.contracts.view import Badge, Collapsible, Line, Output, Text, View
from toolwright.tools.define import ToolClass, build_tool, generic_view, tool

NOWHERE = cast(Workspace, None)


def context(**members: Any) -> CallContext:
    return CallContext(workspace=NOWHERE, **members)


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


@dataclass(frozen=True)
class Commit:
    hash: str


# --- defaults -------------------------------------------------------------------------------


def test_bare_tool_gets_safe_defaults() -> None:
    assert add.spec == ToolSpec(
        name="add",
        description="Add two numbers.",
        input_schema={
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "The first."},
                "b": {"type": "integer", "default": 1},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        output_schema={"type": "integer"},
        blocking=True,
        interrupt="block",
    )


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("read_only", False),
        ("destructive", False),
        ("concurrency_safe", False),
        ("open_world", False),
        ("pre_approved", False),
        ("touches", None),
        ("command", None),
        ("subject", None),
    ],
)
def test_nothing_is_promised_that_was_not_said(question: str, answer: object) -> None:
    assert getattr(add.traits({"a": 1}), question) == answer


def test_asynchronous_tool_is_cancelled_on_interrupt_by_default() -> None:
    @tool
    async def work() -> str:
        """Work."""
        return ""

    assert (work.spec.blocking, work.spec.interrupt) == (False, "cancel")


@pytest.mark.anyio
async def test_default_check_objects_to_nothing() -> None:
    assert await add.check({"a": 1}, context()) is None


def test_every_way_fits_the_contract() -> None:
    tools: list[Tool] = [add, build_tool(name="x", input_schema={}, call=add), Counter()]
    assert all(isinstance(item, Tool) for item in tools)


def test_tool_is_still_the_function() -> None:
    assert add(2, b=3) == 5


# --- members --------------------------------------------------------------------------------


def test_members_may_be_constants_or_functions_of_the_input() -> None:
    @tool(
        name="remove",
        aliases=("Remove",),
        category="core_io",
        timeout=5,
        read_only=False,
        destructive=lambda input: input["path"] == "/",
        touches=lambda input: [Touch("path", input["path"], "delete")],
        subject=lambda input: input["path"],
    )
    async def remove(path: str) -> str:
        """Remove a file."""
        return path

    assert (remove.spec.aliases, remove.spec.timeout) == (("Remove",), 5)
    assert remove.traits({"path": "/"}) == Traits(
        destructive=True, touches=(Touch("path", "/", "delete"),), subject="/"
    )
    assert not remove.traits({"path": "/a"}).destructive


def test_promise_that_raises_is_the_cautious_one() -> None:
    def broken(_: Input) -> bool:
        raise KeyError("x")

    careful = build_tool(
        name="careful",
        input_schema={},
        call=lambda input: str(input),
        read_only=broken,
        destructive=broken,
        concurrency_safe=broken,
        open_world=broken,
    )

    assert careful.traits({}) == Traits(destructive=True, open_world=True)


def test_unknown_member_is_a_type_error_with_a_near_name() -> None:
    members: dict[str, Any] = {"read_onyl": True}
    with pytest.raises(TypeError, match="did you mean 'read_only'"):
        tool(**members)(add)
    with pytest.raises(TypeError, match="no member 'colour'"):
        build_tool(**cast(Any, {"name": "x", "call": add, "colour": 1}))


@pytest.mark.parametrize("name", ["", "1st", "a b", "_x", "x" * 65])
def test_name_must_follow_the_rule(name: str) -> None:
    with pytest.raises(DefinitionError, match="no name for a tool"):
        build_tool(name=name, input_schema={}, call=lambda input: str(input))


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "object"}]},
        {"type": "string"},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"$ref": "#/$defs/A"},
    ],
    ids=str,
)
def test_root_of_a_written_schema_is_one_plain_object(schema: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        build_tool(name="x", input_schema=schema, call=lambda input: str(input))


@pytest.mark.anyio
async def test_check_and_view_members_are_used() -> None:
    objection = Objection("deny", "No.")

    async def check(input: Input, ctx: CallContext) -> Objection | None:
        return objection if input.get("bad") else None

    built = build_tool(
        name="x",
        input_schema={},
        call=lambda input: str(input),
        check=check,
        view=lambda call: View(title=call.tool),
    )

    assert await built.check({"bad": 1}, context()) is objection
    assert await built.check({}, context()) is None
    assert built.view(state()) == View(title="x")


# --- running --------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", Done("text")),
        (None, Done("")),
        (3, Done("3", data=3)),
        (True, Done("true", data=True)),
        ({"b": 1, "a": [1.5]}, Done('{"b":1,"a":[1.5]}', data={"b": 1, "a": [1.5]})),
        ([Commit("x")], Done('[{"hash":"x"}]', data=[{"hash": "x"}])),
        ({"é"}, Done('["é"]', data=["é"])),
        (2**70, Done(str(2**70), data=2**70)),
        (TextBlock("t"), Done((TextBlock("t"),))),
        ([TextBlock("t"), TextBlock("u")], Done((TextBlock("t"), TextBlock("u")))),
        (Failed("no_match", "Nothing."), Failed("no_match", "Nothing.")),
        (Done("x", data=1), Done("x", data=1)),
    ],
)
async def test_returned_value_becomes_an_outcome(value: Any, expected: Outcome) -> None:
    built = build_tool(name="x", input_schema={}, call=lambda input: value)

    assert await built.call({}, context()) == expected


@pytest.mark.anyio
async def test_value_that_json_cannot_hold_is_an_error_that_names_it() -> None:
    built = build_tool(name="x", input_schema={}, call=lambda input: object())

    with pytest.raises(TypeError, match="object"):
        await built.call({}, context())


@pytest.mark.anyio
async def test_function_of_data_gets_keywords_or_the_whole_input() -> None:
    schema = {"properties": {"a": {"type": "string"}}}

    async def whole(input: Input, ctx: CallContext) -> str:
        return f"{dict(input)} {ctx.call_id}"

    async def named(a: str = "none") -> str:
        return a

    first = build_tool(name="x", input_schema=schema, call=whole)
    second = build_tool(name="x", input_schema=schema, call=named)

    assert await first.call({"a": "b"}, context(call_id="c1")) == Done("{'a': 'b'} c1")
    assert await second.call({"a": "b"}, context()) == Done("b")
    assert await second.call({}, context()) == Done("none")


@pytest.mark.anyio
async def test_synchronous_function_runs_in_a_thread_and_reports_on_the_loop() -> None:
    loop_thread = threading.get_ident()
    seen: list[tuple[Progress, int]] = []

    @tool
    def work(a: str, ctx: CallContext) -> str:
        """Work."""
        ctx.report(Progress(a))
        return str(threading.get_ident() == loop_thread)

    outcome = await work.call(
        {"a": "half"}, context(report=lambda progress: seen.append((progress, threading.get_ident())))
    )

    assert outcome == Done("False")
    assert seen == [(Progress("half"), loop_thread)]


@pytest.mark.anyio
async def test_many_synchronous_calls_run_side_by_side() -> None:
    together = threading.Barrier(60)

    @tool
    def meet() -> str:
        """Meet."""
        together.wait(timeout=10)
        return "met"

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(meet.call, {}, context())


@pytest.mark.anyio
async def test_cancelled_synchronous_call_returns_at_once() -> None:
    release = threading.Event()
    started = anyio.Event()

    @tool
    def stuck(ctx: CallContext) -> str:
        """Wait."""
        ctx.report(Progress("started"))
        release.wait(10)
        return ""

    try:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(stuck.call, {}, context(report=lambda _: started.set()))
                await started.wait()
                group.cancel_scope.cancel()
    finally:
        release.set()


@pytest.mark.anyio
async def test_stream_reports_progress_and_ends_with_its_value() -> None:
    seen: list[Progress] = []

    @tool
    async def count(to: int) -> AsyncIterator[Progress | str]:
        """Count."""
        for number in range(to):
            yield Progress(str(number))
        yield "done"

    outcome = await count.call({"to": 2}, context(report=seen.append))

    assert (outcome, seen) == (Done("done"), [Progress("0"), Progress("1")])


@pytest.mark.anyio
async def test_wrapped_function_is_read_through_its_wrapper() -> None:
    async def inner(a: int) -> int:
        """Double."""
        return a * 2

    @functools.wraps(inner)
    async def outer(*args: Any, **kwargs: Any) -> int:
        return await inner(*args, **kwargs) + 1

    doubled = tool(outer)

    assert list(doubled.spec.input_schema["properties"]) == ["a"]
    assert await doubled.call({"a": 2}, context()) == Done("5", data=5)


@pytest.mark.anyio
async def test_failure_raised_by_a_tool_passes_through() -> None:
    @tool
    async def fail() -> str:
        """Fail."""
        raise ToolFailure("no_match", "Nothing.")

    with pytest.raises(ToolFailure, match="no_match"):
        await fail.call({}, context())


@pytest.mark.anyio
async def test_function_of_data_gets_the_context_by_name_or_annotation() -> None:
    schema = {"properties": {"a": {"type": "string"}}}

    first = build_tool(name="x", input_schema=schema, call=lambda a, ctx: a + ctx.call_id)

    assert await first.call({"a": "b"}, context(call_id="c")) == Done("bc")


# --- classes --------------------------------------------------------------------------------


class Counter(ToolClass):
    spec = ToolSpec(
        name="counter",
        description="Count up.\n\nArgs:\n    step: How far.\n\nReturns:\n    The new number.",
        input_schema={},
    )

    def __init__(self) -> None:
        self.value = 0

    async def run(self, ctx: CallContext, *, step: int = 1) -> Outcome:
        self.value += step
        return Done(f"{ctx.call_id}{self.value}")


@pytest.mark.anyio
async def test_class_takes_its_schema_from_run_and_keeps_state() -> None:
    counter = Counter()

    assert counter.spec == ToolSpec(
        name="counter",
        description="Count up.",
        input_schema={
            "type": "object",
            "properties": {"step": {"type": "integer", "description": "How far.", "default": 1}},
            "additionalProperties": False,
        },
        output_schema={"description": "The new number."},
    )
    await counter.call({"step": 2}, context())
    assert await counter.call({}, context(call_id="c")) == Done("c3")
    assert counter.traits({}) == NO_PROMISES


def test_class_whose_text_describes_a_stranger_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'other'"):

        class Wrong(ToolClass):
            spec = ToolSpec(name="wrong", description="Do.\n\nArgs:\n    other: X.", input_schema={})

            async def run(self) -> str:
                return ""


@pytest.mark.anyio
async def test_subclass_with_another_run_gets_another_schema() -> None:
    class Doubled(Counter):
        async def run(self, ctx: CallContext, *, step: int = 1, times: int = 1) -> Outcome:
            return Done(f"{ctx.call_id}{step * times}")

    assert list(Doubled.spec.input_schema["properties"]) == ["step", "times"]
    assert (Doubled.spec.name, list(Counter.spec.input_schema["properties"])) == ("counter", ["step"])
    assert await Doubled().call({"step": 2, "times": 2}, context()) == Done("4")


# --- the generic view -----------------------------------------------------------------------


def state(**members: Any) -> CallState:
    return CallState(
        **{"call_id": "c", "tool": "x", "offered_name": "x", "input": {}, "phase": "running", **members}
    )


SPEC = ToolSpec(name="recent_commits", description="", input_schema={"required": ["path"]})


def test_view_names_the_tool_and_its_key_arguments() -> None:
    view = generic_view(SPEC, state(input={"limit": 3, "path": "a\nb", "x": None, "y": 1}))

    assert view == View(
        title="Recent commits",
        activity="Running Recent commits",
        use=Line((Text("Recent commits", "bold"), Text(" path: a, limit: 3, x: null", "dim"))),
    )


def test_view_of_partial_input_is_no_error() -> None:
    assert generic_view(SPEC, state(partial=True, phase="streaming")).use == Line(
        (Text("Recent commits", "bold"),)
    )


def test_view_of_a_long_result_folds_and_sums_up() -> None:
    text = "\n".join(["x" * 100, *("line" for _ in range(14))])

    view = generic_view(SPEC, state(phase="done", outcome=Done(text)))

    assert view.summary == "x" * 79 + "…"
    assert view.result == Collapsible(Output("\n".join(text.splitlines()[:10])), Output(text), hidden_lines=5)


def test_view_of_an_error_gives_code_and_message() -> None:
    view = generic_view(SPEC, state(phase="error", outcome=Failed("timeout", "Too slow.")))

    assert view.error == Line((Badge("timeout", "error"), Text(" Too slow.", "error")))
    assert view.summary == "timeout: Too slow."


def test_view_of_a_rejected_call_gives_the_reason() -> None:
    view = generic_view(SPEC, state(phase="rejected", outcome=Failed("rejected_by_user", "Not now.")))

    assert (view.error, view.rejected) == (None, Line((Text("rejected", "warn"), Text(": Not now.", "dim"))))
