"""Skills: folders of instructions that agents can name, each kept in versions."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from anyio.to_thread import run_sync
from pydantic import Field
from starlette.responses import StreamingResponse

from toolwright.catalog.skill_archives import MOST_FILES, packed, unpacked
from toolwright.catalog.skill_files import SkillFiles, read_folder
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.documents import Add, Document, Remove, Replace, Wanted
from toolwright.contracts.ids import new_id
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.dialect import room
from toolwright.surfaces.http.managed.pages import Page, Written, page_of, place
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Query, Route, Shape, Visit
from toolwright.surfaces.http.uploads import bytes_in, field_of, files_of, form, one_piece, refuse_unknown

KIND: Final = "skill"
VERSION: Final = "skill_version"
LATEST: Final = "latest"
MOST_BYTES: Final = 30 * 1024 * 1024
_LONGEST_NAME: Final = 255


class VersionGiven(Shape):
    """A form that sends the files of a skill, or one archive of them."""

    files: Annotated[list[Annotated[str, Field(json_schema_extra={"format": "binary"})]], Field(min_length=1)]


class SkillGiven(VersionGiven):
    """A form that sends a new skill."""

    display_name: Annotated[str, Field(max_length=_LONGEST_NAME)] | None = None


class Source(Shape):
    """Where a skill comes from."""

    type: Literal["custom"] = "custom"


class SkillShown(Shape):
    """A skill."""

    id: str
    type: Literal["skill"] = "skill"
    display_name: str
    latest_version_id: str
    source: Source
    created_at: Written
    updated_at: Written


class VersionShown(Shape):
    """A skill as of one version."""

    id: str
    type: Literal["skill_version"] = "skill_version"
    skill_id: str
    name: str
    description: str
    created_at: Written


class SkillDeleted(Shape):
    id: str
    type: Literal["skill_deleted"] = "skill_deleted"


class VersionDeleted(Shape):
    id: str
    type: Literal["skill_version_deleted"] = "skill_version_deleted"


class VersionQuery(Query):
    """Which part of a list of versions."""

    limit: int = Field(20, ge=1, le=1_000)
    page: str | None = None


class SkillQuery(VersionQuery):
    """Which skills."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    skill: SkillFiles
    display_name: str | None


async def create(visit: Visit) -> dict[str, Any]:
    """Keep a new skill, at its first version."""
    sent = await _sent(visit, "display_name")
    now, id = visit.house.clock.now(), new_id("skill")
    version = await _kept(visit, sent.skill, id)
    skill = Document(
        kind=KIND,
        id=id,
        workspace=visit.workspace,
        created_at=now,
        updated_at=now,
        body={
            "display_name": sent.display_name or sent.skill.name,
            "name": sent.skill.name,
            "latest_version_id": version.id,
        },
    )
    await visit.house.documents.change(Add(skill), Add(version))
    return shown(skill)


async def _sent(visit: Visit, *fields: str) -> _Sent:
    """Read a form with a skill. May raise Problem."""
    async with form(visit.request, "files", most=MOST_BYTES, files=MOST_FILES) as given:
        refuse_unknown(given, "files", *fields)
        parts = files_of(given, "files")
        if not parts:
            raise Problem("invalid", "files: this field is required")
        display_name = field_of(given, "display_name")
        found: dict[str, bytes] = {}
        for part in parts:
            name = part.filename or ""
            if name in found:
                raise Problem("invalid", f"files: {name[:80]!r} stands here twice")
            found[name] = await bytes_in(part)
    if display_name is not None and (len(display_name) > _LONGEST_NAME or not display_name.isprintable()):
        raise Problem("invalid", f"display_name: one line of up to {_LONGEST_NAME} characters")
    try:
        return _Sent(await run_sync(_read, found), display_name)
    except WrittenWrongly as wrong:
        raise Problem("invalid", f"files: {wrong}") from None


def _read(found: dict[str, bytes]) -> SkillFiles:
    [first, *others] = found.values()
    is_archive = not others and first.startswith(b"PK")
    return read_folder(unpacked(first, most=MOST_BYTES) if is_archive else found)


async def _kept(visit: Visit, skill: SkillFiles, skill_id: str) -> Document:
    """Keep the files of a version; return what is to be noted of it. May raise Problem."""
    id, now = new_id("skver"), visit.house.clock.now()
    archive = await run_sync(packed, skill)
    with room():
        kept = await visit.house.files.keep(id, one_piece(archive))
    return Document(
        kind=VERSION,
        id=id,
        workspace=visit.workspace,
        parent=skill_id,
        created_at=now,
        updated_at=now,
        body={"name": skill.name, "description": skill.description, "sha256": kept.sha256},
    )


