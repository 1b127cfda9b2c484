"""What the official conformance suite asks a server for: tools, resources, prompts. No part of the product.

They are written like any tool and called through the whole pipeline; those that need more than text find the
request they came with.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

from toolwright import tool
from toolwright.contracts.content import ImageBlock
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, Done, Progress, Tool
from toolwright.surfaces.mcp.exchange import Exchange, current
from toolwright.surfaces.mcp.offering import Offering

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00"
    b"\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
).decode()
STEP = 0.12
Json = dict[str, Any]


def exchange() -> Exchange:
    """Return the request that the running call came with."""
    found = current()
    if found is None:
        raise ToolFailure("unsupported", "This tool is for clients of the protocol.")
    return found


def form(message: str, properties: Json, *, required: bool = True) -> ElicitRequest:
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(properties)
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=most))


def text(said: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=said)])


# --- content ----------------------------------------------------------------------------------


@tool(read_only=True)
def test_simple_text() -> str:
    """Say a text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> Done:
    """Show an image."""
    return Done((ImageBlock(PIXEL, "image/png"),))


@tool(read_only=True)
async def test_audio_content() -> str:
    """Play a sound."""
    exchange().answer = CallToolResult(content=[AudioContent(data=SILENCE, mime_type="audio/wav")])
    return ""


@tool(read_only=True)
async def test_embedded_resource() -> str:
    """Show a resource."""
    resource = TextResourceContents(
        uri="test://embedded-resource", mime_type="text/plain", text="This is an embedded resource content."
    )
    exchange().answer = CallToolResult(content=[EmbeddedResource(resource=resource)])
    return ""


@tool(read_only=True)
async def test_multiple_content_types() -> str:
    """Show a block of each of three kinds."""
    resource = TextResourceContents(
        uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data","value":123}'
    )
    exchange().answer = CallToolResult(
        content=[
            TextContent(text="Multiple content types test:"),
            ImageContent(data=PIXEL, mime_type="image/png"),
            EmbeddedResource(resource=resource),
        ]
    )
    return ""


@tool(read_only=True)
def test_error_handling() -> str:
    """Fail."""
    raise ToolFailure("internal_error", "This tool intentionally returns an error for testing")


# --- while a call runs ------------------------------------------------------------------------


@tool(read_only=True)
async def test_tool_with_progress(ctx: CallContext) -> str:
    """Say how far it is."""
    for done in (0.0, 0.5, 1.0):
        ctx.report(Progress(fraction=done))
        await asyncio.sleep(STEP)
    return "Tool with progress executed successfully"


@tool(read_only=True)
async def test_tool_with_logging() -> str:
    """Write a log."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await exchange().log("info", line)
        await asyncio.sleep(STEP / 2)
    return "Tool with logging executed successfully"


@tool(read_only=True)
async def test_logging_tool() -> str:
    """Write a log for those who want one."""
    await exchange().log("info", "A line of the log")
    return "logged"


@tool(read_only=True)
async def test_trigger_tool_change() -> str:
    """Say that there are other tools now."""
    await exchange().place.announce(ToolsListChanged(), exchange())
    return "changed"


@tool(read_only=True)
async def test_trigger_prompt_change() -> str:
    """Say that there are other prompts now."""
    await exchange().place.announce(PromptsListChanged(), exchange())
    return "changed"


@tool(read_only=True)
async def test_reconnection() -> str:
    """Close the stream, and end a little later."""
    close = exchange().ctx.close_sse_stream
    if close is not None:
        await close()
    await asyncio.sleep(STEP)
    return "Reconnection test completed"


# --- asking back while the client waits ---------------------------------------------------------


async def asked(request: ElicitRequest | CreateMessageRequest, kind: type[Any]) -> Any:
    """Ask the client in the older way."""
    ctx = exchange().ctx
    try:
        return await ctx.session.send_request(
            request, kind, metadata=ServerMessageMetadata(related_request_id=ctx.request_id)
        )
    except MCPError as refusal:
        raise ToolFailure("unsupported", refusal.message) from refusal


@tool(read_only=True)
async def test_sampling(prompt: str) -> str:
    """Ask the model of the client."""
    said: CreateMessageResult = await asked(sampling(prompt, 100), CreateMessageResult)
    return f"LLM response: {said.content.text if isinstance(said.content, TextContent) else ''}"


@tool(read_only=True)
async def test_elicitation(message: str) -> str:
    """Ask the person at the client."""
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return f"User response: {_told(await asked(form(message, properties), ElicitResult))}"


@tool(read_only=True)
async def test_elicitation_sep1034_defaults() -> str:
    """Ask with defaults of every kind."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    request = form("Please check these values", properties, required=False)
    return f"Elicitation completed: {_told(await asked(request, ElicitResult))}"


