"""Whatever a server says is looked through; what each session sends is its own."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from toolwright.contracts.mcp import (
    CallAnswer,
    Elicitation,
    ListedPrompt,
    ListedResource,
    ListedTool,
    McpFault,
    McpPart,
    McpProgress,
    PromptAnswer,
    PromptMessage,
    SamplingRequest,
    ServerDefinition,
    ServerFacts,
    ServerLogged,
)
from toolwright.testing.mcp import ScriptedConnector, ScriptedServer
from toolwright.tool_calls.credentials import Masking
from toolwright.tool_calls.redaction import scrubbed
from toolwright.tools.mcp.guests import Guests, Occasion, occasion_now, on_occasion
from toolwright.tools.mcp.redacting import RedactingConnector
from toolwright.tools.mcp.ways import Way, Ways

pytestmark = pytest.mark.anyio
SECRET = 's3cret/value+of\\a"server'
MASKING = Masking([SECRET])


def clean(value: Any) -> Any:
    return scrubbed(value, MASKING)


def part(kind: Any = "text", **more: Any) -> McpPart:
    return McpPart(kind=kind, **more)


async def met(server: ScriptedServer, told: list[Any] | None = None) -> Any:
    host = Guests("srv", can_elicit=True, can_sample=True, told=(told if told is not None else []).append)
    connector = RedactingConnector(ScriptedConnector({"srv": server}), clean)
    return await connector.connect(ServerDefinition(name="srv", transport="http"), host)


async def test_every_answer_is_looked_through() -> None:
    progress: list[McpProgress] = []

    async def answer(name: str, input: Any, on_progress: Any) -> CallAnswer:
        on_progress(McpProgress(1, 2, f"at {SECRET}"))
        raw = base64.b64encode(b"\xff\xd8" + SECRET.encode()).decode()
        parts = (part(text=SECRET), part("image", data=raw, media_type="image/png"), part("link", uri=SECRET))
        return CallAnswer(parts=parts, structured={SECRET: [SECRET]}, meta={"x": SECRET})

    server = ScriptedServer(
        tools=[ListedTool(name="t", description=SECRET, input_schema={"title": SECRET})],
        facts=ServerFacts(name=SECRET, instructions=SECRET, tools=True, resources=True, prompts=True),
        call=answer,
    )
    connection = await met(server)
    seen: list[Any] = [connection.facts, await connection.list_tools()]
    seen.append(await connection.call_tool("t", {}, on_progress=progress.append))
    assert SECRET not in repr(seen).replace("\\\\", "\\")
    assert MASKING(repr(seen)) == repr(seen)
    answered = seen[-1]
    assert [found.kind for found in answered.parts] == ["text", "text", "link"]
    assert answered.parts[1].data == ""
    assert answered.structured == {"[redacted]": ["[redacted]"]}
    assert progress == [McpProgress(1, 2, "at [redacted]")]
    await connection.close()


async def test_an_image_that_holds_nothing_stays_as_it_is() -> None:
    data = base64.b64encode(bytes(range(256))).decode()

    async def answer(name: str, input: Any, on_progress: Any) -> CallAnswer:
        return CallAnswer(parts=(part("image", data=data, media_type="image/png"),))

    connection = await met(ScriptedServer(call=answer))
    assert (await connection.call_tool("t", {})).parts[0].data == data
    await connection.close()


async def test_a_fault_says_nothing_and_neither_does_what_it_came_from() -> None:
    async def fails(name: str, input: Any, on_progress: Any) -> CallAnswer:
        raise McpFault("auth", f"no {SECRET}", status=401, challenge=f'Bearer realm="{SECRET}"')

    connection = await met(ScriptedServer(call=fails))
    with pytest.raises(McpFault) as fault:
        await connection.call_tool("t", {})
    assert (fault.value.message, fault.value.status) == ("no [redacted]", 401)
    assert SECRET not in fault.value.challenge
    assert fault.value.__suppress_context__
    with pytest.raises(McpFault, match="redacted"):
        await met(ScriptedServer(meetings=[McpFault("refused", SECRET)]))
    await connection.close()


async def test_what_a_server_tells_and_asks_is_looked_through_too() -> None:
    heard: list[Any] = []

    class Host(Guests):
        async def elicit(self, asked: Elicitation) -> Any:
            heard.append(asked)

        async def sample(self, asked: SamplingRequest) -> Any:
            heard.append(asked)

    seen: list[Any] = []

    class Inner:
        async def connect(self, server: Any, host: Any, **more: Any) -> Any:
            seen.append(host)
            return None

    host = Host("srv", can_elicit=True, can_sample=False, told=heard.append)
    await RedactingConnector(Inner(), clean).connect(ServerDefinition(name="srv", transport="http"), host)
    (wrapped,) = seen
    assert (wrapped.can_elicit, wrapped.can_sample, wrapped.roots()) == (True, False, ())
    wrapped.told(ServerLogged("error", SECRET))
    await wrapped.elicit(Elicitation(message=SECRET, schema={"title": SECRET}))
    await wrapped.sample(SamplingRequest(messages=(PromptMessage(role="user", part=part(text=SECRET)),)))
    assert len(heard) == 3
    assert MASKING(repr(heard)) == repr(heard)


async def test_lists_and_prompts_are_looked_through() -> None:
    class Inner:
        async def list_resources(self) -> Any:
            return [ListedResource(uri=f"x://{SECRET}", name=SECRET)]

        async def read_resource(self, uri: str) -> Any:
            return [part("resource", data=base64.b64encode(SECRET.encode()).decode()), part(text=SECRET)]

        async def list_prompts(self) -> Any:
            return [ListedPrompt(name="p", description=SECRET)]

        async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Any:
            return PromptAnswer(
                description=SECRET, messages=(PromptMessage(role="user", part=part(text=SECRET)),)
            )

    class Connector:
        async def connect(self, *given: Any, **more: Any) -> Any:
            return Inner()

    host = Guests("srv", can_elicit=False, can_sample=False, told=lambda _: None)
    connection = await RedactingConnector(Connector(), clean).connect(
        ServerDefinition(name="srv", transport="http"), host
    )
    seen = [
        await connection.list_resources(),
        await connection.read_resource("x"),
        await connection.list_prompts(),
        await connection.get_prompt("p", {}),
    ]
    assert MASKING(repr(seen)) == repr(seen)
    assert "redacted" in repr(seen[0])


# --- whose way it goes --------------------------------------------------------------------------------


class Session:
    """A guest that shows its own name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.occasions: list[Occasion | None] = []

    async def headers(self) -> Mapping[str, str]:
        self.occasions.append(occasion_now())
        return {"Authorization": self.name}

    async def refused(self, sent: Mapping[str, str]) -> bool:
        return sent == {"Authorization": self.name}


async def test_a_call_goes_by_the_way_of_its_session_and_the_rest_by_that_of_the_first() -> None:
    ways, one, two = Ways(), Session("one"), Session("two")
    guests: Any = (one, two)
    for guest in guests:
        ways.come(guest, Way(headers=guest.headers, refused=guest.refused))
    assert await ways.headers() == {"Authorization": "one"}
    with on_occasion(Occasion(guests[1], "call_1")):
        assert await ways.headers() == {"Authorization": "two"}
        assert await ways.refused({"Authorization": "two"})
    ways.go(guests[0])
    assert await ways.headers() == {"Authorization": "two"}
    ways.go(guests[1])
    assert await ways.headers() == {"Authorization": "two"}  # to the very end
    assert [now.call_id if now else None for now in two.occasions] == ["call_1", "", ""]
    before = two.occasions[-1]
    await ways.prepare()
    await ways.headers()
    assert two.occasions[-1] is not before  # a connection that is made anew is another occasion