async def list_skills(visit: Visit) -> dict[str, Any]:
    """List skills, the newest first. All of them are custom."""
    asked = visit.query(SkillQuery)
    wanted = Wanted(after=place(asked.page), limit=asked.limit)
    if asked.source not in {None, "", "custom"}:
        return {"data": [], "next_page": None}
    return await page_of(visit.house.documents, visit.workspace, KIND, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a skill."""
    return shown(await _skill(visit))


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a skill with all its versions; sessions that have it keep it."""
    skill = await _skill(visit)
    async with visit.house.part(Desk).turns.of(skill.id):
        versions = await _versions(visit, skill.id)
        await visit.house.documents.remove(visit.workspace, KIND, skill.id)
        for version in versions:
            await visit.house.files.drop(version.id)
    return {"id": skill.id, "type": "skill_deleted"}


# --- versions ---


async def create_version(visit: Visit) -> dict[str, Any]:
    """Keep a new version of a skill; agents made from now on with its latest one have this one."""
    skill, sent = await _skill(visit), await _sent(visit)
    if sent.skill.name != skill.body["name"]:
        raise Problem("invalid", f"files: the skill is named {skill.body['name']}, which stays")
    async with visit.house.part(Desk).turns.of(skill.id):
        skill = await _skill(visit)
        version = await _kept(visit, sent.skill, skill.id)
        await visit.house.documents.change(Add(version), _leading_to(skill, version))
    return shown_version(version)


def _leading_to(skill: Document, version: Document) -> Replace:
    body = {**skill.body, "latest_version_id": version.id}
    moved = replace(skill, version=skill.version + 1, updated_at=version.created_at, body=body)
    return Replace(moved, skill.version)


async def list_versions(visit: Visit) -> dict[str, Any]:
    """List the versions of a skill, the newest first."""
    asked, skill = visit.query(VersionQuery), await _skill(visit)
    wanted = Wanted(parent=skill.id, after=place(asked.page), limit=asked.limit)
    return await page_of(visit.house.documents, visit.workspace, VERSION, wanted, shown_version)


async def retrieve_version(visit: Visit) -> dict[str, Any]:
    """Return a version of a skill; ``latest`` is the newest one."""
    return shown_version(await _version(visit))


async def download(visit: Visit) -> StreamingResponse:
    """Return a version of a skill as an archive."""
    version = await _version(visit)
    return StreamingResponse(
        visit.house.files.read(version.id),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{version.body["name"]}.zip"'},
    )


async def delete_version(visit: Visit) -> dict[str, Any]:
    """Delete a version of a skill; the last one stays until the skill goes."""
    asked = await _version(visit)
    async with visit.house.part(Desk).turns.of(asked.parent):
        skill = await _skill(visit)
        others = [one for one in await _versions(visit, skill.id) if one.id != asked.id]
        if not others:
            raise Problem("invalid", "A skill has at least one version; delete the skill instead.")
        changes = [_leading_to(skill, others[0])] if skill.body["latest_version_id"] == asked.id else []
        await visit.house.documents.change(Remove(visit.workspace, VERSION, asked.id), *changes)
        await visit.house.files.drop(asked.id)
    return {"id": asked.id, "type": "skill_version_deleted"}


# --- finding and showing ---


async def _skill(visit: Visit) -> Document:
    id = visit.path("skill_id")
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is None:
        raise Problem("not_found", f"There is no skill {id[:80]}.")
    return found


async def _version(visit: Visit) -> Document:
    skill, id = await _skill(visit), visit.path("version")
    known = skill.body["latest_version_id"] if id == LATEST else id
    found = await visit.house.documents.get(visit.workspace, VERSION, known)
    if found is None or found.parent != skill.id:
        raise Problem("not_found", f"There is no version {id[:80]} of the skill.")
    return found


async def _versions(visit: Visit, skill_id: str) -> list[Document]:
    wanted = Wanted(parent=skill_id, limit=100_000)
    return list(await visit.house.documents.list(visit.workspace, VERSION, wanted))


def shown(skill: Document) -> dict[str, Any]:
    """Return a skill as it is shown."""
    return {
        "id": skill.id,
        "type": "skill",
        "display_name": skill.body["display_name"],
        "latest_version_id": skill.body["latest_version_id"],
        "source": {"type": "custom"},
        "created_at": written_time(skill.created_at),
        "updated_at": written_time(skill.updated_at),
    }


def shown_version(version: Document) -> dict[str, Any]:
    """Return a version as it is shown."""
    return {
        "id": version.id,
        "type": "skill_version",
        "skill_id": version.parent,
        "name": version.body["name"],
        "description": version.body["description"],
        "created_at": written_time(version.created_at),
    }


_ALL: Final = "/v1/skills"
_ONE: Final = f"{_ALL}/{{skill_id}}"
_VERSIONS: Final = f"{_ONE}/versions"
_ONE_VERSION: Final = f"{_VERSIONS}/{{version}}"
ROUTES: Final = (
    Route(
        method="POST", path=_ALL, handler=create, summary="Send a skill", group="skills", body=SkillGiven,
        accepts="multipart/form-data", returns=SkillShown, scope="write",
    ),
    Route(
        method="GET", path=_ALL, handler=list_skills, summary="List skills", group="skills",
        query=SkillQuery, returns=Page[SkillShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a skill", group="skills", returns=SkillShown,
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a skill", group="skills",
        returns=SkillDeleted, scope="write",
    ),
    Route(
        method="POST", path=_VERSIONS, handler=create_version, summary="Send a version of a skill",
        group="skills", body=VersionGiven, accepts="multipart/form-data", returns=VersionShown,
        scope="write",
    ),
    Route(
        method="GET", path=_VERSIONS, handler=list_versions, summary="List versions of a skill",
        group="skills", query=VersionQuery, returns=Page[VersionShown],
    ),
    Route(
        method="GET", path=_ONE_VERSION, handler=retrieve_version, summary="Get a version of a skill",
        group="skills", returns=VersionShown,
    ),
    Route(
        method="GET", path=f"{_ONE_VERSION}/content", handler=download,
        summary="Get the files of a version", group="skills", media="application/zip",
    ),
    Route(
        method="DELETE", path=_ONE_VERSION, handler=delete_version, summary="Delete a version of a skill",
        group="skills", returns=VersionDeleted, scope="write",
    ),
)  # fmt: skip
