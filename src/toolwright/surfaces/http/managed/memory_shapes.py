"""Memory stores, memories and their versions, as they are written and as they are shown."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from toolwright.surfaces.http.managed.agent_shapes import Metadata, checked_metadata
from toolwright.surfaces.http.managed.pages import DatedQuery, Moment, Written
from toolwright.surfaces.http.routes import Query, Shape

View = Literal["basic", "full"]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
MOST_FULL = 20


def _one_line(name: str | None) -> str | None:
    if name is not None and any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in name):
        raise ValueError("a name holds no control characters")
    return name


class StoreGiven(Shape):
    """A new memory store."""

    name: str = Field(min_length=1, max_length=255)
    description: str | None = Field(None, max_length=1_024)
    metadata: Metadata | None = None

    _named = field_validator("name")(_one_line)

    @field_validator("metadata")
    @classmethod
    def _short(cls, value: Metadata | None) -> Metadata | None:
        checked_metadata(value or {})
        return value


class StoreChange(Shape):
    """A change of a memory store: what is left out stays."""

    name: str | None = Field(None, min_length=1, max_length=255)
    description: str | None = Field(None, max_length=1_024)
    metadata: dict[str, str | None] | None = None

    _named = field_validator("name")(_one_line)

    @model_validator(mode="after")
    def _keeps_its_name(self) -> Self:
        if "name" in self.model_fields_set and self.name is None:
            raise ValueError("name: cannot be cleared")
        return self


class StoreShown(Shape):
    """A memory store."""

    id: str
    type: Literal["memory_store"] = "memory_store"
    name: str
    description: str
    metadata: Metadata
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None


class StoreDeleted(Shape):
    id: str
    type: Literal["memory_store_deleted"] = "memory_store_deleted"


class StoreQuery(DatedQuery):
    """Which memory stores."""


class MemoryGiven(Shape):
    """A new memory."""

    path: str
    content: str | None


class Precondition(Shape):
    """What must be so for a change to be made."""

    type: Literal["content_sha256"]
    content_sha256: Digest


class MemoryChangeGiven(Shape):
    """A change of a memory: what is left out stays."""

    path: str | None = None
    content: str | None = None
    precondition: Precondition | None = None


class ViewQuery(Query):
    """Whether contents are shown."""

    view: View | None = None


class RemovalQuery(Query):
    """What must be so for a memory to be deleted."""

    expected_content_sha256: Digest | None = None


class MemoryQuery(ViewQuery):
    """Which memories of a store."""

    limit: int = Field(20, ge=1, le=100)
    page: str | None = None
    path_prefix: str | None = None
    depth: Literal[0, 1] = 0

    @field_validator("depth", mode="before")
    @classmethod
    def _number(cls, given: object) -> object:
        return int(given) if isinstance(given, str) and given.isascii() and given.isdigit() else given

    @model_validator(mode="after")
    def _fits(self) -> Self:
        prefix = self.path_prefix
        if prefix and not (prefix.startswith("/") and prefix.endswith("/")):
            raise ValueError("path_prefix: begins and ends with /")
        refuse_too_many(self.limit, self.view)
        return self


class VersionQuery(ViewQuery):
    """Which versions of the memories of a store."""

    limit: int = Field(20, ge=1, le=100)
    page: str | None = None
    memory_id: str | None = None
    operation: Literal["created", "modified", "deleted"] | None = None
    session_id: str | None = None
    api_key_id: str | None = None
    service_account_id: str | None = None
    since: Moment | None = Field(None, alias="created_at[gte]")
    until: Moment | None = Field(None, alias="created_at[lte]")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        refuse_too_many(self.limit, self.view)
        return self


def refuse_too_many(limit: int, view: View | None) -> None:
    """Raise ValueError for more than can be shown with contents."""
    if view == "full" and limit > MOST_FULL:
        raise ValueError(f"limit: at most {MOST_FULL} with view=full")


class MemoryShown(Shape):
    """A memory."""

    id: str
    type: Literal["memory"] = "memory"
    memory_store_id: str
    memory_version_id: str
    path: str
    content: str | None = None
    content_sha256: str
    content_size_bytes: int
    created_at: Written
    updated_at: Written


class MemoryPrefix(Shape):
    """Memories that lie deeper."""

    type: Literal["memory_prefix"] = "memory_prefix"
    path: str


MemoryItem = Annotated[MemoryShown | MemoryPrefix, Field(discriminator="type")]


class MemoryDeleted(Shape):
    id: str
    type: Literal["memory_deleted"] = "memory_deleted"


class SessionActor(Shape):
    type: Literal["session_actor"] = "session_actor"
    session_id: str


class KeyActor(Shape):
    type: Literal["api_actor"] = "api_actor"
    api_key_id: str


ActorShown = Annotated[SessionActor | KeyActor, Field(discriminator="type")]


class MemoryVersionShown(Shape):
    """A version of a memory."""

    id: str
    type: Literal["memory_version"] = "memory_version"
    memory_store_id: str
    memory_id: str
    operation: Literal["created", "modified", "deleted"]
    path: str | None = None
    content: str | None = None
    content_sha256: str | None = None
    content_size_bytes: int | None = None
    created_at: Written
    created_by: ActorShown | None = None
    redacted_at: Written | None = None
    redacted_by: ActorShown | None = None
