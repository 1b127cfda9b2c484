"""Files: sent in by clients, listed, deleted; and those that sessions have written for them."""

import mimetypes
import re
import unicodedata
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from pydantic import Field, model_validator
from starlette.responses import StreamingResponse

from toolwright.contracts.documents import Document, Replace, Wanted
from toolwright.contracts.ids import new_id
from toolwright.surfaces.http.managed import outputs
from toolwright.surfaces.http.managed.dialect import room
from toolwright.surfaces.http.managed.pages import Page, Written, page_of, place
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Query, Route, Shape, Visit, read
from toolwright.surfaces.http.uploads import field_of, files_of, form, pieces, refuse_unknown

KIND: Final = "file"
MOST_BYTES: Final = 500 * 1024 * 1024
_MOST_IDS: Final = 100
_LONGEST_NAME: Final = 255
_UNFIT: Final = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}")
_ANY: Final = "application/octet-stream"
_SWEPT: Final = 1_000


class FileGiven(Shape):
    """A form that sends a file."""

    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]
    expires_in_seconds: int | None = Field(None, ge=3_600, le=7_776_000)


class Scope(Shape):
    """What a file belongs to."""

    type: Literal["session"] = "session"
    id: str


class FileShown(Shape):
    """A file."""

    id: str
    type: Literal["file"] = "file"
    filename: str
    mime_type: str
    size_bytes: int
    created_at: Written
    downloadable: bool
    expires_at: Written | None = None
    scope: Scope | None = None


class FileDeleted(Shape):
    id: str
    type: Literal["file_deleted"] = "file_deleted"


class FileQuery(Query):
    """Which files."""

    limit: int | None = Field(None, ge=1, le=1_000)
    page: str | None = None
    scope_id: str | None = None
    ids: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> "FileQuery":
        if self.ids and (self.limit is not None or self.page is not None):
            raise ValueError("ids: goes without page and limit")
        if len(set(self.ids)) > _MOST_IDS:
            raise ValueError(f"ids: at most {_MOST_IDS}")
        return self


async def upload(visit: Visit) -> dict[str, Any]:
    """Keep a file that a client sends."""
    await _sweep(visit)
    with room():
        async with form(visit.request, "file", most=MOST_BYTES) as given:
            refuse_unknown(given, "file", "expires_in_seconds")
            sent = files_of(given, "file")
            if len(sent) != 1:
                raise Problem("invalid", "file: this field is required")
            expires = field_of(given, "expires_in_seconds")
            asked = read(FileGiven, {"file": "", **({} if not expires else {"expires_in_seconds": expires})})
            media = _media(sent[0].content_type, sent[0].filename or "")
            name = _name(sent[0].filename or "", media)
            id, now = new_id("file"), visit.house.clock.now()
            kept = await visit.house.files.keep(id, pieces(sent[0]))
    seconds = asked.expires_in_seconds
    body = {
        "filename": name,
        "mime_type": media,
        "size_bytes": kept.size,
        "sha256": kept.sha256,
        "expires_at": None if seconds is None else now + seconds,
        "expires": seconds is not None,
    }
    document = Document(
        kind=KIND, id=id, workspace=visit.workspace, created_at=now, updated_at=now, body=body
    )
    await visit.house.documents.add(document)
    return shown(document)


