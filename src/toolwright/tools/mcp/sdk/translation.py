"""The library's shapes and ours, both ways. Texts are cleaned and bounded on the way in (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import mcp_types as types
from pydantic import FileUrl

from toolwright.contracts.mcp import (
    CallAnswer,
    Elicitation,
    ElicitationAnswer,
    ListChanged,
    ListedPrompt,
    ListedResource,
    ListedTool,
    McpNews,
    McpPart,
    PromptAnswer,
    PromptArgument,
    PromptMessage,
    ResourceChanged,
    SamplingAnswer,
    SamplingRequest,
    ServerFacts,
    ServerLogged,
)
from toolwright.tools.mcp.texts import DESCRIPTION, INSTRUCTIONS, cleaned, one_line

_NAME = 200
_URI = 2_000

# --- what a server is and has ----------------------------------------------------------------------


def facts(
    info: types.Implementation | None,
    version: str,
    instructions: str | None,
    capabilities: types.ServerCapabilities | None,
) -> ServerFacts:
    """Return what a server said of itself."""
    can = capabilities or types.ServerCapabilities()
    return ServerFacts(
        name=one_line(info.name, _NAME) if info is not None else "",
        version=one_line(info.version or "", 80) if info is not None else "",
        protocol=version,
        instructions=cleaned(instructions or "", INSTRUCTIONS),
        tools=can.tools is not None,
        resources=can.resources is not None,
        subscriptions=can.resources is not None and bool(can.resources.subscribe),
        prompts=can.prompts is not None,
    )


def listed_tool(tool: types.Tool) -> ListedTool:
    """Return a tool as its server wrote it: what is cleaned of it for a model is cleaned later, so that
    nothing can change unseen."""
    marks = tool.annotations
    title = tool.title or (marks.title if marks is not None else "") or ""
    return ListedTool(
        name=tool.name,
        title=title,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_plain(marks),
        meta=tool.meta or {},
    )


def listed_resource(resource: types.Resource | types.ResourceTemplate) -> ListedResource:
    """Return a resource, or a pattern of such."""
    if isinstance(resource, types.ResourceTemplate):
        uri, size, template = resource.uri_template, None, True
    else:
        uri, size, template = resource.uri, resource.size, False
    return ListedResource(
        uri=one_line(uri, _URI),
        name=one_line(resource.name, _NAME),
        title=one_line(resource.title or "", _NAME),
        description=cleaned(resource.description or "", DESCRIPTION),
        media_type=one_line(resource.mime_type or "", 100),
        size=size,
        template=template,
    )


def listed_prompt(prompt: types.Prompt) -> ListedPrompt:
    """Return a prompt."""
    return ListedPrompt(
        name=one_line(prompt.name, _NAME),
        title=one_line(prompt.title or "", _NAME),
        description=cleaned(prompt.description or "", DESCRIPTION),
        arguments=tuple(
            PromptArgument(
                name=one_line(argument.name, _NAME),
                description=cleaned(argument.description or "", DESCRIPTION),
                required=bool(argument.required),
            )
            for argument in prompt.arguments or ()
        ),
    )


def _plain(model: types.ToolAnnotations | None) -> Mapping[str, Any]:
    return {} if model is None else model.model_dump(by_alias=True, mode="json", exclude_none=True)


# --- what a server answers -------------------------------------------------------------------------


def answer(result: types.CallToolResult) -> CallAnswer:
    """Return what came of a call."""
    return CallAnswer(
        parts=tuple(part(block) for block in result.content),
        structured=result.structured_content,
        is_error=result.is_error,
        meta=result.meta or {},
    )


def part(block: types.ContentBlock) -> McpPart:
    """Return one block."""
    match block:
        case types.TextContent():
            return McpPart(kind="text", text=block.text)
        case types.ImageContent():
            return McpPart(kind="image", data=block.data, media_type=block.mime_type)
        case types.AudioContent():
            return McpPart(kind="audio", data=block.data, media_type=block.mime_type)
        case types.EmbeddedResource():
            return content(block.resource)
        case types.ResourceLink():
            return McpPart(
                kind="link",
                uri=one_line(block.uri, _URI),
                name=one_line(block.title or block.name, _NAME),
                description=cleaned(block.description or "", DESCRIPTION),
                media_type=one_line(block.mime_type or "", 100),
            )


def content(resource: types.TextResourceContents | types.BlobResourceContents) -> McpPart:
    """Return what was read of a resource."""
    text, data = (
        ("", resource.blob) if isinstance(resource, types.BlobResourceContents) else (resource.text, "")
    )
    uri, media_type = one_line(resource.uri, _URI), one_line(resource.mime_type or "", 100)
    return McpPart(kind="resource", text=text, data=data, media_type=media_type, uri=uri)


def prompt_answer(result: types.GetPromptResult) -> PromptAnswer:
    """Return a prompt that was filled in."""
    return PromptAnswer(
        description=cleaned(result.description or "", DESCRIPTION),
        messages=tuple(
            PromptMessage(role=message.role, part=part(message.content)) for message in result.messages
        ),
    )


# --- what a server tells and asks --------------------------------------------------------------------


def news(notification: object) -> McpNews | None:
    """Return what a notification means to us, if anything."""
    match notification:
        case types.ToolListChangedNotification():
            return ListChanged("tools")
        case types.ResourceListChangedNotification():
            return ListChanged("resources")
        case types.PromptListChangedNotification():
            return ListChanged("prompts")
        case types.ResourceUpdatedNotification():
            return ResourceChanged(one_line(notification.params.uri, _URI))
        case _:
            return None


def logged(params: types.LoggingMessageNotificationParams) -> ServerLogged:
    """Return a line of a server's log."""
    return ServerLogged(params.level, one_line(str(params.data)[:4_000], 1_000))


def elicitation(params: types.ElicitRequestParams) -> Elicitation:
    """Return what a server wants from a person."""
    message = cleaned(params.message, DESCRIPTION)
    if isinstance(params, types.ElicitRequestURLParams):
        return Elicitation(
            message=message, url=one_line(params.url, _URI), elicitation_id=params.elicitation_id or ""
        )
    return Elicitation(message=message, schema=params.requested_schema)


def elicited(answered: ElicitationAnswer) -> types.ElicitResult:
    """Return a person's answer as the protocol has it."""
    content = answered.content if answered.action == "accept" else None
    return types.ElicitResult(action=answered.action, content=None if content is None else dict(content))


def sampling_request(params: types.CreateMessageRequestParams) -> SamplingRequest:
    """Return what a server wants our model to go on from; blocks about tools are left out."""
    return SamplingRequest(
        messages=tuple(_sampling_messages(params.messages)),
        system=params.system_prompt or "",
        max_tokens=params.max_tokens,
    )


def _sampling_messages(messages: Sequence[types.SamplingMessage]) -> Iterable[PromptMessage]:
    for message in messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        for block in blocks:
            if isinstance(block, types.TextContent | types.ImageContent | types.AudioContent):
                yield PromptMessage(role=message.role, part=part(block))


def sampled(answered: SamplingAnswer) -> types.CreateMessageResult:
    """Return what our model said as the protocol has it."""
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=answered.text),
        model=answered.model,
        stop_reason=answered.stop,
    )


def roots(folders: Sequence[str]) -> types.ListRootsResult:
    """Return folders as the protocol has them."""
    return types.ListRootsResult(
        roots=[types.Root(uri=FileUrl(PurePosixPath(folder).as_uri()), name=folder) for folder in folders]
    )
