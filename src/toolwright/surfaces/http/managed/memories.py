"""The memories of a store, and their versions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from toolwright.contracts.documents import Document, Wanted
from toolwright.memories.service import (
    VERSION,
    Actor,
    ContentChanged,
    Memories,
    MemoryChange,
    PathTaken,
)
from toolwright.surfaces.http.managed.dialect import stale
from toolwright.surfaces.http.managed.memory_shapes import (
    MemoryChangeGiven,
    MemoryDeleted,
    MemoryGiven,
    MemoryItem,
    MemoryQuery,
    MemoryShown,
    MemoryVersionShown,
    RemovalQuery,
    VersionQuery,
    ViewQuery,
)
from toolwright.surfaces.http.managed.memory_stores import store_of
from toolwright.surfaces.http.managed.pages import Page, cut, page_of, place
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Visit


@contextmanager
def _told() -> Iterator[None]:
    """Put conflicts into the words of this dialect; asking again heals none of them."""
    try:
        yield
    except PathTaken as taken:
        raise stale(str(taken), code="memory_path_conflict_error") from taken
    except ContentChanged as changed:
        raise stale(str(changed), code="memory_precondition_failed_error") from changed


def _by(visit: Visit) -> Actor:
    return Actor("key", visit.caller.key.key_id)


def _memories(visit: Visit) -> Memories:
    return visit.house.memories


# --- memories ---


async def create(visit: Visit) -> dict[str, Any]:
    """Make a memory."""
    given, asked, store = await visit.body(MemoryGiven), visit.query(ViewQuery), await store_of(visit)
    with _told():
        async with _memories(visit).turn(store.id):
            made = await _memories(visit).create(store, given.path, given.content or "", _by(visit))
    return await _shown(visit, made, full=asked.view == "full")


async def list_memories(visit: Visit) -> dict[str, Any]:
    """List the memories of a store by their paths; with ``depth`` 1 folders stand for deeper ones."""
    asked, store = visit.query(MemoryQuery), await store_of(visit)
    prefix = asked.path_prefix or "/"
    every = await _memories(visit).every(store)
    items = _folded(every, prefix, deep=asked.depth == 0)
    after = place(asked.page, kind=str)
    behind = [item for item in items if after is None or item[0] > str(after[0])]
    page = cut(behind, asked.limit, lambda item: item, lambda item: (item[0], ""))
    data = [
        {"type": "memory_prefix", "path": path}
        if memory is None
        else await _shown(visit, memory, full=asked.view == "full")
        for path, memory in page["data"]
    ]
    return {**page, "data": data}


def _folded(
    every: Mapping[str, Document], prefix: str, *, deep: bool
) -> Sequence[tuple[str, Document | None]]:
    """Return memories below a prefix in the order of their paths; None stands for all below a folder."""
    items: dict[str, Document | None] = {}
    for path, memory in every.items():
        if not path.startswith(prefix):
            continue
        head, folder, _ = path[len(prefix) :].partition("/")
        if deep or not folder:
            items[path] = memory
        else:
            items[f"{prefix}{head}/"] = None
    return sorted(items.items(), key=lambda item: item[0])


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a memory with its content."""
    asked, store = visit.query(ViewQuery), await store_of(visit)
    memory = await _memories(visit).look(store, visit.path("memory_id"))
    return await _shown(visit, memory, full=asked.view != "basic")


