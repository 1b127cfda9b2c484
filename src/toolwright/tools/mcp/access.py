"""What our own tools about servers have in common: asking for the servers, and saying what they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import ListedPrompt, ListedResource
from toolwright.contracts.mcp_servers import McpServers, ServerView


def required(servers: McpServers | None) -> McpServers:
    """Return the servers of the session. Raises ToolFailure where there are none."""
    if servers is None:
        raise ToolFailure("unsupported", "There are no MCP servers here.")
    return servers


def server_lines(views: Sequence[ServerView]) -> str:
    """Return a line for each server: how it stands and what it has."""
    return "\n".join(server_line(view) for view in views) or "There are no MCP servers here."


def server_line(view: ServerView) -> str:
    """Say how one server stands."""
    told = f"{view.name}: {view.status.replace('_', ' ')}"
    if view.status == "connected":
        told += f", {view.tools} tool{'' if view.tools == 1 else 's'}"
    if view.reason:
        told += f" ({view.reason})"
    if view.held_back:
        told += f"; changed since they were accepted: {', '.join(view.held_back)}"
    return told


def server_data(views: Sequence[ServerView]) -> list[Mapping[str, Any]]:
    """Return the same as data."""
    return [
        {
            "name": view.name,
            "status": view.status,
            "tools": view.tools,
            "reason": view.reason,
            "held_back": list(view.held_back),
        }
        for view in views
    ]


def resource_line(server: str, resource: ListedResource) -> str:
    """Say what one resource is."""
    kind = [resource.media_type] if resource.media_type else []
    kind += [f"{resource.size:,} bytes"] if resource.size is not None else []
    kind += ["a pattern"] if resource.template else []
    name = resource.title or resource.name
    told = f"{server}: {resource.uri}" + (f" — {name}" if name else "")
    told += f" ({', '.join(kind)})" if kind else ""
    about = " ".join(resource.description.split())
    return f"{told}: {about}" if about else told


def resource_data(server: str, resource: ListedResource) -> Mapping[str, Any]:
    """Return the same as data."""
    return {
        "server": server,
        "uri": resource.uri,
        "name": resource.name,
        "media_type": resource.media_type,
        "template": resource.template,
    }


def prompt_line(prompt: ListedPrompt) -> str:
    """Say what one prompt is for, and what it takes."""
    taken = ", ".join(
        argument.name if argument.required else f"{argument.name} (optional)" for argument in prompt.arguments
    )
    about = " ".join(prompt.description.split())
    return f"{prompt.name}({taken})" + (f": {about}" if about else "")
