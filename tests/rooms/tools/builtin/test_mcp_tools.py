"""Our own tools about MCP servers: what they promise, say, and look like."""

import base64
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import (
    ListedPrompt,
    ListedResource,
    McpPart,
    PromptAnswer,
    PromptArgument,
    PromptMessage,
    ServerDefinition,
    ServerFacts,
)
from toolwright.contracts.mcp_servers import ServerView
from toolwright.contracts.tool import CallContext, CallState, Done, Tool, ToolCall, Traits
from toolwright.settings import load
from toolwright.testing import context, services
from toolwright.testing.mcp import MemoryServers, ScriptedConnector, ScriptedServer
from toolwright.tool_calls.observable import subject_of
from toolwright.tool_calls.permissions.decide import decide
from toolwright.tools import features
from toolwright.tools.mcp.choosing import Choice, Chosen
from toolwright.tools.mcp.pool import Pool, Wish
from toolwright.tools.mcp.servers import Furnishing, SessionServers
from toolwright.tools.mcp.wrapped import Wrapping
from toolwright.tools.registry import load_builtins
from toolwright.wiring import House, Wanted, build

pytestmark = pytest.mark.anyio

ALL = ServerFacts(protocol="2026-07-28", tools=True, resources=True, subscriptions=True, prompts=True)
NOTES = ServerView(name="notes", transport="http", status="connected", facts=ALL, tools=2)
JIRA = ServerView(name="jira", transport="stdio", status="failed", reason="exit code 1")
LATE = ServerView(name="late", transport="http", status="connecting")
ODD = ServerView(name="odd", transport="http", status="connected", tools=1, held_back=("say",))
RESOURCES = [
    ListedResource(uri="memo://1", name="one", title="The first", media_type="text/plain", size=1_200),
    ListedResource(uri="memo://{name}", name="any", description="A memo\nby its name.", template=True),
]
POEM = ListedPrompt(
    name="poem",
    description="Write a poem.",
    arguments=(PromptArgument(name="about", required=True), PromptArgument(name="style")),
)


def memory(**more: Any) -> MemoryServers:
    given: dict[str, Any] = {
        "standing": [JIRA, LATE, NOTES],
        "resources": {"notes": RESOURCES},
        "contents": {("notes", "memo://1"): [McpPart(kind="resource", uri="memo://1", text="first")]},
        "prompts": {"notes": [POEM]},
        **more,
    }
    return MemoryServers(**given)


def tools(servers: MemoryServers | None) -> Mapping[str, Tool]:
    found = load_builtins(services(mcp=servers), features.resolved(), {})
    return {tool.spec.name: tool for tool in found if tool.spec.category == "mcp"}


async def done(tmp_path: Path, given: MemoryServers, tool: str, /, **input: Any) -> Done:
    outcome = await tools(given)[tool].call(input, context(tmp_path))
    assert isinstance(outcome, Done)
    return outcome


# --- what they say ---------------------------------------------------------------------------------------


async def test_resources_are_listed_a_line_each(tmp_path: Path) -> None:
    outcome = await done(tmp_path, memory(), "list_mcp_resources")
    assert outcome.content == (
        "notes: memo://1 — The first (text/plain, 1,200 bytes)\n"
        "notes: memo://{name} — any (a pattern): A memo by its name."
    )
    assert outcome.data[0] == {
        "server": "notes", "uri": "memo://1", "name": "one", "media_type": "text/plain", "template": False,
    }  # fmt: skip
    one = await done(tmp_path, memory(resources={"notes": []}), "list_mcp_resources", server="notes")
    assert one.content == "There are no resources."


async def test_many_resources_come_in_pages(tmp_path: Path) -> None:
    servers = memory(resources={"notes": [ListedResource(uri=f"memo://{n}") for n in range(250)]})
    first = await done(tmp_path, servers, "list_mcp_resources")
    assert str(first.content).endswith("150 more; go on with cursor '100'.")
    last = await done(tmp_path, servers, "list_mcp_resources", cursor="200")
    assert (len(last.data), "more" in str(last.content)) == (50, False)
    assert (await done(tmp_path, servers, "list_mcp_resources", cursor="999")).data == []


