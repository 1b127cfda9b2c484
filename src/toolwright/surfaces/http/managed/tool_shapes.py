"""Tools of an agent as they are written and as they are shown."""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from toolwright.surfaces.http.routes import Shape

BUILTIN: Final = ("bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search")
ToolName = Literal["bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search"]
_HOST: Final = re.compile(r"(?=.{1,255}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_ADDRESS: Final = re.compile(r"[0-9.]+")


class AlwaysAllow(Shape):
    """It runs at once."""

    type: Literal["always_allow"] = "always_allow"


class AlwaysAsk(Shape):
    """It waits for a confirmation."""

    type: Literal["always_ask"] = "always_ask"


class Auto(Shape):
    """The server judges each call."""

    type: Literal["auto"] = "auto"


Policy = Annotated[AlwaysAllow | AlwaysAsk | Auto, Field(discriminator="type")]
ALLOW: Final = AlwaysAllow()
ASK: Final = AlwaysAsk()


class DefaultConfig(Shape):
    """What holds for tools that are not named, as it is shown."""

    enabled: bool
    permission_policy: Policy


class DefaultConfigGiven(Shape):
    """The same as it is written."""

    enabled: bool | None = None
    permission_policy: Policy | None = None


def _plain_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        name = host.partition("/")[0]
        if not _HOST.fullmatch(name) or _ADDRESS.fullmatch(name):
            raise ValueError(f"{host[:80]!r} is no plain host name: no scheme, port, address or wildcard")
    if len(set(hosts)) != len(hosts):
        raise ValueError("a host stands here twice")
    return hosts


Hosts = Annotated[tuple[str, ...], Field(min_length=1, max_length=64), AfterValidator(_plain_hosts)]


class Place(Shape):
    """Where a person searches from."""

    type: Literal["approximate"] = "approximate"
    city: str | None = None
    region: str | None = None
    country: str | None = None
    timezone: str | None = None


class ToolConfigGiven(Shape):
    """One tool of the toolset as it is written."""

    name: ToolName
    type: ToolName | None = None
    enabled: bool | None = None
    permission_policy: Policy | None = None
    allowed_domains: Hosts | None = None
    blocked_domains: Hosts | None = None
    max_content_tokens: int | None = Field(None, ge=1)
    user_location: Place | None = None

    @model_validator(mode="after")
    def _fits_its_tool(self) -> Self:
        if self.type not in {None, self.name}:
            raise ValueError(f"type: is {self.type}, the name is {self.name}")
        if self.allowed_domains and self.blocked_domains:
            raise ValueError("allowed_domains and blocked_domains exclude each other")
        for member, tools in _ONLY_OF.items():
            if getattr(self, member) is not None and self.name not in tools:
                raise ValueError(f"{member}: belongs to {' and '.join(tools)} only")
        if self.name == "web_fetch" and any(
            "/" in host for host in (*(self.allowed_domains or ()), *(self.blocked_domains or ()))
        ):
            raise ValueError("only web_search takes hosts with a path")
        return self


_ONLY_OF: Final[dict[str, tuple[str, ...]]] = {
    "allowed_domains": ("web_fetch", "web_search"),
    "blocked_domains": ("web_fetch", "web_search"),
    "max_content_tokens": ("web_fetch",),
    "user_location": ("web_search",),
}


class ToolsetGiven(Shape):
    """The built-in tools as they are written."""

    type: Literal["agent_toolset_20260401"]
    default_config: DefaultConfigGiven | None = None
    configs: tuple[ToolConfigGiven, ...] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        _refuse_twice([config.name for config in self.configs], "configs")
        return self


class McpConfigGiven(Shape):
    """One tool of a server as it is written."""

    name: str = Field(min_length=1, max_length=128)
    enabled: bool | None = None
    permission_policy: Policy | None = None


class McpToolsetGiven(Shape):
    """The tools of a server as they are written."""

    type: Literal["mcp_toolset"]
    mcp_server_name: str = Field(min_length=1, max_length=255)
    default_config: DefaultConfigGiven | None = None
    configs: tuple[McpConfigGiven, ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    """Another way to write: only these."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if self.allowed_tools is not None and self.configs:
            raise ValueError("allowed_tools and configs exclude each other")
        _refuse_twice([config.name for config in self.configs], "configs")
        return self


class InputSchema(BaseModel):
    """The schema of a custom tool's input; other keywords of JSON Schema are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class CustomTool(Shape):
    """A tool that the client runs."""

    type: Literal["custom"]
    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")
    description: str = Field(min_length=1, max_length=100_000)
    input_schema: InputSchema


ToolGiven = Annotated[ToolsetGiven | McpToolsetGiven | CustomTool, Field(discriminator="type")]


def _refuse_twice(names: list[str], where: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{where}: {', '.join(twice)} stands here twice")


def shown_tool(tool: ToolsetGiven | McpToolsetGiven | CustomTool) -> dict[str, Any]:
    """Return a tool entry as it is kept and shown: everything that was left open is filled in."""
    if isinstance(tool, CustomTool):
        schema = tool.input_schema.model_dump(exclude_unset=True)
        return {**tool.model_dump(exclude={"input_schema"}), "input_schema": schema}
    if isinstance(tool, ToolsetGiven):
        default = _default(tool.default_config, ALLOW)
        configs = [_web_settings(config) | _resolved(config, default) for config in tool.configs]
        ordered = [{"type": config["name"], **config} for config in configs]
        return {"type": tool.type, "default_config": default, "configs": ordered}
    default = _default(tool.default_config, ASK)
    configs = [_resolved(config, default) for config in tool.configs]
    if tool.allowed_tools is not None:
        configs = [{"name": name, **default, "enabled": True} for name in tool.allowed_tools]
        default = {**default, "enabled": False}
    return {
        "type": tool.type,
        "mcp_server_name": tool.mcp_server_name,
        "default_config": default,
        "configs": configs,
    }


def _default(given: DefaultConfigGiven | None, policy: Shape) -> dict[str, Any]:
    enabled = True if given is None or given.enabled is None else given.enabled
    chosen = policy if given is None or given.permission_policy is None else given.permission_policy
    return {"enabled": enabled, "permission_policy": chosen.model_dump()}


def _resolved(config: ToolConfigGiven | McpConfigGiven, default: dict[str, Any]) -> dict[str, Any]:
    policy = config.permission_policy
    return {
        "name": config.name,
        "enabled": default["enabled"] if config.enabled is None else config.enabled,
        "permission_policy": default["permission_policy"] if policy is None else policy.model_dump(),
    }


def _web_settings(config: ToolConfigGiven) -> dict[str, Any]:
    return config.model_dump(
        mode="json",
        include=set(_ONLY_OF),
        exclude_none=True,
    )
