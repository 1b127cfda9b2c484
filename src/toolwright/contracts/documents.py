"""What was defined over an interface and has to last: agents, environments, files, keys, each a document.

A document is data under an id. Its kind says what it is, and whoever keeps it what its body holds. Everything
belongs to one workspace; nothing of one is seen or changed from another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolwright.contracts.errors import ToolwrightError

DEFAULT_WORKSPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document as of one version."""

    kind: str
    id: str
    workspace: str = DEFAULT_WORKSPACE
    version: int = 1
    parent: str = ""
    """Id of what it is a part of: of the store a memory is in, of the skill a version is of."""
    name: str = ""
    """Where it is not empty, only one document of its kind, parent and workspace that is in use has it."""
    created_at: float = 0.0
    updated_at: float = 0.0
    archived_at: float | None = None
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which documents of a kind, and which part of the list."""

    parent: str | None = None
    """None: whatever they are part of."""
    name_prefix: str = ""
    archived: bool = False
    """Archived ones too."""
    since: float | None = None
    until: float | None = None
    """Created then or before."""
    where: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    """Members of the body that must have these values; dots lead into inner objects."""
    order: Literal["newest", "oldest", "name"] = "newest"
    after: "tuple[float | str, str] | None" = None
    """Behind the place of the last document of the part before: see ``place_of``."""
    limit: int = 100


EVERY = Wanted()


@dataclass(frozen=True, slots=True)
class Add:
    """A document that is new."""

    document: Document


@dataclass(frozen=True, slots=True)
class Replace:
    """A document in the place of the one with its kind, id and workspace; ``expected`` must be there."""

    document: Document
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """A document that goes, with its versions and all that is part of it; nothing where there is none."""

    workspace: str
    kind: str
    id: str


Change = Add | Replace | Remove


class VersionConflict(ToolwrightError):
    """The document is at another version than whoever changes it has seen."""

    def __init__(self, kind: str, id: str, *, expected: int, found: int) -> None:
        super().__init__(f"The {kind} {id} is at version {found}, not at {expected}.")
        self.expected = expected
        self.found = found


class NameTaken(ToolwrightError):
    """Another document in use has this name; ``other`` is its id."""

    def __init__(self, kind: str, name: str, other: str) -> None:
        super().__init__(f"There is a {kind} named {name!r} already: {other}.")
        self.other = other


class UnknownDocument(ToolwrightError):
    """There is no such document in this workspace."""


class DocumentStore(Protocol):
    """Keeps documents. Every verb may raise StoreUnavailable; what it returned from is durable."""

    async def add(self, document: Document) -> None:
        """Keep a new document, of an id that was never used. May raise NameTaken."""
        ...

    async def replace(
        self, document: Document, *, expected: int | None = None, versions: bool = False
    ) -> None:
        """Put a document in the place of the one with its kind, id and workspace.

        ``expected`` is the version that must be there. With ``versions`` the former one can still be read, as
        the version it was. May raise UnknownDocument, VersionConflict, NameTaken.
        """
        ...

    async def get(self, workspace: str, kind: str, id: str, *, version: int | None = None) -> Document | None:
        """Return a document, archived ones too; as of a version where that was kept."""
        ...

    async def list(self, workspace: str, kind: str, wanted: Wanted = EVERY) -> Sequence[Document]: ...

    async def versions(
        self, workspace: str, kind: str, id: str, *, before: int | None = None, limit: int = 100
    ) -> Sequence[Document]:
        """Return a document as of all its kept versions and the present one, the newest first."""
        ...

    async def remove(self, workspace: str, kind: str, id: str) -> bool:
        """Delete a document, its versions and all that is part of it. False when there is none."""
        ...

    async def change(self, *changes: Change) -> None:
        """Do all of these, in this order, or none of them.

        May raise NameTaken, UnknownDocument, VersionConflict, as the single verbs do.
        """
        ...

    async def find(self, kind: str, name: str) -> Sequence[Document]:
        """Return those of this name and kind that are in use, of every workspace: for keys."""
        ...

    async def close(self) -> None:
        """Safe to repeat."""
        ...


def place_of(document: Document, wanted: Wanted) -> "tuple[float | str, str]":
    """Return where a document stands in a list; ``Wanted.after`` takes it."""
    return (document.name if wanted.order == "name" else document.created_at, document.id)