async def test_a_server_that_cannot_be_asked_spoils_nothing(tmp_path: Path) -> None:
    broken = ServerView(name="broken", transport="http", status="connected", facts=ALL)
    outcome = await done(tmp_path, memory(standing=[broken, NOTES]), "list_mcp_resources")
    assert "notes: memo://1" in str(outcome.content)
    assert "[broken could not be asked: There is no MCP server 'broken'.]" in str(outcome.content)


async def test_a_resource_is_read_or_stored(tmp_path: Path) -> None:
    blob = McpPart(kind="resource", uri="memo://2", data=base64.b64encode(b"\0").decode(), media_type="x/y")
    servers = memory(
        contents={
            ("notes", "memo://1"): [McpPart(kind="resource", text="first")],
            ("notes", "memo://2"): [blob],
        }
    )
    read = await done(tmp_path, servers, "read_mcp_resource", server="notes", uri="memo://1")
    assert (read.content, read.data) == ("first", {"server": "notes", "uri": "memo://1", "parts": 1})
    stored = await done(tmp_path, servers, "read_mcp_resource", server="notes", uri="memo://2")
    assert "is stored in" in str(stored.content)
    with pytest.raises(ToolFailure, match="mcp_error"):
        await tools(servers)["read_mcp_resource"].call(
            {"server": "notes", "uri": "memo://3"}, context(tmp_path)
        )


async def test_changes_are_subscribed_to_and_not_any_more(tmp_path: Path) -> None:
    servers = memory()
    on = await done(tmp_path, servers, "subscribe_mcp_resource", server="notes", uri="memo://1")
    off = await done(
        tmp_path, servers, "subscribe_mcp_resource", server="notes", uri="memo://1", unsubscribe=True
    )
    assert (on.data["subscribed"], off.data["subscribed"]) == (True, False)
    assert servers.asked == [("subscribe", "notes", "memo://1"), ("unsubscribe", "notes", "memo://1")]


async def test_prompts_are_listed_and_filled_in(tmp_path: Path) -> None:
    messages = [
        PromptMessage(role="user", part=McpPart(kind="text", text="Write.")),
        PromptMessage(role="assistant", part=McpPart(kind="text", text="I will.")),
    ]
    servers = memory(filled={"poem": PromptAnswer(description="A poem.", messages=tuple(messages))})
    listed = await done(tmp_path, servers, "get_mcp_prompt", server="notes")
    assert (listed.content, listed.data) == ("poem(about, style (optional)): Write a poem.", ["poem"])
    none = await done(tmp_path, servers, "get_mcp_prompt", server="jira")
    assert none.content == "The server has no prompts."
    filled = await done(
        tmp_path, servers, "get_mcp_prompt", server="notes", name="poem", arguments={"about": "rain"}
    )
    assert filled.content == "A poem.\nuser: Write.\nassistant: I will."
    assert servers.asked == [("get_prompt", "notes", "poem", {"about": "rain"})]


async def test_a_prompt_may_hold_a_picture(tmp_path: Path) -> None:
    picture = McpPart(kind="image", data="aGk=", media_type="image/png")
    answer = PromptAnswer(messages=(PromptMessage(role="user", part=picture),))
    outcome = await done(
        tmp_path, memory(filled={"see": answer}), "get_mcp_prompt", server="notes", name="see"
    )
    assert [type(block).__name__ for block in outcome.content] == ["TextBlock", "ImageBlock"]


async def test_how_servers_stand_is_told_a_line_each(tmp_path: Path) -> None:
    servers = memory(standing=[JIRA, LATE, NOTES, ODD])
    expected = (
        "jira: failed (exit code 1)\n"
        "late: connecting\n"
        "notes: connected, 2 tools\n"
        "odd: connected, 1 tool; changed since they were accepted: say"
    )
    waited = await done(tmp_path, servers, "wait_for_mcp_servers", timeout_ms=1_500)
    refreshed = await done(tmp_path, servers, "refresh_mcp_tools")
    assert (waited.content, refreshed.content) == (expected, expected)
    assert waited.data[0]["reason"] == "exit code 1"
    one = await done(tmp_path, servers, "refresh_mcp_tools", server="notes")
    assert one.content == "notes: connected, 2 tools"
    await done(tmp_path, servers, "wait_for_mcp_servers", servers=["late"], timeout_ms=0)
    assert servers.asked == [
        ("wait", (), 1.5),
        ("refresh", ()),
        ("refresh", ("notes",)),
        ("wait", ("late",), 0.0),
    ]