async def list_files(visit: Visit) -> dict[str, Any]:
    """List the files that were sent in, or those that a session has written; the newest first."""
    asked = visit.query(FileQuery)
    if asked.ids:
        found = [await _found(visit, id) for id in dict.fromkeys(asked.ids)]
        there = [file for file in found if file is not None]
        if asked.scope_id is not None:
            there = [file for file in there if file.parent == asked.scope_id]
        return {"data": [shown(file) for file in there], "next_page": None}
    wanted = Wanted(after=place(asked.page), limit=asked.limit or 20)
    if asked.scope_id is None:
        return await page_of(visit.house.documents, visit.workspace, KIND, wanted, shown)
    if asked.page is None:
        await outputs.look(visit.house, visit.workspace, asked.scope_id)
    wanted = Wanted(
        after=wanted.after, limit=wanted.limit, parent=asked.scope_id, where={"origin": outputs.ORIGIN}
    )
    return await page_of(visit.house.documents, visit.workspace, outputs.KIND, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return what is known of a file."""
    return shown(await file_of(visit, visit.path("file_id")))


async def download(visit: Visit) -> StreamingResponse:
    """Return a file that a session has written. What a client sent in is not sent back."""
    file = await file_of(visit, visit.path("file_id"))
    if await is_gone(visit, file):
        raise Problem("not_found", "The file has expired.", code="file_expired")
    if not _is_output(file):
        raise Problem(
            "invalid", "Only files that a session has written are sent.", code="file_not_downloadable"
        )
    return StreamingResponse(
        await outputs.opened(visit.house, file),
        media_type=file.body["mime_type"],
        headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(file.body['filename'])}"},
    )


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a file; sessions keep their copies of it."""
    file = await file_of(visit, visit.path("file_id"))
    if file.kind == KIND:
        await visit.house.documents.remove(visit.workspace, KIND, file.id)
        await visit.house.files.drop(file.id)
    elif _is_output(file):
        await outputs.delete(visit.house, file)
    else:
        raise Problem("invalid", "It is a session's copy; delete the resource of the session instead.")
    return {"id": file.id, "type": "file_deleted"}


async def file_of(visit: Visit, id: str) -> Document:
    """Return a file. May raise Problem."""
    found = await _found(visit, id)
    if found is None:
        raise Problem("not_found", f"There is no file {id[:80]}.")
    return found


async def source_of(visit: Visit, id: str, where: str) -> Document:
    """Return a file whose content can be used; ``where`` is what names it. May raise Problem."""
    file = await _found(visit, id)
    if file is None:
        raise Problem("invalid", f"{where}: there is no file {id[:80]}")
    if file.kind == outputs.KIND and not _is_output(file):
        raise Problem("invalid", f"{where}: it is the copy of a session; name the file that it is of")
    if await is_gone(visit, file):
        raise Problem("invalid", f"{where}: the file has expired", code="file_expired")
    return file


async def _found(visit: Visit, id: str) -> Document | None:
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is not None:
        return found
    found = await visit.house.documents.get(visit.workspace, outputs.KIND, id)
    return await outputs.fresh(visit.house, found) if found is not None and _is_output(found) else found


def _is_output(file: Document) -> bool:
    return file.kind == outputs.KIND and file.body["origin"] == outputs.ORIGIN


async def is_gone(visit: Visit, file: Document) -> bool:
    """Whether a file has expired; then nothing of it is kept any more."""
    at = file.body.get("expires_at")
    if at is None or at > visit.house.clock.now():
        return False
    if file.body["expires"]:
        await visit.house.files.drop(file.id)
        kept = {**file.body, "expires": False}
        await visit.house.documents.change(Replace(replace(file, body=kept)))
    return True


async def _sweep(visit: Visit) -> None:
    """Let go of what has expired: nobody may ever ask for it again."""
    waiting = Wanted(where={"expires": True}, order="oldest", limit=_SWEPT)
    for file in await visit.house.documents.list(visit.workspace, KIND, waiting):
        await is_gone(visit, file)


def shown(file: Document) -> dict[str, Any]:
    """Return a file as it is shown."""
    expires = file.body.get("expires_at")
    return {
        "id": file.id,
        "type": "file",
        "filename": file.body["filename"],
        "mime_type": file.body["mime_type"],
        "size_bytes": file.body["size_bytes"],
        "created_at": written_time(file.created_at),
        "downloadable": _is_output(file),
        "expires_at": None if expires is None else written_time(expires),
        "scope": {"type": "session", "id": file.parent} if file.parent else None,
    }


def _media(said: str | None, name: str) -> str:
    """Return the type of a file: as it was said, else as its name tells."""
    kind = (said or "").partition(";")[0].strip().lower()
    if _TYPE.fullmatch(kind) and kind != _ANY:
        return kind
    return mimetypes.guess_type(name)[0] or _ANY


def _name(given: str, media: str) -> str:
    """Return the last part of a name. May raise Problem for one that no file has."""
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", given)[-1].strip())
    if name in {"", ".", ".."}:
        return f"unnamed{mimetypes.guess_extension(media) or ''}"
    if _UNFIT.search(name) or len(name) > _LONGEST_NAME:
        raise Problem(
            "invalid", f'file: a name has up to {_LONGEST_NAME} characters, none of them from < > : " | ? *'
        )
    return name


async def contents(visit: Visit, file: Document) -> AsyncIterator[bytes]:
    """Yield what is in a file, whoever wrote it. May raise Problem, FileNotFoundError."""
    if file.kind == KIND:
        async for piece in visit.house.files.read(file.id):
            yield piece
    else:
        async for piece in await outputs.opened(visit.house, file):
            yield piece


_ONE: Final = "/v1/files/{file_id}"
ROUTES: Final = (
    Route(
        method="POST", path="/v1/files", handler=upload, summary="Send a file", group="files",
        body=FileGiven, accepts="multipart/form-data", returns=FileShown, scope="write",
    ),
    Route(
        method="GET", path="/v1/files", handler=list_files, summary="List files", group="files",
        query=FileQuery, returns=Page[FileShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get what is known of a file", group="files",
        returns=FileShown,
    ),
    Route(
        method="GET", path=f"{_ONE}/content", handler=download, summary="Get a file", group="files",
        media="application/octet-stream",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a file", group="files",
        returns=FileDeleted, scope="write",
    ),
)  # fmt: skip
