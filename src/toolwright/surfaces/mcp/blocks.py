"""Tools and the ends of calls as the protocol writes them (pure)."""

import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolwright.contracts.content import Content, ImageBlock, TextBlock
from toolwright.contracts.tool import CallResult, Done, OfferedTool, Schema, ToolSpec

_NETWORK: Final = "network"


def shown_tool(offered: OfferedTool) -> Tool:
    """Return a tool as clients see it."""
    spec = offered.tool.spec
    output = output_schema(spec)
    return Tool(
        name=offered.wire_name,
        title=spec.display_name or None,
        description=offered.description,
        input_schema=dict(spec.input_schema),
        output_schema=dict(output) if output is not None else None,
        annotations=_hints(offered),
    )


def output_schema(spec: ToolSpec) -> Schema | None:
    """Return the schema of a tool's structured output where it is one that every revision takes."""
    schema = spec.output_schema
    return schema if schema is not None and schema.get("type") == "object" else None


def shown_result(result: CallResult, schema: Schema | None, uri_of: "Mapping[str, str]") -> CallToolResult:
    """Return the end of a call. ``uri_of`` says under which address a client reads a file."""
    outcome = result.outcome
    content = [*_content(result.content), *_attached(outcome, uri_of)]
    if result.stored is not None and result.stored.path in uri_of:
        content.append(_link(result.stored.path, uri_of, result.stored.chars))
    content += [TextContent(text=note) for note in result.notes]
    structured = _structured(outcome) if schema is not None else None
    return CallToolResult(content=content, structured_content=structured, is_error=result.is_error)


def refused(text: str) -> CallToolResult:
    """Return the end of a call that could not be."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _hints(offered: OfferedTool) -> ToolAnnotations | None:
    """What can be said of every call of a tool. Nothing is said of one whose promises need its input."""
    try:
        known = [offered.tool.traits(input) for input in _tried(offered.tool.spec.input_schema)]
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return ToolAnnotations(
        title=offered.tool.spec.display_name or None,
        read_only_hint=all(traits.read_only for traits in known),
        destructive_hint=True if any(traits.destructive for traits in known) else None,
        open_world_hint=offered.tool.spec.category == _NETWORK or any(traits.open_world for traits in known),
    )


def _tried(schema: Schema) -> Iterator[Mapping[str, Any]]:
    """Yield inputs on which promises often depend: none, and each choice that a property leaves."""
    yield {}
    for name, property in schema.get("properties", {}).items():
        choices = (False, True) if property.get("type") == "boolean" else property.get("enum", ())
        yield from ({name: choice} for choice in choices)


def _content(content: Content) -> list[ContentBlock]:
    if isinstance(content, str):
        return [TextContent(text=content)]
    blocks: list[ContentBlock] = []
    for block in content:
        if isinstance(block, TextBlock):
            blocks.append(TextContent(text=block.text))
        elif isinstance(block, ImageBlock):
            blocks.append(ImageContent(data=block.data, mime_type=block.media_type))
        else:
            uri = f"document:///{block.title or 'document'}"
            inside = BlobResourceContents(uri=uri, blob=block.data, mime_type=block.media_type)
            blocks.append(EmbeddedResource(resource=inside))
    return blocks


def _attached(outcome: object, uri_of: Mapping[str, str]) -> Sequence[ContentBlock]:
    if not isinstance(outcome, Done):
        return ()
    return [_link(file.path, uri_of, file.size) for file in outcome.attachments if file.path in uri_of]


def _link(path: str, uri_of: Mapping[str, str], size: int) -> ResourceLink:
    return ResourceLink(
        uri=uri_of[path],
        name=path.rpartition("/")[2],
        mime_type=mimetypes.guess_type(path)[0] or "application/octet-stream",
        size=size,
    )


def _structured(outcome: object) -> dict[str, Any] | None:
    if not isinstance(outcome, Done):
        return None
    try:
        data = to_jsonable_python(outcome.data)
    except PydanticSerializationError:
        return None
    return data if isinstance(data, dict) else None