async def test_without_servers_there_is_nothing_to_ask(tmp_path: Path) -> None:
    inputs = {name: input for name, input, _ in CALLS}
    for name, tool in tools(None).items():
        with pytest.raises(ToolFailure, match="no MCP servers"):
            await tool.call(inputs[name], context(tmp_path))


@pytest.mark.parametrize(
    ("name", "input", "spinner"),
    [
        ("list_mcp_resources", {}, "Listing resources"),
        ("read_mcp_resource", {"uri": "memo://1"}, "Reading memo://1"),
        ("read_mcp_resource", {}, "Reading a resource"),
        ("subscribe_mcp_resource", {"uri": "memo://1"}, "Subscribing to memo://1"),
        ("get_mcp_prompt", {"name": "poem"}, "Getting the prompt poem"),
        ("refresh_mcp_tools", {}, "Fetching tools of MCP servers"),
        ("wait_for_mcp_servers", {}, "Waiting for MCP servers"),
    ],
)
def test_a_call_under_way_says_what_it_does(name: str, input: Mapping[str, Any], spinner: str) -> None:
    state = CallState(call_id="c", tool=name, offered_name=name, input=input, phase="running", partial=True)
    assert tools(memory())[name].view(state).activity == spinner


# --- what they promise ----------------------------------------------------------------------------------

CALLS: list[tuple[str, Mapping[str, Any], str]] = [
    ("list_mcp_resources", {}, "RO CC"),
    ("read_mcp_resource", {"server": "srv", "uri": "memo://1"}, "RO CC OW"),
    ("subscribe_mcp_resource", {"server": "srv", "uri": "memo://1"}, "OW"),
    ("get_mcp_prompt", {"server": "srv", "name": "poem"}, "RO CC OW"),
    ("refresh_mcp_tools", {}, ""),
    ("wait_for_mcp_servers", {}, "RO CC"),
]


def promised(traits: Traits) -> str:
    flags = {"RO": traits.read_only, "CC": traits.concurrency_safe, "OW": traits.open_world}
    return " ".join(name for name, on in flags.items() if on)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A house with one server that has everything."""
    connector = ScriptedConnector({"srv": ScriptedServer(facts=ALL)})

    async def make() -> ScriptedConnector:
        return connector

    def unused(server: str) -> Wrapping:
        raise AssertionError

    definition = ServerDefinition(name="srv", transport="http")
    given = Furnishing(pool=Pool(make), wrap=unused, wish=lambda server, guest: Wish(guest=guest))
    servers = SessionServers(Choice((Chosen(definition, "connecting"),)), given)
    servers.start()
    with anyio.fail_after(20):
        await servers.ready(for_all=True)
    project = tmp_path / "project"
    project.mkdir()
    loaded = load(str(project), environ={}, read_files=False)
    built = build(loaded, Wanted(session_dir=str(tmp_path / "session"), servers=servers))
    yield built
    await built.close()
    await servers.close()


@pytest.mark.parametrize(("name", "input", "flags"), CALLS)
async def test_a_call_promises_what_its_row_says_and_is_never_asked_for(
    house: House, name: str, input: Mapping[str, Any], flags: str
) -> None:
    policy, workspace = house.in_force.policy, house.in_force.workspace
    live = house.pipeline.open(ToolCall("c", name, input), house.turn())
    assert live.failure is None
    live.objection = await live.tool.check(live.input, CallContext(workspace=workspace))
    decision = decide(policy, subject_of(live, policy, workspace))
    assert (promised(live.traits), decision.behavior) == (flags, "allow")


async def test_without_servers_none_of_them_is_offered(tmp_path: Path) -> None:
    loaded = load(str(tmp_path), environ={}, read_files=False)
    built = build(loaded, Wanted(session_dir=str(tmp_path / "session")))
    offered = {tool.tool.spec.name for tool in built.offered.tools}
    assert not offered & set(tools(None))
    await built.close()
