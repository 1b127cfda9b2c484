"""What a session was given, as it is shown."""

from typing import Annotated, Literal

from pydantic import Field

from toolwright.surfaces.http.managed.pages import Written
from toolwright.surfaces.http.routes import Query, Shape


class FileResource(Shape):
    """A file that lies in a session."""

    id: str
    type: Literal["file"] = "file"
    file_id: str
    mount_path: str
    created_at: Written
    updated_at: Written


class MemoryResource(Shape):
    """A memory store that a session uses."""

    id: str
    type: Literal["memory_store"] = "memory_store"
    memory_store_id: str
    access: Literal["read_write", "read_only"]
    name: str
    description: str
    instructions: str | None = None
    mount_path: str
    created_at: Written
    updated_at: Written


ResourceShown = Annotated[FileResource | MemoryResource, Field(discriminator="type")]


class ResourceQuery(Query):
    """Which part of the list; all of it where nothing is said."""

    limit: int = Field(1_000, ge=1, le=1_000)
    page: str | None = None


class ResourceChange(Shape):
    """A change of a resource."""

    authorization_token: str


class ResourceDeleted(Shape):
    id: str
    type: Literal["session_resource_deleted"] = "session_resource_deleted"


class ResourcePage(Shape):
    """A part of a list of resources."""

    data: list[ResourceShown]
    next_page: str | None = None
