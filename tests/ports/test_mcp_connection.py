"""The promises of ``McpConnection``, kept over all five transports against a server that knows everything."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from tests.servers.connecting import TRANSPORTS, WITHIN, Host, ports, served

from toolwright.contracts.mcp import (
    ElicitationAnswer,
    ListChanged,
    McpConnection,
    McpFault,
    McpProgress,
    ResourceChanged,
)

pytestmark = pytest.mark.anyio


class Meeting:
    """A host and its open connection."""

    def __init__(self, transport: str, host: Host, connection: McpConnection) -> None:
        self.transport = transport
        self.host = host
        self.connection = connection

    async def call(self, name: str, **input: Any) -> Any:
        with anyio.fail_after(WITHIN):
            return await self.connection.call_tool(name, input)

    async def text(self, name: str, **input: Any) -> str:
        return str((await self.call(name, **input)).parts[0].text)


async def met(stack: AsyncExitStack, transport: str, **more: Any) -> Meeting:
    made = await stack.enter_async_context(ports())
    server = await stack.enter_async_context(served(transport, **more))
    host = Host()
    with anyio.fail_after(WITHIN):
        connection = await made.connector.connect(server, host)
    stack.push_async_callback(connection.close)
    return Meeting(transport, host, connection)


@pytest.fixture(params=TRANSPORTS)
async def meeting(request: pytest.FixtureRequest) -> AsyncIterator[Meeting]:
    """A connection by the newest revision that the transport knows."""
    async with AsyncExitStack() as stack:
        yield await met(stack, request.param)


@pytest.fixture(params=TRANSPORTS)
async def older(request: pytest.FixtureRequest) -> AsyncIterator[Meeting]:
    """A connection by the handshake."""
    async with AsyncExitStack() as stack:
        yield await met(stack, request.param, handshake=True)


async def fault_of(asking: Awaitable[object]) -> McpFault:
    with anyio.fail_after(WITHIN), pytest.raises(McpFault) as caught:
        await asking
    return caught.value


# --- in any revision --------------------------------------------------------------------------------


async def test_the_server_says_what_it_is_and_has(meeting: Meeting) -> None:
    facts = meeting.connection.facts
    assert (facts.name, facts.version, facts.instructions) == ("everything", "1.2.3", "Ask me anything.")
    assert (facts.tools, facts.resources, facts.prompts) == (True, True, True)
    assert facts.protocol == ("2025-11-25" if meeting.transport == "sse" else "2026-07-28")


async def test_tools_are_listed_as_they_are_written(meeting: Meeting) -> None:
    listing = await meeting.connection.list_tools()
    tools = {tool.name: tool for tool in listing.tools}
    assert listing.left_out == ()
    add = tools["add"]
    assert (add.title, add.description) == ("Addition", "Add two numbers.")
    assert add.annotations == {"readOnlyHint": True}
    assert add.input_schema["required"] == ["a", "b"]
    assert add.output_schema is not None
    assert tools["echo"].output_schema is None


async def test_a_call_is_answered(meeting: Meeting) -> None:
    answer = await meeting.call("add", a=2, b=3)
    assert (answer.parts[0].text, answer.structured, answer.is_error) == ("5", {"result": 5}, False)


async def test_every_kind_of_block_comes_through(meeting: Meeting) -> None:
    parts = (await meeting.call("show")).parts
    assert [part.kind for part in parts] == ["text", "image", "audio", "resource", "resource", "link"]
    assert (parts[1].media_type, parts[3].text, parts[4].data) == ("image/png", "embedded", "AAEC")
    assert (parts[5].uri, parts[5].name, parts[5].description) == ("memo://three", "three", "The third.")


async def test_a_tool_that_fails_says_so_in_its_answer(meeting: Meeting) -> None:
    answer = await meeting.call("fail", why="no luck")
    assert answer.is_error
    assert "no luck" in answer.parts[0].text


async def test_an_unknown_tool_is_a_fault_or_an_error_and_hurts_nothing(meeting: Meeting) -> None:
    code = ""
    try:
        assert (await meeting.call("nothing")).is_error
    except McpFault as fault:
        code = fault.code
    assert code in {"", "refused", "unsupported"}
    assert await meeting.text("echo", text="still here") == "still here"


async def test_progress_is_told_while_the_call_runs(meeting: Meeting) -> None:
    told: list[McpProgress] = []
    with anyio.fail_after(WITHIN):
        await meeting.connection.call_tool("count", {"to": 3}, on_progress=told.append)
    assert told == [McpProgress(n, 3, f"at {n}") for n in (1, 2, 3)]


async def test_calls_run_side_by_side_and_find_their_own_answers(meeting: Meeting) -> None:
    answers: dict[int, str] = {}

    async def one(number: int) -> None:
        answers[number] = await meeting.text("echo", text=f"text {number}")

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert answers == {number: f"text {number}" for number in range(20)}


async def test_a_call_can_be_given_up_and_the_connection_goes_on(meeting: Meeting) -> None:
    with anyio.move_on_after(0.2) as scope:
        await meeting.connection.call_tool("sleep", {})
    assert scope.cancelled_caught
    assert await meeting.text("echo", text="here") == "here"


async def test_a_large_answer_comes_through(meeting: Meeting) -> None:
    size = 900_000 if meeting.transport == "sse" else 3_000_000
    assert len(await meeting.text("large", size=size)) == size


async def test_resources_are_listed_with_their_patterns_and_read(meeting: Meeting) -> None:
    found = {one.uri: one for one in await meeting.connection.list_resources()}
    assert set(found) == {"memo://one", "memo://bytes", "memo://{name}/page"}
    assert (found["memo://one"].name, found["memo://one"].media_type) == ("one", "text/plain")
    assert found["memo://{name}/page"].template
    assert [part.text for part in await meeting.connection.read_resource("memo://one")] == ["first memo"]
    assert [part.text for part in await meeting.connection.read_resource("memo://x/page")] == ["page of x"]
    assert [part.data for part in await meeting.connection.read_resource("memo://bytes")] == ["AAEC"]


async def test_a_resource_that_is_not_there_is_a_fault(meeting: Meeting) -> None:
    assert (await fault_of(meeting.connection.read_resource("memo://none/at/all"))).code == "refused"


async def test_prompts_are_listed_and_filled_in(meeting: Meeting) -> None:
    (prompt,) = await meeting.connection.list_prompts()
    assert (prompt.name, prompt.description) == ("poem", "Write a poem.")
    assert [(argument.name, argument.required) for argument in prompt.arguments] == [
        ("about", True),
        ("style", False),
    ]
    answer = await meeting.connection.get_prompt("poem", {"about": "rain"})
    assert [(one.role, one.part.text) for one in answer.messages] == [
        ("user", "Write a plain poem about rain.")
    ]


@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        (ElicitationAnswer(action="accept", content={"colour": "red"}), "accept red"),
        (ElicitationAnswer(action="decline"), "decline"),
        (ElicitationAnswer(action="cancel"), "cancel"),
    ],
)
async def test_what_a_server_wants_from_a_person_reaches_one(
    meeting: Meeting, answer: ElicitationAnswer, heard: str
) -> None:
    meeting.host.answers = answer
    assert await meeting.text("ask") == heard
    assert [asked.message for asked in meeting.host.asked] == ["Which colour?"]
    schema = meeting.host.asked[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["colour"]


async def test_changes_are_told(meeting: Meeting) -> None:
    before = len((await meeting.connection.list_tools()).tools)
    assert await meeting.text("grow") == "grown"
    await meeting.host.heard(ListChanged("tools"))
    assert len((await meeting.connection.list_tools()).tools) == before + 1
    assert await meeting.text("late") == "here"


async def test_a_ping_comes_back(meeting: Meeting) -> None:
    with anyio.fail_after(WITHIN):
        await meeting.connection.ping()


async def test_after_closing_every_question_is_a_fault(meeting: Meeting) -> None:
    with anyio.fail_after(WITHIN):
        await meeting.connection.close()
        await meeting.connection.close()
    assert (await fault_of(meeting.connection.call_tool("echo", {"text": "x"}))).code == "closed"
    assert (await fault_of(meeting.connection.list_tools())).code == "closed"
    assert meeting.host.news == []  # who closes needs not to be told


async def test_closing_ends_a_call_that_waits(meeting: Meeting) -> None:
    faults: list[McpFault] = []

    async def sleep() -> None:
        faults.append(await fault_of(meeting.connection.call_tool("sleep", {})))

    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleep)
            await meeting.text("echo", text="the other one was sent before this")
            await meeting.connection.close()
    assert [fault.code for fault in faults] == ["closed"]


async def test_a_meeting_can_be_given_up(meeting: Meeting) -> None:
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(ports())
        server = await stack.enter_async_context(served(meeting.transport))
        with anyio.move_on_after(0) as scope:
            await made.connector.connect(server, Host())
        assert scope.cancelled_caught


# --- by the handshake -------------------------------------------------------------------------------


async def test_the_handshake_agrees_on_its_newest_revision(older: Meeting) -> None:
    assert older.connection.facts.protocol == "2025-11-25"
    assert await older.text("echo", text="hello") == "hello"


async def test_a_server_may_ask_our_model(older: Meeting) -> None:
    assert await older.text("think", about="rain") == "hm"
    (asked,) = older.host.sampled
    assert ([message.part.text for message in asked.messages], asked.max_tokens) == (["rain"], 50)


async def test_a_server_is_told_when_our_model_will_not_answer(older: Meeting) -> None:
    older.host.says = McpFault("refused", "Sampling is off.")
    answer = await older.call("think", about="rain")
    assert answer.is_error
    assert "Sampling is off." in answer.parts[0].text


async def test_a_server_may_ask_where_we_work(older: Meeting) -> None:
    assert await older.text("where") == "file:///work/a"
    older.host.folders = ("/work/b c",)
    await older.connection.roots_changed()
    assert await older.text("where") == "file:///work/b%20c"


async def test_a_form_reaches_a_person_in_the_older_way_too(older: Meeting) -> None:
    assert await older.text("ask") == "accept blue"


async def test_changes_are_told_in_the_older_way_too(older: Meeting) -> None:
    await older.text("grow")
    await older.host.heard(ListChanged("tools"))


async def test_what_nobody_would_answer_is_not_offered_to_a_server() -> None:
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(ports())
        server = await stack.enter_async_context(served("sdk", handshake=True))
        connection = await made.connector.connect(server, Host(elicits=False, samples=False))
        stack.push_async_callback(connection.close)
        assert (await connection.call_tool("think", {"about": "x"})).is_error
        assert (await fault_of(connection.call_tool("ask", {}))).code == "refused"


# --- by the newest revision ---------------------------------------------------------------------------


async def test_a_subscribed_resource_that_changes_is_told(meeting: Meeting) -> None:
    if not meeting.connection.facts.subscriptions:
        fault = await fault_of(meeting.connection.subscribe("memo://one"))
        assert fault.code in {"refused", "unsupported"}
        return
    with anyio.fail_after(WITHIN):
        await meeting.connection.subscribe("memo://one")
        await meeting.text("touch")
        await meeting.host.heard(ResourceChanged("memo://one"))
        await meeting.connection.unsubscribe("memo://one")
