"""The memory stores of a session: each a folder that is kept in step with what is in the store."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwright.contracts.documents import Document
from toolwright.contracts.ids import new_id
from toolwright.contracts.mounts import Mount
from toolwright.memories.rules import slug
from toolwright.memories.service import STORE
from toolwright.surfaces.http.managed.session_shapes import MemoryMounted
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Visit

FOLDER: Final = "/mnt/memory"
MOST: Final = 8
_WRITABLE: Final = "Notes that outlast this session. What you write here you find again in later ones."
_READ_ONLY: Final = "Notes from elsewhere, to be read."


@dataclass(frozen=True, slots=True)
class Attached:
    """A store that a session begins with."""

    mount: Mount
    body: dict[str, Any]
    """Of the resource."""


async def attached(visit: Visit, given: Sequence[tuple[int, MemoryMounted]], folder: str) -> list[Attached]:
    """Return the stores of a session; ``folder`` holds what is mounted for it. May raise Problem."""
    if len(given) > MOST:
        raise Problem("invalid", f"resources: at most {MOST} memory stores")
    found: list[Attached] = []
    taken: set[str] = set()
    for number, one in given:
        store = await visit.house.documents.get(visit.workspace, STORE, one.memory_store_id)
        if store is None:
            raise Problem("invalid", f"resources.{number}.memory_store_id: there is no such memory store")
        if store.archived_at is not None:
            raise Problem("invalid", f"resources.{number}.memory_store_id: it is archived")
        if any(other.mount.source == store.id for other in found):
            raise Problem("invalid", f"resources.{number}.memory_store_id: it stands here twice")
        name = _free(slug(store.body["name"]), taken)
        taken.add(name)
        found.append(Attached(_mount(store, one, name, folder), _body(store, one, name)))
    return found


def _free(name: str, taken: set[str]) -> str:
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, MOST + 2))
    return next(one for one in numbered if one not in taken)


def _mount(store: Document, given: MemoryMounted, name: str, folder: str) -> Mount:
    writable = given.access == "read_write"
    told = [_WRITABLE if writable else _READ_ONLY, store.body["description"], given.instructions or ""]
    return Mount(
        path=f"{FOLDER}/{name}",
        folder=os.path.join(folder, "memory", name),
        writable=writable,
        about=" ".join(text for text in told if text),
        source=store.id,
    )


def _body(store: Document, given: MemoryMounted, name: str) -> dict[str, Any]:
    return {
        "type": "memory_store",
        "memory_store_id": store.id,
        "access": given.access,
        "name": store.body["name"],
        "description": store.body["description"],
        "instructions": given.instructions,
        "mount_path": f"{FOLDER}/{name}",
    }


def resource(visit: Visit, session_id: str, kind: str, one: Attached, at: float) -> Document:
    """Return what is noted of a store that a session has."""
    return Document(
        kind=kind,
        id=new_id("sesrsc"),
        workspace=visit.workspace,
        parent=session_id,
        name=one.mount.path,
        created_at=at,
        updated_at=at,
        body=one.body,
    )


async def settle(visit: Visit, session_id: str) -> None:
    """Bring the stores of a session in step with its folders."""
    created = (await visit.house.works.sessions.state(session_id)).created
    await visit.house.memory_folders.settle(created.workspace, session_id, created.mounts)
