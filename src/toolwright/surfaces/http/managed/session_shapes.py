"""Sessions as they are written and as they are shown."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolwright.surfaces.http.managed.agent_shapes import (
    Metadata,
    ModelGiven,
    ModelName,
    ServerGiven,
    SkillGiven,
    System,
    checked_metadata,
)
from toolwright.surfaces.http.managed.pages import Moment, Written
from toolwright.surfaces.http.managed.tool_shapes import ToolGiven
from toolwright.surfaces.http.routes import Query, Shape

Status = Literal["rescheduling", "running", "idle", "terminated"]


class AgentNamed(Shape):
    """An agent at one version, or the newest."""

    type: Literal["agent"]
    id: str
    version: int | None = Field(None, ge=1)


class AgentOverridden(Shape):
    """An agent with some things another way, for one session."""

    type: Literal["agent_with_overrides"]
    id: str
    version: int | None = Field(None, ge=1)
    model: ModelName | ModelGiven | None = None
    system: System | None = None
    tools: tuple[ToolGiven, ...] | None = None
    mcp_servers: tuple[ServerGiven, ...] | None = None
    skills: tuple[SkillGiven, ...] | None = None

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if "model" in self.model_fields_set and self.model is None:
            raise ValueError("agent_model_required: a session needs a model")
        return self


class FileMounted(Shape):
    """A file that lies in the session's folder."""

    type: Literal["file"]
    file_id: str
    mount_path: str | None = Field(None, max_length=1_024)


class MemoryMounted(Shape):
    """A memory store that the session reads and writes."""

    type: Literal["memory_store"]
    memory_store_id: str
    access: Literal["read_write", "read_only"] = "read_write"
    instructions: str | None = Field(None, max_length=4_096)


class RepositoryMounted(Shape):
    """A repository that the session shall find; it is understood, and refused."""

    type: Literal["github_repository"]
    url: str
    authorization_token: str | None = None
    mount_path: str | None = None
    checkout: dict[str, str] | None = None


ResourceGiven = Annotated[FileMounted | MemoryMounted | RepositoryMounted, Field(discriminator="type")]


class SessionGiven(Shape):
    """A new session."""

    agent: str | Annotated[AgentNamed | AgentOverridden, Field(discriminator="type")]
    environment_id: str
    title: str | None = Field(None, max_length=1_000)
    metadata: Metadata | None = None
    vault_ids: tuple[str, ...] = Field((), max_length=50)
    resources: tuple[ResourceGiven, ...] = Field((), max_length=508)
    initial_events: tuple[dict[str, Any], ...] = Field((), max_length=50)

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: Metadata | None) -> Metadata | None:
        checked_metadata(value or {})
        return value


class AgentTools(Shape):
    """Tools and servers of a session's agent: each replaces what was there."""

    type: Literal["agent"] | None = None
    tools: tuple[ToolGiven, ...] | None = None
    mcp_servers: tuple[ServerGiven, ...] | None = None


class SessionChange(Shape):
    """A change of a session: what is left out stays."""

    title: str | None = Field(None, max_length=1_000)
    metadata: dict[str, str | None] | None = None
    agent: AgentTools | None = None
    vault_ids: tuple[str, ...] | None = None


class SessionQuery(Query):
    """Which sessions."""

    limit: int = Field(20, ge=1, le=100)
    page: str | None = None
    order: Literal["asc", "desc"] = "desc"
    agent_id: str | None = None
    agent_version: int | None = None
    statuses: tuple[Status, ...] = ()
    include_archived: bool = False
    memory_store_id: str | None = None
    deployment_id: str | None = None
    later: Moment | None = Field(None, alias="created_at[gt]")
    since: Moment | None = Field(None, alias="created_at[gte]")
    earlier: Moment | None = Field(None, alias="created_at[lt]")
    until: Moment | None = Field(None, alias="created_at[lte]")


class Stats(Shape):
    active_seconds: float
    duration_seconds: float


class SessionShown(Shape):
    """A session."""

    id: str
    type: Literal["session"] = "session"
    agent: dict[str, Any]
    environment_id: str
    status: Status
    title: str | None = None
    metadata: Metadata
    vault_ids: list[str]
    resources: list[dict[str, Any]]
    outcome_evaluations: list[dict[str, Any]]
    stats: Stats
    usage: dict[str, Any]
    budget: dict[str, Any] | None = None
    deployment_id: str | None = None
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


class SessionPage(Shape):
    """A part of a list of sessions."""

    data: list[SessionShown]
    next_page: str | None = None
    prev_page: str | None = None


class SessionDeleted(Shape):
    id: str
    type: Literal["session_deleted"] = "session_deleted"