@tool(read_only=True)
async def test_elicitation_sep1330_enums() -> str:
    """Ask with choices of every kind."""
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    request = form("Please choose", properties, required=False)
    return f"Elicitation completed: {_told(await asked(request, ElicitResult))}"


def _told(said: ElicitResult) -> str:
    return f"action={said.action}, content={said.content}"


# --- asking back with the answer ----------------------------------------------------------------

NAME = {"name": {"type": "string"}}


def ask_back(state: str = "", **requests: Any) -> str:
    exchange().answer = InputRequiredResult(input_requests=requests, request_state=state or None)
    return ""


@tool(read_only=True)
async def test_input_required_result_elicitation() -> str:
    """Ask for a name."""
    said = exchange().responses.get("user_name")
    if not isinstance(said, ElicitResult) or not isinstance((said.content or {}).get("name"), str):
        return ask_back(user_name=form("What is your name?", NAME))
    return f"Hello, {(said.content or {})['name']}!"


@tool(read_only=True)
async def test_streaming_elicitation() -> str:
    """Ask for a name over a stream."""
    return ask_back(user_name=form("What is your name?", NAME))


@tool(read_only=True)
async def test_input_required_result_sampling() -> str:
    """Ask the model of the client."""
    said = exchange().responses.get("capital_question")
    if not isinstance(said, CreateMessageResult):
        return ask_back(capital_question=sampling("What is the capital of France?", 100))
    return said.content.text if isinstance(said.content, TextContent) else ""


@tool(read_only=True)
async def test_input_required_result_list_roots() -> str:
    """Ask for the roots of the client."""
    said = exchange().responses.get("client_roots")
    if not isinstance(said, ListRootsResult):
        return ask_back(client_roots=ListRootsRequest())
    return ", ".join(str(root.uri) for root in said.roots)


@tool(read_only=True)
async def test_input_required_result_request_state() -> str:
    """Ask, and know the answer again."""
    if exchange().state != "begun" or "confirm" not in exchange().responses:
        return ask_back("begun", confirm=form("Please confirm", {"ok": {"type": "boolean"}}))
    return "state-ok"


@tool(read_only=True)
async def test_input_required_result_tampered_state() -> str:
    """Ask, with a state that nobody else can write."""
    if exchange().state != "begun":
        return ask_back("begun", confirm=form("Please confirm", {"ok": {"type": "boolean"}}))
    return "state-ok"


@tool(read_only=True)
async def test_input_required_result_multiple_inputs() -> str:
    """Ask for three things at once."""
    if not {"user_name", "greeting", "client_roots"} <= exchange().responses.keys():
        return ask_back(
            "begun",
            user_name=form("What is your name?", NAME),
            greeting=sampling("Generate a greeting", 50),
            client_roots=ListRootsRequest(),
        )
    return "all is here"


@tool(read_only=True)
async def test_input_required_result_multi_round() -> str:
    """Ask twice."""
    state, responses = exchange().state, exchange().responses
    if state == "second" and "step2" in responses:
        return "both steps are done"
    if state == "first" and "step1" in responses:
        return ask_back(
            "second", step2=form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
        )
    return ask_back("first", step1=form("Step 1: What is your name?", NAME))


@tool(read_only=True)
async def test_input_required_result_capabilities() -> str:
    """Ask only for what the client can do."""
    can = exchange().ctx.session.client_capabilities
    requests: Json = {}
    if can is not None and can.sampling is not None:
        requests["greeting"] = sampling("Generate a greeting", 50)
    if can is not None and can.elicitation is not None:
        requests["user_name"] = form("What is your name?", NAME)
    return ask_back(**requests)


