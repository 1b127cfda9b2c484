"""Memory stores: made, changed, archived, deleted with all that is in them."""

from dataclasses import replace
from typing import Any, Final

from toolwright.contracts.documents import Document, Wanted
from toolwright.contracts.ids import new_id
from toolwright.memories.service import STORE
from toolwright.surfaces.http.managed.agent_shapes import checked_metadata
from toolwright.surfaces.http.managed.memory_shapes import (
    StoreChange,
    StoreDeleted,
    StoreGiven,
    StoreQuery,
    StoreShown,
)
from toolwright.surfaces.http.managed.pages import Page, page_of, place
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Visit


async def create(visit: Visit) -> dict[str, Any]:
    """Make a memory store."""
    given, now = await visit.body(StoreGiven), visit.house.clock.now()
    body = {
        "name": given.name,
        "description": given.description or "",
        "metadata": given.metadata or {},
    }
    store = Document(
        kind=STORE,
        id=new_id("memstore"),
        workspace=visit.workspace,
        created_at=now,
        updated_at=now,
        body=body,
    )
    await visit.house.documents.add(store)
    return shown(store)


async def list_stores(visit: Visit) -> dict[str, Any]:
    """List memory stores, the newest first."""
    asked = visit.query(StoreQuery)
    wanted = Wanted(
        archived=asked.include_archived,
        since=asked.since,
        until=asked.until,
        after=place(asked.page),
        limit=asked.limit,
    )
    return await page_of(visit.house.documents, visit.workspace, STORE, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a memory store."""
    return shown(await store_of(visit))


async def update(visit: Visit) -> dict[str, Any]:
    """Change what is said of a memory store; sessions that have it keep what they began with."""
    change, store = await visit.body(StoreChange), await store_of(visit)
    if store.archived_at is not None:
        raise Problem("invalid", "The memory store is archived.")
    body = dict(store.body)
    if change.name is not None:
        body["name"] = change.name
    if "description" in change.model_fields_set:
        body["description"] = change.description or ""
    if change.metadata is not None:
        merged = {**body["metadata"], **change.metadata}
        body["metadata"] = {key: value for key, value in merged.items() if value is not None}
        _check(body["metadata"])
    if body == store.body:
        return shown(store)
    new = replace(store, body=body, version=store.version + 1, updated_at=visit.house.clock.now())
    await visit.house.documents.replace(new, expected=store.version)
    return shown(new)


def _check(metadata: dict[str, str]) -> None:
    try:
        checked_metadata(metadata)
    except ValueError as wrong:
        raise Problem("invalid", f"metadata: {wrong}") from None


async def archive(visit: Visit) -> dict[str, Any]:
    """Archive a memory store: what is in it stays readable, and no session begins with it any more."""
    id = visit.path("memory_store_id")
    async with visit.house.memories.turn(id):
        store = await store_of(visit)
        if store.archived_at is None:
            at = visit.house.clock.now()
            store = replace(store, archived_at=at, updated_at=at, version=store.version + 1)
            await visit.house.documents.replace(store)
    return shown(store)


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a memory store with its memories and their versions."""
    id = visit.path("memory_store_id")
    async with visit.house.memories.turn(id):
        store = await store_of(visit)
        await visit.house.documents.remove(visit.workspace, STORE, store.id)
    return {"id": store.id, "type": "memory_store_deleted"}


async def store_of(visit: Visit) -> Document:
    """Return the memory store that a path names. May raise Problem."""
    id = visit.path("memory_store_id")
    found = await visit.house.documents.get(visit.workspace, STORE, id)
    if found is None:
        raise Problem("not_found", f"There is no memory store {id[:80]}.")
    return found


def shown(store: Document) -> dict[str, Any]:
    """Return a memory store as it is shown."""
    archived = store.archived_at
    return {
        "id": store.id,
        "type": "memory_store",
        **store.body,
        "created_at": written_time(store.created_at),
        "updated_at": written_time(store.updated_at),
        "archived_at": None if archived is None else written_time(archived),
    }


_ALL: Final = "/v1/memory_stores"
_ONE: Final = f"{_ALL}/{{memory_store_id}}"
ROUTES: Final = (
    Route(
        method="POST", path=_ALL, handler=create, summary="Make a memory store", group="memory stores",
        body=StoreGiven, returns=StoreShown, scope="write",
    ),
    Route(
        method="GET", path=_ALL, handler=list_stores, summary="List memory stores", group="memory stores",
        query=StoreQuery, returns=Page[StoreShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a memory store", group="memory stores",
        returns=StoreShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change a memory store", group="memory stores",
        body=StoreChange, returns=StoreShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a memory store", group="memory stores",
        returns=StoreDeleted, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="Archive a memory store",
        group="memory stores", returns=StoreShown, scope="write",
    ),
)  # fmt: skip
