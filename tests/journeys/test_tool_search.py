"""Sessions with many tools: told of by name, found, loaded, called; the same after a restart."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import engine, events_of, log_of

from toolwright import tool
from toolwright.contracts.events import PreambleChanged, ToolsListed, ToolsLoaded
from toolwright.contracts.messages import ResultBlock
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.tool import Tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools.define import build_tool

pytestmark = pytest.mark.anyio
ALWAYS = {"tool_search": {"mode": "always"}}


def made(name: str, text: str) -> Tool:
    async def work(input: Mapping[str, Any]) -> str:
        return f"{name} did it with {dict(input)}"

    schema = {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "What to call it."}},
        "required": ["title"],
        "additionalProperties": False,
    }
    return build_tool(name=name, description=text, input_schema=schema, call=work, read_only=True, defer=True)


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something.

    Args:
        at: What to look at.
    """
    return f"saw {at}"


def many() -> Sequence[Any]:
    wanted = [made("create_issue", "Open an issue."), made("send_message", "Post a message to a channel.")]
    return [look, *wanted, *(made(f"spare_{n}", f"Spare part {n}.") for n in range(20))]


def names(request: ModelRequest) -> list[str]:
    return [definition.name for definition in request.preamble.tools]


def text_of(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def test_tools_are_told_of_by_name_found_loaded_and_called(tmp_path: Path) -> None:
    model = ScriptedModel([
        [call("tool_search", query="open an issue")],
        [call("create_issue", title="It is broken")],
        "Done.",
    ])  # fmt: skip
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as works:
        session = await works.session()
        result = await session.run("Open an issue.")
        log = await log_of(session)
    first, second, third = model.asked
    assert (names(first), result.text) == (["tool_search", "look"], "Done.")
    assert "create_issue" in text_of(first)
    assert "spare_19" in text_of(first)
    assert names(second) == names(third) == ["tool_search", "look", "create_issue"]
    answer = third.messages[-1].blocks[0]
    assert isinstance(answer, ResultBlock)
    assert "create_issue did it" in str(answer.content)
    assert [e.names for e in events_of(log) if isinstance(e, ToolsLoaded)] == [("create_issue",)]
    assert len([e for e in events_of(log) if isinstance(e, ToolsListed)]) == 1
    assert [e.reason for e in events_of(log) if isinstance(e, PreambleChanged)] == ["", "tools were loaded"]
    assert list(broken(log)) == []


async def test_what_was_loaded_is_loaded_after_a_restart(tmp_path: Path) -> None:
    model = ScriptedModel([[call("tool_search", query="select:create_issue,send_message")], "Found."])
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as works:
        session = await works.session()
        await session.run("Find them.")
    model = ScriptedModel(["Still there."])
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as later:
        await (await later.open(session.id)).run("And now?")
    assert names(model.asked[0])[-2:] == ["create_issue", "send_message"]
    assert text_of(model.asked[0]).count("<deferred-tools>") == 1


async def test_a_tool_known_by_name_may_be_called_at_once_and_is_loaded_by_that(tmp_path: Path) -> None:
    model = ScriptedModel([
        [call("create_issue", title="Right away")],
        [call("send_message", text="wrong")],
        [call("send_message", title="Right")],
        "Done.",
    ])  # fmt: skip
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as works:
        result = await works.run("Do it.")
    results = [request.messages[-1].blocks[0] for request in model.asked[1:]]
    told = [(str(block.content), block.is_error) for block in results if isinstance(block, ResultBlock)]
    assert [failed for _, failed in told] == [False, True, False]
    assert "tool_not_loaded" in told[1][0]
    assert '"title"' in told[1][0]
    assert names(model.asked[-1])[-2:] == ["create_issue", "send_message"]
    assert result.text == "Done."


@pytest.mark.parametrize(
    ("mode", "defers"),
    [("auto", False), ("never", False), ("count:5", True), ("auto:1", True), ("count:50", False)],
)
async def test_settings_say_from_when_on_tools_are_told_of_by_name(
    tmp_path: Path, mode: str, defers: bool
) -> None:
    model = ScriptedModel(["Hello."])
    settings = {"tool_search": {"mode": mode}}
    tools = [*many(), made("long", "Words. " * 2_000)]
    async with engine(tmp_path, model, tools=tools, settings=settings) as works:
        await works.run("Hello.")
    assert ("tool_search" in names(model.asked[0])) == defers
    assert ("create_issue" in names(model.asked[0])) != defers


@pytest.mark.parametrize(("count", "defers"), [(59, False), (60, True)])
async def test_by_themselves_they_are_told_of_by_name_past_sixty(
    tmp_path: Path, count: int, defers: bool
) -> None:
    """The search counts as one of them."""
    model = ScriptedModel(["Hello."])
    tools = [made(f"spare_{n}", f"Spare part {n}.") for n in range(count)]
    async with engine(tmp_path, model, tools=tools) as works:
        await works.run("Hello.")
    assert names(model.asked[0]) == (
        ["tool_search"] if defers else sorted(f"spare_{n}" for n in range(count))
    )


@pytest.mark.parametrize(("mode", "waits"), [("never", True), ("always", False)])
async def test_the_search_stands_in_for_waiting_for_servers(tmp_path: Path, mode: str, waits: bool) -> None:
    model = ScriptedModel(["Hello."])
    servers = {"gone": {"command": "/nonexistent/server"}}
    settings = {"tool_search": {"mode": mode}}
    async with engine(
        tmp_path, model, tools=["wait_for_mcp_servers"], settings=settings, mcp_servers=servers
    ) as works:
        await works.run("Hello.")
    assert ("wait_for_mcp_servers" in names(model.asked[0])) == waits
    assert ("tool_search" in names(model.asked[0])) != waits


async def test_settings_say_how_many_are_found_where_the_model_does_not(tmp_path: Path) -> None:
    model = ScriptedModel([
        [call("tool_search", query="spare part")],
        [call("tool_search", query="spare part", max_results=7)],
        "Done.",
    ])  # fmt: skip
    settings = {"tool_search": {"mode": "always", "max_results": 2}}
    async with engine(tmp_path, model, tools=many(), settings=settings) as works:
        await works.run("Find parts.")
    first, second = (str(request.messages[-1].blocks[0]) for request in model.asked[1:])
    assert "Found 2 tools" in first
    assert "Found 7 tools" in second


async def test_unknown_names_are_told_beside_what_was_found(tmp_path: Path) -> None:
    model = ScriptedModel([[call("tool_search", query="select:create_issue,creat_isue")], "Done."])
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as works:
        await works.run("Find them.")
    result, note = model.asked[1].messages[-1].blocks
    assert "Found 1 tool; it can be called now." in str(result)
    assert "There is no tool creat_isue. Near: create_issue" in str(note)


async def test_nothing_is_told_by_name_where_the_search_is_denied(tmp_path: Path) -> None:
    model = ScriptedModel(["Hello."])
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS, deny=["tool_search"]) as works:
        await works.run("Hello.")
    assert "create_issue" in names(model.asked[0])
    assert "tool_search" not in names(model.asked[0])


async def test_a_request_where_nothing_was_loaded_begins_with_the_bytes_of_the_one_before(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(
        [[call("look", at="it")], [call("tool_search", query="no such thing at all")], "Done."]
    )
    async with engine(tmp_path, model, tools=many(), settings=ALWAYS) as works:
        await works.run("Look.")
    assert len({id(request.preamble) for request in model.asked}) == 1
    miss = model.asked[-1].messages[-1].blocks[0]
    assert isinstance(miss, ResultBlock)
    assert miss.is_error
