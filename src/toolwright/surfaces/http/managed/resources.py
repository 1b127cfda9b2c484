"""What sessions are given: files, as copies of their own, and memory stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from toolwright.contracts.documents import Add, Change, Document, Remove, Wanted
from toolwright.contracts.ids import new_id
from toolwright.contracts.mounts import Mount
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.managed import files, memory_mounts, outputs, skill_mounts
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.dialect import room
from toolwright.surfaces.http.managed.mounting import (
    UPLOADS,
    check_apart,
    lay,
    make_folders,
    path_of,
    place_of,
    take_away,
    usual_mounts,
)
from toolwright.surfaces.http.managed.pages import page_of, place
from toolwright.surfaces.http.managed.resource_shapes import (
    ResourceChange,
    ResourceDeleted,
    ResourcePage,
    ResourceQuery,
    ResourceShown,
)
from toolwright.surfaces.http.managed.session_shapes import (
    FileMounted,
    MemoryMounted,
    RepositoryMounted,
    ResourceGiven,
)
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Visit

KIND: Final = "session_resource"
MOST_FILES: Final = 500
_STEP: Final = 1e-6
"""Seconds between what is given at once, so that lists keep the order."""


@dataclass(frozen=True, slots=True)
class Furnished:
    """What a session begins with."""

    changes: tuple[Change, ...]
    mounts: tuple[Mount, ...]
    skills: skill_mounts.Known


async def furnish(
    visit: Visit, session_id: str, given: Sequence[ResourceGiven], agents: Sequence[Mapping[str, Any]]
) -> Furnished:
    """Lay out what a session begins with: what it is given, and the skills that its agents name.

    May raise Problem, and nothing is left then.
    """
    found = await _files(visit, given)
    folder = visit.house.mounts_of(session_id)
    named = [(number, one) for number, one in enumerate(given) if isinstance(one, MemoryMounted)]
    stores = await memory_mounts.attached(visit, named, folder)
    skills = skill_mounts.told(await skill_mounts.found_skills(visit, agents))
    mounts = (*usual_mounts(visit.house, session_id), *(one.mount for one in stores))
    if skills:
        mounts = (*mounts, skill_mounts.mount_of(folder))
    await make_folders(mounts)
    at, changes = visit.house.clock.now(), list[Change]()
    changes += [
        Add(memory_mounts.resource(visit, session_id, KIND, one, at + number * _STEP))
        for (number, _), one in zip(named, stores, strict=True)
    ]
    try:
        await skill_mounts.lay_out(visit, skills, mounts[-1])
        await visit.house.memory_folders.settle(visit.workspace, session_id, mounts)
        for number, file, path in found:
            changes += await _laid(visit, session_id, file, path, at=at + number * _STEP)
    except BaseException:
        await visit.house.remove_mounts(session_id)
        raise
    return Furnished(tuple(changes), mounts, skills)


async def _files(visit: Visit, given: Sequence[ResourceGiven]) -> list[tuple[int, Document, str]]:
    """Return the files that a session is given, each with its place in the list and its path."""
    found: list[tuple[int, Document, str]] = []
    for number, one in enumerate(given):
        if isinstance(one, RepositoryMounted):
            raise Problem(
                "invalid",
                f"resources.{number}: repositories are not fetched here; let the agent clone it, or send "
                "its files in",
            )
        if isinstance(one, FileMounted):
            file = await files.source_of(visit, one.file_id, f"resources.{number}.file_id")
            found.append((number, file, path_of(one.mount_path, one.file_id)))
    if len(found) > MOST_FILES:
        raise Problem("invalid", f"resources: at most {MOST_FILES} files")
    check_apart([path for _, _, path in found])
    return found


async def _laid(visit: Visit, session_id: str, file: Document, path: str, *, at: float) -> tuple[Add, Add]:
    """Put a file into a session; return what is to be noted: the copy, and the resource."""
    where = place_of(visit.house, session_id, path)
    with room():
        if file.kind == files.KIND:
            await visit.house.files.copy_to(file.id, where)
        else:
            await lay(where, files.contents(visit, file))
    copy = replace(
        file,
        kind=outputs.KIND,
        id=new_id("file"),
        parent=session_id,
        name="",
        created_at=at,
        updated_at=at,
        body={**file.body, "origin": outputs.COPY, "expires_at": None, "expires": False},
    )
    resource = Document(
        kind=KIND,
        id=new_id("sesrsc"),
        workspace=visit.workspace,
        parent=session_id,
        name=path,
        created_at=at,
        updated_at=at,
        body={"type": "file", "file_id": copy.id, "mount_path": path},
    )
    return Add(copy), Add(resource)


# --- the resources of a session that is there ---


async def add(visit: Visit) -> dict[str, Any]:
    """Put a file into a session; it is there at once, also while the session runs."""
    given = await visit.body(FileMounted)
    session = await _session(visit)
    if session.archived_at is not None:
        raise Problem("invalid", "The session is archived.")
    file = await files.source_of(visit, given.file_id, "file_id")
    path = path_of(given.mount_path, given.file_id)
    async with visit.house.part(Desk).turns.of(session.id):
        there = await every(visit.house, visit.workspace, session.id)
        held = [one.name for one in there if one.body["type"] == "file"]
        if len(held) >= MOST_FILES:
            raise Problem("invalid", f"A session holds at most {MOST_FILES} files.")
        check_apart([*held, path])
        await make_folders(usual_mounts(visit.house, session.id))
        await take_away(place_of(visit.house, session.id, path))  # left behind by a crash: nobody knows it
        at = visit.house.clock.now()
        changes = await _laid(visit, session.id, file, path, at=at)
        await visit.house.documents.change(*changes)
    return shown(changes[1].document)


async def list_resources(visit: Visit) -> dict[str, Any]:
    """List what a session was given, in the order in which it was."""
    asked, session = visit.query(ResourceQuery), await _session(visit)
    wanted = Wanted(parent=session.id, order="oldest", after=place(asked.page), limit=asked.limit)
    return await page_of(visit.house.documents, visit.workspace, KIND, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return one thing that a session was given."""
    return shown(await _resource(visit))


