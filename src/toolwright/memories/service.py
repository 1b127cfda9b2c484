"""The memories of a store: made, changed, removed; each change is kept as a version that says who made it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from toolwright.contracts.documents import Add, Document, DocumentStore, Remove, Replace, Wanted
from toolwright.contracts.errors import NotPossible, ToolwrightError
from toolwright.contracts.ids import new_id
from toolwright.contracts.ports import Clock
from toolwright.memories.rules import (
    MOST_MEMORIES,
    UnfitMemory,
    check_content,
    check_path,
    conflicting,
    sha256,
)

STORE: Final = "memory_store"
MEMORY: Final = "memory"
VERSION: Final = "memory_version"
Operation = Literal["created", "modified", "deleted"]


class PathTaken(ToolwrightError):
    """Another memory has the path, or it and this one would lie inside one another."""

    def __init__(self, path: str, other: str) -> None:
        super().__init__(f"path: {path} cannot be taken while there is a memory at {other}")
        self.other = other


class ContentChanged(ToolwrightError):
    """The memory is another one than whoever changes it has seen."""


class UnknownMemory(ToolwrightError):
    """There is no such memory, version or store."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change."""

    kind: Literal["key", "session"]
    id: str

    def written(self) -> dict[str, str]:
        return {"kind": self.kind, "id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChange:
    """What shall be another way. None: as it is."""

    path: str | None = None
    content: str | None = None
    expected: str | None = None
    """Digest of the content that must be there."""


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Memories:
    """All memories of a server. Verbs may raise StoreUnavailable; what they returned from is durable."""

    def __init__(self, documents: DocumentStore, clock: Clock) -> None:
        self.documents = documents
        self._clock = clock
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def turn(self, store_id: str) -> AsyncIterator[None]:
        """Wait until nobody else changes this store."""
        turn = self._turns.setdefault(store_id, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                self._turns.pop(store_id, None)

    # --- changing; each within the turn of the store ---

    async def create(self, store: Document, path: str, content: str, by: Actor) -> Document:
        """Make a memory. May raise UnfitMemory, PathTaken, NotPossible."""
        check_path(path)
        check_content(content)
        taken = await self.every(store)
        await self._refuse_archived(store)
        self._refuse_taken(path, taken)
        if len(taken) >= MOST_MEMORIES:
            raise NotPossible(f"A store holds up to {MOST_MEMORIES:,} memories.")
        now = self._clock.now()
        memory = Document(
            kind=MEMORY,
            id=new_id("mem"),
            workspace=store.workspace,
            parent=store.id,
            name=path,
            created_at=now,
            updated_at=now,
        )
        memory, version = self._versioned(memory, "created", content, by)
        await self.documents.change(Add(memory), Add(version))
        return memory

    async def change(self, store: Document, memory: Document, change: MemoryChange, by: Actor) -> Document:
        """Change content, path or both of a memory; nothing is kept of a change that changes nothing.

        May raise UnfitMemory, PathTaken, ContentChanged, NotPossible, UnknownMemory.
        """
        if change.path is not None:
            check_path(change.path)
        if change.content is not None:
            check_content(change.content)
        await self._refuse_archived(store)
        memory = await self.look(store, memory.id)
        _refuse_other(memory, change.expected)
        path = memory.name if change.path is None else change.path
        content = await self.content_of(memory) if change.content is None else change.content
        if (path, sha256(content)) == (memory.name, memory.body["sha256"]):
            return memory
        if path != memory.name:
            taken = await self.every(store)
            del taken[memory.name]
            self._refuse_taken(path, taken)
        moved = replace(memory, name=path, version=memory.version + 1, updated_at=self._clock.now())
        moved, version = self._versioned(moved, "modified", content, by)
        await self.documents.change(Replace(moved, memory.version), Add(version))
        return moved

    async def remove(self, store: Document, memory: Document, by: Actor, *, expected: str = "") -> None:
        """Remove a memory; its versions stay. May raise ContentChanged, UnknownMemory."""
        memory = await self.look(store, memory.id)
        _refuse_other(memory, expected or None)
        _, version = self._versioned(memory, "deleted", None, by)
        await self.documents.change(Remove(store.workspace, MEMORY, memory.id), Add(version))

    async def redact(self, store: Document, version: Document, by: Actor) -> Document:
        """Forget what a version held, for good. May raise NotPossible for the one that a memory has now."""
        memory = await self.documents.get(store.workspace, MEMORY, version.body["memory_id"])
        if memory is not None and memory.body["version_id"] == version.id:
            raise NotPossible("This is what the memory holds now; change or delete the memory first.")
        if version.body["redacted_at"] is not None:
            return version
        gone = {"path": None, "content": None, "sha256": None, "size": None}
        redacted = {"redacted_at": self._clock.now(), "redacted_by": by.written()}
        new = replace(version, body={**version.body, **gone, **redacted})
        await self.documents.replace(new)
        return new

    # --- looking ---

    async def every(self, store: Document) -> dict[str, Document]:
        """Return all memories of a store by their paths, in the order of these."""
        wanted = Wanted(parent=store.id, order="name", limit=MOST_MEMORIES + 1)
        found = await self.documents.list(store.workspace, MEMORY, wanted)
        return {memory.name: memory for memory in found}

    async def look(self, store: Document, id: str) -> Document:
        """Return a memory. May raise UnknownMemory."""
        found = await self.documents.get(store.workspace, MEMORY, id)
        if found is None or found.parent != store.id:
            raise UnknownMemory(f"There is no memory {id[:80]} in the store.")
        return found

    async def version(self, store: Document, id: str) -> Document:
        """Return a version. May raise UnknownMemory."""
        found = await self.documents.get(store.workspace, VERSION, id)
        if found is None or found.parent != store.id:
            raise UnknownMemory(f"There is no version {id[:80]} in the store.")
        return found

    async def content_of(self, memory: Document) -> str:
        """Return the text of a memory. May raise UnknownMemory."""
        found = await self.documents.get(memory.workspace, VERSION, memory.body["version_id"])
        if found is None or not isinstance(found.body["content"], str):
            raise UnknownMemory(f"What the memory {memory.id} holds is gone.")
        return found.body["content"]

    # --- parts ---

    async def _refuse_archived(self, store: Document) -> None:
        now = await self.documents.get(store.workspace, STORE, store.id)
        if now is None:
            raise UnknownMemory(f"There is no memory store {store.id}.")
        if now.archived_at is not None:
            raise NotPossible("The memory store is archived; nothing is written to it any more.")

    def _refuse_taken(self, path: str, taken: Mapping[str, Document]) -> None:
        other = conflicting(path, taken.keys())
        if other is not None:
            raise PathTaken(path, other)

    def _versioned(
        self, memory: Document, operation: Operation, content: str | None, by: Actor
    ) -> tuple[Document, Document]:
        """Return a memory that has a new version, and that version."""
        now = self._clock.now()
        digest = None if content is None else sha256(content)
        size = None if content is None else len(content.encode())
        version = Document(
            kind=VERSION,
            id=new_id("memver"),
            workspace=memory.workspace,
            parent=memory.parent,
            created_at=now,
            updated_at=now,
            body={
                "memory_id": memory.id,
                "operation": operation,
                "path": memory.name,
                "content": content,
                "sha256": digest,
                "size": size,
                "by": by.written(),
                "redacted_at": None,
                "redacted_by": None,
            },
        )
        return replace(memory, body={"sha256": digest, "size": size, "version_id": version.id}), version


def _refuse_other(memory: Document, expected: str | None) -> None:
    if expected is not None and expected != memory.body["sha256"]:
        raise ContentChanged(f"The content of {memory.name} is another one than expected.")


__all__ = [
    "MEMORY",
    "STORE",
    "VERSION",
    "Actor",
    "ContentChanged",
    "Memories",
    "MemoryChange",
    "PathTaken",
    "UnfitMemory",
    "UnknownMemory",
]