async def update(visit: Visit) -> dict[str, Any]:
    """Change the content or the path of a memory."""
    given, asked, store = await visit.body(MemoryChangeGiven), visit.query(ViewQuery), await store_of(visit)
    change = MemoryChange(
        path=given.path,
        content=given.content,
        expected=None if given.precondition is None else given.precondition.content_sha256,
    )
    with _told():
        async with _memories(visit).turn(store.id):
            memory = await _memories(visit).look(store, visit.path("memory_id"))
            changed = await _memories(visit).change(store, memory, change, _by(visit))
    return await _shown(visit, changed, full=asked.view == "full")


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a memory; its versions stay."""
    asked, store = visit.query(RemovalQuery), await store_of(visit)
    with _told():
        async with _memories(visit).turn(store.id):
            memory = await _memories(visit).look(store, visit.path("memory_id"))
            expected = asked.expected_content_sha256 or ""
            await _memories(visit).remove(store, memory, _by(visit), expected=expected)
    return {"id": memory.id, "type": "memory_deleted"}


async def _shown(visit: Visit, memory: Document, *, full: bool) -> dict[str, Any]:
    return {
        "id": memory.id,
        "type": "memory",
        "memory_store_id": memory.parent,
        "memory_version_id": memory.body["version_id"],
        "path": memory.name,
        "content": await _memories(visit).content_of(memory) if full else None,
        "content_sha256": memory.body["sha256"],
        "content_size_bytes": memory.body["size"],
        "created_at": written_time(memory.created_at),
        "updated_at": written_time(memory.updated_at),
    }


# --- versions ---


async def list_versions(visit: Visit) -> dict[str, Any]:
    """List the versions of a store's memories, the newest first; those of deleted ones too."""
    asked, store = visit.query(VersionQuery), await store_of(visit)
    actors = {"session": asked.session_id, "key": asked.api_key_id, "account": asked.service_account_id}
    named = {kind: id for kind, id in actors.items() if id is not None}
    if len(named) > 1:
        return {"data": [], "next_page": None}
    where: dict[str, str | int | bool | None] = {}
    for kind, id in named.items():
        where |= {"by.kind": kind, "by.id": id}
    for member in ("memory_id", "operation"):
        given = getattr(asked, member)
        where |= {} if given is None else {member: given}
    wanted = Wanted(
        parent=store.id,
        since=asked.since,
        until=asked.until,
        where=where,
        after=place(asked.page),
        limit=asked.limit,
    )
    full = asked.view == "full"
    return await page_of(
        visit.house.documents, visit.workspace, VERSION, wanted, lambda one: shown_version(one, full=full)
    )


async def retrieve_version(visit: Visit) -> dict[str, Any]:
    """Return a version with its content."""
    asked, store = visit.query(ViewQuery), await store_of(visit)
    version = await _memories(visit).version(store, visit.path("version_id"))
    return shown_version(version, full=asked.view != "basic")


async def redact(visit: Visit) -> dict[str, Any]:
    """Forget what a version held, for good; that it was there stays known."""
    store = await store_of(visit)
    async with _memories(visit).turn(store.id):
        version = await _memories(visit).version(store, visit.path("version_id"))
        return shown_version(await _memories(visit).redact(store, version, _by(visit)), full=True)


def shown_version(version: Document, *, full: bool) -> dict[str, Any]:
    """Return a version as it is shown."""
    body = version.body
    redacted = body["redacted_at"]
    return {
        "id": version.id,
        "type": "memory_version",
        "memory_store_id": version.parent,
        "memory_id": body["memory_id"],
        "operation": body["operation"],
        "path": body["path"],
        "content": body["content"] if full else None,
        "content_sha256": body["sha256"],
        "content_size_bytes": body["size"],
        "created_at": written_time(version.created_at),
        "created_by": _actor(body["by"]),
        "redacted_at": None if redacted is None else written_time(redacted),
        "redacted_by": _actor(body["redacted_by"]),
    }


def _actor(by: Mapping[str, str] | None) -> dict[str, str] | None:
    if by is None:
        return None
    if by["kind"] == "session":
        return {"type": "session_actor", "session_id": by["id"]}
    return {"type": "api_actor", "api_key_id": by["id"]}


_STORE: Final = "/v1/memory_stores/{memory_store_id}"
_ALL: Final = f"{_STORE}/memories"
_ONE: Final = f"{_ALL}/{{memory_id}}"
_VERSIONS: Final = f"{_STORE}/memory_versions"
_ONE_VERSION: Final = f"{_VERSIONS}/{{version_id}}"
_MOST: Final = 1024 * 1024
ROUTES: Final = (
    Route(
        method="POST", path=_ALL, handler=create, summary="Make a memory", group="memories",
        body=MemoryGiven, query=ViewQuery, returns=MemoryShown, scope="write", most=_MOST,
    ),
    Route(
        method="GET", path=_ALL, handler=list_memories, summary="List memories", group="memories",
        query=MemoryQuery, returns=Page[MemoryItem],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a memory", group="memories",
        query=ViewQuery, returns=MemoryShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change a memory", group="memories",
        body=MemoryChangeGiven, query=ViewQuery, returns=MemoryShown, scope="write", most=_MOST,
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a memory", group="memories",
        query=RemovalQuery, returns=MemoryDeleted, scope="write",
    ),
    Route(
        method="GET", path=_VERSIONS, handler=list_versions, summary="List versions of memories",
        group="memories", query=VersionQuery, returns=Page[MemoryVersionShown],
    ),
    Route(
        method="GET", path=_ONE_VERSION, handler=retrieve_version, summary="Get a version of a memory",
        group="memories", query=ViewQuery, returns=MemoryVersionShown,
    ),
    Route(
        method="POST", path=f"{_ONE_VERSION}/redact", handler=redact, summary="Forget what a version held",
        group="memories", returns=MemoryVersionShown, scope="write",
    ),
)  # fmt: skip
