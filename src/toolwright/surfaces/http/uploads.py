"""Files that are sent as the parts of a form, read within bounds and rolled to the disk while they come."""

import errno
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from toolwright.contracts.files import NoRoom
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import too_large

_MOST_FIELDS: Final = 20
_LONGEST_FIELD: Final = 64 * 1024
_AROUND: Final = 64 * 1024
"""Bytes of a form around what is sent in it."""
_PIECE: Final = 1024 * 1024


class _Parser(MultiPartParser):
    """Takes a part for a file by its own name too: some clients send no name of a file with it."""

    def __init__(self, *given: Any, named: str, **more: Any) -> None:
        super().__init__(*given, **more)
        self._named = {named.encode(), f"{named}[]".encode()}

    def on_headers_finished(self) -> None:
        written = self._current_part.content_disposition or b""
        _, options = parse_options_header(written)
        if options.get(b"name") in self._named and b"filename" not in options:
            self._current_part.content_disposition = written + b'; filename=""'
        super().on_headers_finished()


@asynccontextmanager
async def form(request: Request, named: str, *, most: int, files: int = 1) -> AsyncIterator[FormData]:
    """Read a form of up to ``files`` files, sent as ``named``, with up to ``most`` bytes in all.

    May raise Problem, NoRoom.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise Problem("wrong_type", "The body must be multipart/form-data.")
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > most + _AROUND * files:
        raise too_large(most)
    parser = _Parser(
        request.headers,
        _bounded(request, most + _AROUND * files, most),
        named=named,
        max_files=files,
        max_fields=_MOST_FIELDS,
        max_part_size=_LONGEST_FIELD,
    )
    try:
        read = await parser.parse()
    except OSError as problem:
        if problem.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoRoom("There is no room for what was sent.") from problem
        raise
    except MultiPartException as wrong:
        raise Problem("invalid", f"The form cannot be read: {wrong.message}") from None
    try:
        yield read
    finally:
        await read.close()


async def _bounded(request: Request, most: int, named: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise too_large(named)
        yield piece


def files_of(read: FormData, name: str) -> list[UploadFile]:
    """Return the files under a name, which may be written ``name[]``. May raise Problem."""
    parts = [*read.getlist(name), *read.getlist(f"{name}[]")]
    found = [part for part in parts if isinstance(part, UploadFile)]
    if len(found) < len(parts):
        raise Problem("invalid", f"{name}: a file is required")
    return found


def field_of(read: FormData, name: str) -> str | None:
    """Return a field that is text; None where it is missing. May raise Problem."""
    given = read.get(name)
    if isinstance(given, UploadFile):
        raise Problem("invalid", f"{name}: text is required, not a file")
    return given


def refuse_unknown(read: FormData, *known: str) -> None:
    """Raise Problem for a part that nobody asked for."""
    for name in read:
        if name.removesuffix("[]") not in known:
            raise Problem("invalid", f"{name[:80]}: there is no such field")


async def pieces(file: UploadFile) -> AsyncIterator[bytes]:
    """Yield a file in pieces."""
    while piece := await file.read(_PIECE):
        yield piece


async def bytes_in(file: UploadFile) -> bytes:
    """Return all of a file."""
    return await file.read()


async def one_piece(data: bytes) -> AsyncIterator[bytes]:
    """Yield bytes as the only piece."""
    yield data