@tool(read_only=True)
async def test_missing_capability() -> str:
    """Need a model of the client."""
    can = exchange().ctx.session.client_capabilities
    if can is None or can.sampling is None:
        exchange().answer = MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This needs the client's model.",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return "there is one"


# --- resources and prompts ----------------------------------------------------------------------


class Resources:
    """Two resources, a template, and one to watch."""

    async def resources(self) -> Sequence[Resource]:
        return [
            Resource(
                uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"
            ),
            Resource(
                uri="test://static-binary",
                name="static-binary",
                description="An image.",
                mime_type="image/png",
            ),
            Resource(
                uri="test://watched-resource",
                name="watched",
                description="One to watch.",
                mime_type="text/plain",
            ),
        ]

    def templates(self) -> Sequence[ResourceTemplate]:
        return [
            ResourceTemplate(
                uri_template="test://template/{id}/data", name="template", description="Data by id."
            )
        ]

    async def read(self, uri: str) -> ReadResourceResult | None:
        texts = {
            "test://static-text": "This is the content of the static text resource.",
            "test://watched-resource": "watched",
        }
        if uri in texts:
            return _text_at(uri, texts[uri], "text/plain")
        if uri == "test://static-binary":
            blob = BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
            return ReadResourceResult(contents=[blob])
        if uri.startswith("test://template/") and uri.endswith("/data"):
            number = uri.removeprefix("test://template/").removesuffix("/data")
            data = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
            return _text_at(uri, data, "application/json")
        return None

    async def completions(self, uri: str, name: str, written: str) -> Sequence[str]:
        del uri, name, written
        return ()


def _text_at(uri: str, text: str, kind: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])


class Prompts:
    """One prompt of each kind."""

    async def prompts(self) -> Sequence[Prompt]:
        two = [PromptArgument(name=f"arg{n}", description=f"Argument {n}.", required=True) for n in (1, 2)]
        uri = PromptArgument(name="resourceUri", description="What to show.", required=True)
        return [
            Prompt(name="test_simple_prompt", description="A prompt."),
            Prompt(name="test_prompt_with_arguments", description="With arguments.", arguments=two),
            Prompt(name="test_prompt_with_embedded_resource", description="With one.", arguments=[uri]),
            Prompt(name="test_prompt_with_image", description="With an image."),
            Prompt(name="test_input_required_result_prompt", description="Asks first."),
        ]

    async def get(
        self, name: str, arguments: Mapping[str, str]
    ) -> GetPromptResult | InputRequiredResult | None:
        if name == "test_simple_prompt":
            return _said(TextContent(text="This is a simple prompt for testing."))
        if name == "test_prompt_with_arguments":
            one, two = arguments.get("arg1", ""), arguments.get("arg2", "")
            return _said(TextContent(text=f"Prompt with arguments: arg1='{one}', arg2='{two}'"))
        if name == "test_prompt_with_embedded_resource":
            resource = TextResourceContents(
                uri=arguments.get("resourceUri", ""), mime_type="text/plain", text="Embedded for testing."
            )
            return _said(
                EmbeddedResource(resource=resource), TextContent(text="Please process the embedded resource.")
            )
        if name == "test_prompt_with_image":
            image = ImageContent(data=PIXEL, mime_type="image/png")
            return _said(image, TextContent(text="Please analyze the image above."))
        return _asking() if name == "test_input_required_result_prompt" else None


def _asking() -> GetPromptResult | InputRequiredResult:
    if "user_context" not in exchange().responses:
        request = form("What context should the prompt use?", {"context": {"type": "string"}})
        return InputRequiredResult(input_requests={"user_context": request})
    return _said(TextContent(text="With the context you gave."))


def _said(*contents: Any) -> GetPromptResult:
    return GetPromptResult(messages=[PromptMessage(role="user", content=content) for content in contents])


TOOLS: tuple[Tool, ...] = tuple(
    found for name, found in list(globals().items()) if name.startswith("test_") and isinstance(found, Tool)
)
OFFERING = Offering(tools=TOOLS, builtins=(), agents=False, resources=(Resources(),), prompts=(Prompts(),))
