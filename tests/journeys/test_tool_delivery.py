"""How definitions of tools come to the model: into the list, kept by the provider, or by one call for all."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import engine as scripted
from tests.journeys.engines import events_of, log_of
from tests.journeys.test_request_prefix import MARK, conversation_end, preamble_of
from tests.journeys.test_tool_search import many, names, text_of

from toolwright import AgentDefinition, Engine
from toolwright.contracts.events import (
    CallEnded,
    CallWaiting,
    Compacted,
    PreambleChanged,
    ToolsListed,
    ToolsLoaded,
    ToolsUnloaded,
)
from toolwright.contracts.messages import CallBlock, ResultBlock
from toolwright.contracts.models import ModelProfile
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.testing import FakeUpstream, ScriptedModel, call
from toolwright.testing.replies import ScriptItem, SeenRequest, Status
from toolwright.tools.define import build_tool

pytestmark = pytest.mark.anyio
WITHIN = 60
PROVIDERS: dict[str, dict[str, Any]] = {
    "anthropic": {"kind": "anthropic"},
    "responses": {"api": "responses"},
    "chat": {"api": "chat"},
}
NATIVE = ("anthropic", "responses")
DISPATCH = {"tool_search": {"mode": "always", "delivery": "dispatch"}}


def engine(folder: Path, protocol: str, upstream: FakeUpstream, **search: Any) -> Engine:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    url = upstream.url if protocol == "anthropic" else f"{upstream.url}/v1"
    house = {"base_url": url, "probe": False, "tool_search": protocol in NATIVE, **PROVIDERS[protocol]}
    return Engine(
        model="house/m",
        tools=many(),
        workspace=project,
        settings={
            "models": {"providers": {"house": house, "plain": {**house, "tool_search": False}}},
            "retries": {"base_seconds": 0.001, "attempts": 1},
            "fallback_model": "plain/m",
            "tool_search": {"mode": "always", **search},
        },
        environ={"HOME": str(folder / "home")},
    )


def search(number: int, query: str) -> ScriptItem:
    return (CallBlock(f"search_{number}", "tool_search", f'{{"query":"{query}"}}'),)


def use(number: int, name: str) -> ScriptItem:
    return (CallBlock(f"call_{number}", name, '{"title":"One"}'),)


STORY: Sequence[ScriptItem] = (
    search(1, "select:create_issue"),
    use(1, "create_issue"),
    "Opened.",
    search(2, "post a message to a channel"),
    use(2, "send_message"),
    search(3, "xyzzy plugh"),
    "Sent.",
    "As before.",
)


async def told(folder: Path, protocol: str) -> tuple[list[SeenRequest], list[Any]]:
    """The requests and the log of a session in two processes that loads, calls and misses."""
    async with FakeUpstream(STORY) as upstream:
        async with engine(folder, protocol, upstream) as first:
            session = await first.session()
            await session.run("Open an issue.")
            await session.run("Say so.")
        async with engine(folder, protocol, upstream) as second:
            session = await second.open(session.id)
            await session.run("And now?")
            log = await log_of(session)
        return list(upstream.requests), log


@pytest.mark.parametrize("protocol", NATIVE)
async def test_where_the_provider_keeps_definitions_a_load_changes_no_byte_before_it(
    tmp_path: Path, protocol: str
) -> None:
    with anyio.fail_after(WITHIN):
        requests, log = await told(tmp_path, protocol)
    assert len(requests) == len(STORY)
    bodies = [seen.body.replace(MARK, b"") for seen in requests]
    for before, after in pairwise(bodies):
        assert after.startswith(before[: conversation_end(before)])
    assert len({preamble_of(seen.body) for seen in requests}) == 1  # with the marks in it
    assert [e.reason for e in events_of(log) if isinstance(e, PreambleChanged)] == [""]
    loads = [e.names for e in events_of(log) if isinstance(e, ToolsLoaded)]
    assert [names[0] for names in loads] == ["create_issue", "send_message"]
    assert list(broken(log)) == []


async def test_elsewhere_what_was_loaded_stands_at_the_end_of_the_list(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        requests, _ = await told(tmp_path, "chat")
    lists = [[tool["function"]["name"] for tool in seen.json["tools"]] for seen in requests]
    assert lists[0] == ["tool_search", "look"]
    assert lists[1] == lists[2] == lists[3] == ["tool_search", "look", "create_issue"]
    assert lists[4][:4] == ["tool_search", "look", "create_issue", "send_message"]
    assert lists[4] == lists[-1]


async def test_anthropic_is_named_what_was_found(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        requests, _ = await told(tmp_path, "anthropic")
    tools = requests[0].json["tools"]
    assert [tool["name"] for tool in tools if "defer_loading" not in tool] == ["tool_search", "look"]
    aside = [tool for tool in tools if tool.get("defer_loading")]
    assert {"create_issue", "send_message", "spare_19"} <= {tool["name"] for tool in aside}
    assert [tool["name"] for tool in tools if "cache_control" in tool] == ["look"]
    (found,) = requests[1].json["messages"][-1]["content"]
    assert found["content"] == [{"type": "tool_reference", "tool_name": "create_issue"}]
    (missed,) = requests[6].json["messages"][-1]["content"]
    assert missed["is_error"]
    assert "No tool fits" in missed["content"]


async def test_openai_is_given_what_was_found_behind_all_that_was_said(tmp_path: Path) -> None:
    with anyio.fail_after(WITHIN):
        requests, _ = await told(tmp_path, "responses")
    finder, other = requests[0].json["tools"]
    assert (finder["type"], finder["execution"], other["name"]) == ("tool_search", "client", "look")
    assert finder["parameters"]["required"] == ["query"]
    asked, found = requests[1].json["input"][-2:]
    assert asked == {
        "type": "tool_search_call",
        "call_id": "search_1",
        "execution": "client",
        "status": "completed",
        "arguments": {"query": "select:create_issue"},
    }
    assert (found["type"], found["call_id"]) == ("tool_search_output", "search_1")
    assert [(tool["name"], tool["defer_loading"]) for tool in found["tools"]] == [("create_issue", True)]
    nothing, why = requests[6].json["input"][-2:]
    assert (nothing["type"], nothing["tools"]) == ("tool_search_output", [])
    assert "No tool fits" in why["content"][0]["text"]


@pytest.mark.parametrize("protocol", NATIVE)
async def test_a_model_asked_in_place_of_one_that_keeps_definitions_is_sent_them(
    tmp_path: Path, protocol: str
) -> None:
    script = [*STORY[:1], Status(404), use(1, "create_issue"), "Opened."]
    async with FakeUpstream(script) as upstream, engine(tmp_path, protocol, upstream) as works:
        with anyio.fail_after(WITHIN):
            result = await works.run("Open an issue.")
        requests = list(upstream.requests)
    assert result.text == "Opened."
    first, refused, instead, *_ = (seen.json for seen in requests)
    assert first["tools"] == refused["tools"]
    assert [tool["name"] for tool in instead["tools"]] == ["tool_search", "look", "create_issue"]
    assert not any("defer_loading" in tool or tool.get("type") == "tool_search" for tool in instead["tools"])
    assert b"<functions>" in requests[2].body


async def test_settings_may_say_that_definitions_go_to_the_end_of_the_list(tmp_path: Path) -> None:
    script = [search(1, "select:create_issue"), "Found."]
    async with FakeUpstream(script) as upstream:
        async with engine(tmp_path, "anthropic", upstream, delivery="append") as works:
            with anyio.fail_after(WITHIN):
                await works.run("Find it.")
        first, second = (seen.json["tools"] for seen in upstream.requests)
    assert [tool["name"] for tool in first] == ["tool_search", "look"]
    assert [tool["name"] for tool in second] == ["tool_search", "look", "create_issue"]


# --- one call for all ---------------------------------------------------------------------------


async def test_one_tool_calls_all_others_and_no_list_ever_changes(tmp_path: Path) -> None:
    model = ScriptedModel([
        [call("tool_search", query="open an issue", max_results=1)],
        [call("call_tool", name="create_issue", arguments={"title": "It is broken"})],
        [call("call_tool", name="send_message", arguments={"text": "wrong"})],
        "Done.",
    ])  # fmt: skip
    async with scripted(tmp_path, model, tools=many(), settings=DISPATCH) as works:
        session = await works.session()
        await session.run("Open an issue.")
        log = await log_of(session)
    assert len({id(request.preamble) for request in model.asked}) == 1
    assert names(model.asked[0]) == ["call_tool", "tool_search", "look"]
    assert "call them with call_tool" in text_of(model.asked[0])
    said = [request.messages[-1].blocks[0] for request in model.asked[1:]]
    found, opened, wrong = (str(block.content) for block in said if isinstance(block, ResultBlock))
    assert "Found 1 tool; it is called with call_tool." in found
    assert '"name":"create_issue"' in found
    assert "create_issue did it with {'title': 'It is broken'}" in opened
    assert "tool_not_loaded" in wrong
    assert '"required":["title"]' in wrong
    ended = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert [event.tool for event in ended] == ["tool_search", "create_issue", "send_message"]
    assert ended[1].input == {"title": "It is broken"}
    assert list(broken(log)) == []


async def test_a_person_is_asked_about_the_tool_that_is_meant(tmp_path: Path) -> None:
    posted: list[Any] = []

    async def post(input: Any) -> str:
        posted.append(dict(input))
        return "posted"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = build_tool(name="post", description="Post it.", input_schema=schema, call=post, defer=True)
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        return request.allowed()

    model = ScriptedModel([[call("call_tool", name="post", arguments={"text": "hi"})], "Done."])
    async with scripted(tmp_path, model, tools=[tool], settings=DISPATCH, approve=approve) as works:
        session = await works.session()
        await session.run("Post.")
        log = await log_of(session)
    assert [(request.tool, dict(request.input)) for request in asked] == [("post", {"text": "hi"})]
    assert posted == [{"text": "hi"}]
    assert [event.tool for event in events_of(log) if isinstance(event, CallWaiting)] == ["post"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "nobody", "arguments": {}}, "unknown_tool"),
        ({"name": "call_tool", "arguments": {"name": "look", "arguments": {}}}, "not itself"),
        ({"name": "look"}, "arguments"),
        ({"name": "look", "arguments": '{"at": "it"}'}, "saw it"),
        ({"name": "create_issue", "arguments": {"title": "x"}}, "create_issue did it"),
    ],
)
async def test_what_names_no_tool_is_answered(tmp_path: Path, arguments: Any, said: str) -> None:
    model = ScriptedModel([[call("call_tool", **arguments)], "Done."])
    async with scripted(tmp_path, model, tools=many(), settings=DISPATCH) as works:
        await works.run("Do it.")
    (block,) = model.asked[-1].messages[-1].blocks
    assert isinstance(block, ResultBlock)
    assert said in str(block.content)


async def test_where_that_tool_is_denied_definitions_go_to_the_end_of_the_list(tmp_path: Path) -> None:
    model = ScriptedModel([[call("tool_search", query="select:create_issue")], "Done."])
    async with scripted(tmp_path, model, tools=many(), settings=DISPATCH, deny=["call_tool"]) as works:
        await works.run("Do it.")
    assert names(model.asked[1]) == ["tool_search", "look", "create_issue"]


# --- what is loaded when ------------------------------------------------------------------------


@pytest.mark.parametrize("toolset", ["", "agent_toolset_20260401", "workspace"])
async def test_whoever_names_the_tools_of_an_agent_need_not_name_the_search(
    tmp_path: Path, toolset: str
) -> None:
    agent = AgentDefinition(name="main", tools=("spare_*", "create_issue"), toolset=toolset)
    model = ScriptedModel(["Hello."])
    settings = {"tool_search": {"mode": "always"}}
    async with scripted(tmp_path, model, tools=many(), settings=settings) as works:
        session = await works.session(agent=agent)
        await session.run("Hello.")
    assert names(model.asked[0]) == ["tool_search", "create_issue"]  # which the definition names outright
    assert "spare_3" in text_of(model.asked[0])


SHORT = {"compaction": {"keep_messages": 1}}


@pytest.mark.parametrize(
    ("delivery", "native", "forgotten", "listed"),
    [
        ("append", False, ("send_message",), ["tool_search", "look", "create_issue"]),
        ("native", True, ("send_message",), ["tool_search", "look", "create_issue"]),
        ("dispatch", False, ("create_issue", "send_message"), ["call_tool", "tool_search", "look"]),
    ],
)
async def test_a_shortened_conversation_forgets_what_was_loaded_and_never_called(
    tmp_path: Path, delivery: str, native: bool, forgotten: tuple[str, ...], listed: list[str]
) -> None:
    model = ScriptedModel(
        [
            [call("tool_search", query="select:create_issue,send_message")],
            [call("create_issue", title="One")],
            "Opened.",
            "A summary.",
            "Done.",
        ],
        profiles={"scripted": ModelProfile(tool_search=native)},
    )
    settings = {"tool_search": {"mode": "always", "delivery": delivery}, **SHORT}
    async with scripted(tmp_path, model, tools=many(), settings=settings) as works:
        session = await works.session()
        await session.run("Open an issue.")
        assert await session.compact()
        await session.run("Go on.")
        log = await log_of(session)
    events = events_of(log)
    assert len([event for event in events if isinstance(event, Compacted)]) == 1
    assert [event.names for event in events if isinstance(event, ToolsUnloaded)] == [forgotten]
    again = [event for event in events if isinstance(event, ToolsListed)][-1]
    assert [name for name in ("create_issue", "send_message") if name in again.names] == list(forgotten)
    assert names(model.asked[-1]) == listed
    assert list(broken(log)) == []


async def test_a_model_chosen_in_the_middle_is_told_in_its_own_way(tmp_path: Path) -> None:
    script = [search(1, "select:create_issue"), "Found.", "Here too.", "And again."]
    async with FakeUpstream(script) as upstream, engine(tmp_path, "anthropic", upstream) as works:
        session = await works.session()
        with anyio.fail_after(WITHIN):
            await session.run("Find it.")
            await session.choose_model("plain/m")
            await session.run("And there?")
            await session.choose_model("house/m")
            await session.run("And back?")
        tools = [seen.json["tools"] for seen in upstream.requests]
    told = [[tool["name"] for tool in each if "defer_loading" not in tool] for each in tools]
    kept = ["tool_search", "look"]
    assert told == [kept, kept, [*kept, "create_issue"], kept]
    assert [len(each) > len(kept) + 1 for each in tools] == [True, True, False, True]
