"""Agents as they are written and as they are shown."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolwright.surfaces.http.managed.pages import Written
from toolwright.surfaces.http.managed.tool_shapes import (
    CustomTool,
    McpToolsetGiven,
    ToolGiven,
    ToolsetGiven,
    shown_tool,
)
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Shape

MOST_TOOLS: Final = 256
MOST_SERVERS: Final = 20
Effort = Literal["low", "medium", "high", "xhigh", "max"]


class EffortShape(Shape):
    type: Effort


ModelName = Annotated[str, Field(min_length=1, max_length=256)]


class ModelGiven(Shape):
    """A model as it is written out."""

    id: ModelName
    effort: Effort | EffortShape | None = None
    speed: Literal["standard", "fast"] | None = None
    inference_geo: str | None = None


class ModelShown(Shape):
    """A model as it is shown."""

    id: str
    effort: EffortShape
    speed: Literal["standard", "fast"]
    inference_geo: str | None = None


class ServerGiven(Shape):
    """A server of tools."""

    type: Literal["url"] = "url"
    name: str = Field(min_length=1, max_length=255)
    url: str = Field(min_length=1, max_length=2_048)


class SkillGiven(Shape):
    """A skill of an agent."""

    type: Literal["anthropic", "custom"]
    skill_id: str = Field(min_length=1, max_length=256)
    version: str | None = None


class SkillShown(Shape):
    type: Literal["anthropic", "custom"]
    skill_id: str
    version: str


class AgentReference(Shape):
    """Another agent, at one version."""

    type: Literal["agent"] = "agent"
    id: str
    version: int | None = None


class SelfReference(Shape):
    """The agent itself."""

    type: Literal["self"]


class CoordinatorGiven(Shape):
    """Agents that an agent may start threads of."""

    type: Literal["coordinator"]
    agents: tuple[str | Annotated[AgentReference | SelfReference, Field(discriminator="type")], ...] = Field(
        min_length=1, max_length=20
    )


class AgentPinned(Shape):
    type: Literal["agent"] = "agent"
    id: str
    version: int


class CoordinatorShown(Shape):
    type: Literal["coordinator"] = "coordinator"
    agents: list[AgentPinned]


class ServiceAccount(Shape):
    """Whose rights its runs have."""

    type: Literal["service_account"] = "service_account"


Metadata = dict[str, str]
Description = Annotated[str, Field(max_length=2_048)]
System = Annotated[str, Field(max_length=100_000)]
Name = Annotated[str, Field(min_length=1, max_length=256)]


def checked_metadata(metadata: dict[str, Any]) -> None:
    """Raise ValueError for more than may be noted."""
    if len(metadata) > 16:
        raise ValueError("at most 16 pairs")
    for key, value in metadata.items():
        if not 1 <= len(key) <= 64 or (value is not None and len(value) > 512):
            raise ValueError("keys have 1 to 64 characters, values up to 512")


def fitting_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return notes that were put together. May raise Problem for more than may be noted."""
    try:
        checked_metadata(metadata)
    except ValueError as wrong:
        raise Problem("invalid", f"metadata: {wrong}", code="invalid_metadata") from wrong
    return metadata


class AgentGiven(Shape):
    """A new agent."""

    name: Name
    model: ModelName | ModelGiven
    description: Description | None = None
    system: System | None = None
    tools: tuple[ToolGiven, ...] | None = Field(None, max_length=MOST_TOOLS)
    mcp_servers: tuple[ServerGiven, ...] | None = Field(None, max_length=MOST_SERVERS)
    skills: tuple[SkillGiven, ...] | None = None
    metadata: Metadata | None = None
    multiagent: CoordinatorGiven | None = None
    execution_identity: ServiceAccount | None = None

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: Metadata | None) -> Metadata | None:
        checked_metadata(value or {})
        return value


class AgentChange(Shape):
    """A change of an agent: what is left out stays, null clears."""

    version: int | None = Field(None, ge=1)
    name: Name | None = None
    model: ModelName | ModelGiven | None = None
    description: Description | None = None
    system: System | None = None
    tools: tuple[ToolGiven, ...] | None = Field(None, max_length=MOST_TOOLS)
    mcp_servers: tuple[ServerGiven, ...] | None = Field(None, max_length=MOST_SERVERS)
    skills: tuple[SkillGiven, ...] | None = None
    metadata: dict[str, str | None] | None = None
    multiagent: CoordinatorGiven | None = None
    execution_identity: ServiceAccount | None = None

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: dict[str, str | None] | None) -> dict[str, str | None] | None:
        checked_metadata({key: kept for key, kept in (value or {}).items() if kept is not None})
        return value

    @model_validator(mode="after")
    def _keeps_what_it_needs(self) -> Self:
        for member in ("name", "model"):
            if member in self.model_fields_set and getattr(self, member) is None:
                raise ValueError(f"{member}: cannot be cleared")
        return self


class AgentShown(Shape):
    """An agent."""

    id: str
    type: Literal["agent"] = "agent"
    version: int
    name: str
    description: str | None = None
    system: str | None = None
    model: ModelShown
    tools: list[dict[str, Any]]
    mcp_servers: list[ServerGiven]
    skills: list[SkillShown]
    metadata: Metadata
    multiagent: CoordinatorShown | None = None
    execution_identity: ServiceAccount
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


def shown_model(given: str | ModelGiven, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a model as it is kept; an effort that is left out stays while the model does."""
    model = ModelGiven(id=given) if isinstance(given, str) else given
    effort = model.effort.type if isinstance(model.effort, EffortShape) else model.effort
    if effort is None and before is not None and before["id"] == model.id:
        effort = before["effort"]["type"]
    return {
        "id": model.id,
        "effort": {"type": effort or "high"},
        "speed": model.speed or "standard",
        "inference_geo": model.inference_geo,
    }


def shown_tools(
    tools: tuple[ToolsetGiven | McpToolsetGiven | CustomTool, ...] | None,
) -> list[dict[str, Any]]:
    """Return tools as they are kept."""
    return [shown_tool(tool) for tool in tools or ()]


def shown_servers(servers: tuple[ServerGiven, ...] | None) -> list[dict[str, Any]]:
    """Return servers as they are kept."""
    return [server.model_dump() for server in servers or ()]