async def update(visit: Visit) -> dict[str, Any]:
    """Change the token of a resource, where it has one."""
    await visit.body(ResourceChange)
    resource = await _resource(visit)
    raise Problem("invalid", f"authorization_token: a {resource.body['type']} has none")


async def delete(visit: Visit) -> dict[str, Any]:
    """Take a file out of a session."""
    resource = await _resource(visit)
    if resource.body["type"] != "file":
        raise Problem("invalid", f"A {resource.body['type']} stays for as long as the session.")
    async with visit.house.part(Desk).turns.of(resource.parent):
        await take_away(place_of(visit.house, resource.parent, resource.name))
        await visit.house.documents.change(
            Remove(visit.workspace, KIND, resource.id),
            Remove(visit.workspace, outputs.KIND, resource.body["file_id"]),
        )
    return {"id": resource.id, "type": "session_resource_deleted"}


async def every(house: House, workspace: str, session_id: str) -> Sequence[Document]:
    """Return all that a session was given."""
    return await house.documents.list(workspace, KIND, Wanted(parent=session_id, order="oldest", limit=1_000))


async def all_shown(house: House, workspace: str, session_id: str) -> list[dict[str, Any]]:
    """Return all that a session was given, as it is shown."""
    return [shown(one) for one in await every(house, workspace, session_id)]


async def sessions_with(visit: Visit, memory_store_id: str) -> frozenset[str]:
    """Return the ids of the sessions that have a memory store."""
    wanted = Wanted(where={"memory_store_id": memory_store_id}, limit=100_000)
    found = await visit.house.documents.list(visit.workspace, KIND, wanted)
    return frozenset(one.parent for one in found)


def shown(resource: Document) -> dict[str, Any]:
    """Return a resource as it is shown."""
    return {
        "id": resource.id,
        **resource.body,
        "created_at": written_time(resource.created_at),
        "updated_at": written_time(resource.updated_at),
    }


async def _session(visit: Visit) -> Document:
    id = visit.path("session_id")
    found = await visit.house.documents.get(visit.workspace, "session", id)
    if found is None:
        raise Problem("not_found", f"There is no session {id[:80]}.")
    return found


async def _resource(visit: Visit) -> Document:
    session, id = await _session(visit), visit.path("resource_id")
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is None or found.parent != session.id:
        raise Problem("not_found", f"There is no resource {id[:80]} in the session.")
    return found


__all__ = ["KIND", "ROUTES", "UPLOADS", "Furnished", "all_shown", "every", "furnish"]
_ALL: Final = "/v1/sessions/{session_id}/resources"
_ONE: Final = f"{_ALL}/{{resource_id}}"
ROUTES: Final = (
    Route(
        method="POST", path=_ALL, handler=add, summary="Put a file into a session", group="resources",
        body=FileMounted, returns=ResourceShown, scope="write",
    ),
    Route(
        method="GET", path=_ALL, handler=list_resources, summary="List what a session was given",
        group="resources", query=ResourceQuery, returns=ResourcePage,
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get one thing that a session was given",
        group="resources", returns=ResourceShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change the token of a resource",
        group="resources", body=ResourceChange, returns=ResourceShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Take a file out of a session",
        group="resources", returns=ResourceDeleted, scope="write",
    ),
)  # fmt: skip
