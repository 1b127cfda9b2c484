"""A server of tools that can be connected: ``servers/<name>.json`` (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolwright.catalog.directory.fields import (
    Fields,
    Unfit,
    filled,
    mapping,
    one_of,
    one_or_more,
    text,
)
from toolwright.catalog.values import NAME

Transport = Literal["stdio", "sse", "streamable_http"]
_OVERRIDES: Final = frozenset({"requires_permission", "high_cost", "description", "enabled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogServer:
    """A server as it was written down. It is connected by whoever may."""

    name: str
    display_name: str
    transport: Transport
    auth_method: Literal["none", "api_key", "oauth"] = "none"
    url: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    credential_header: str = "Authorization"
    credential_env: str = ""
    oauth: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By action: what the entry says otherwise than the server."""


def read_server(data: Mapping[str, Any]) -> tuple[CatalogServer, tuple[str, ...]]:
    """Return a server and what its author should know. May raise Unfit."""
    fields = Fields(data)
    name = fields.need("server_name", _name)
    transport: Transport = fields.need("transport", one_of("stdio", "sse", "streamable_http"))
    server = CatalogServer(
        name=name,
        display_name=fields.get("display_name", filled, default=name),
        transport=transport,
        auth_method=fields.get("auth_method", one_of("none", "api_key", "oauth"), default="none"),
        url=fields.get("url", filled, default=""),
        command=fields.get("command", one_or_more, default=()),
        env=fields.get("env", _env, default={}),
        cwd=fields.get("cwd", text, default=""),
        credential_header=fields.get("credential_header", filled, default="Authorization"),
        credential_env=fields.get("credential_env", text, default=""),
        oauth=fields.get("oauth", mapping, default={}),
        tools=fields.get("tools", _tools, default={}),
    )
    if transport == "stdio" and not server.command:
        raise Unfit("missing_field", "command is missing: a stdio server is a program")
    if transport != "stdio" and not server.url:
        raise Unfit("missing_field", f"url is missing: a {transport} server is reached over the network")
    return server, fields.unread()


def _name(value: Any) -> str:
    name = filled(value)
    if not NAME.fullmatch(name):
        raise Unfit("invalid_field", f"{name[:80]!r} is no name for a server")
    return name


def _env(value: Any) -> Mapping[str, str]:
    found = mapping(value)
    if not all(isinstance(one, str) for one in found.values()):
        raise Unfit("invalid_field", "takes texts only")
    return found


def _tools(value: Any) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for action, said in mapping(value).items():
        found[action] = mapping(said)
        unknown = sorted(set(found[action]) - _OVERRIDES)
        if unknown:
            raise Unfit("invalid_field", f"says of {action!r} what is not known: {unknown[0]!r}")
    return found
