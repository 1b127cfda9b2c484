"""Files kept in one folder, readable by their owner only.

A file is written beside its place and moved there once all of it is on the disk: what is there is whole.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from anyio.to_thread import run_sync

from toolwright.contracts.files import FileStore, KeptFile, NoRoom

_PIECE = 1024 * 1024
_PARTIAL = ".partial"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FolderFiles:
    """One folder, made when first needed. What a crash left half written is removed then."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(folder)
        self._ready = False

    async def keep(self, id: str, pieces: AsyncIterator[bytes]) -> KeptFile:
        await run_sync(self._prepare)
        partial = self._place(id) + _PARTIAL
        digest, size = hashlib.sha256(), 0
        try:
            with _room(), await run_sync(_created, partial) as file:
                async for piece in pieces:
                    await run_sync(_take, file, piece, digest)
                    size += len(piece)
                await run_sync(_settle, file)
            await run_sync(self._move, partial, self._place(id))
        except BaseException:
            _remove(partial)
            raise
        return KeptFile(size, digest.hexdigest())

    async def read(self, id: str) -> AsyncIterator[bytes]:
        with await run_sync(_opened, self._place(id)) as file:
            while piece := await run_sync(file.read, _PIECE):
                yield piece

    async def copy_to(self, id: str, path: str) -> None:
        await run_sync(_copy, self._place(id), path)

    async def drop(self, id: str) -> None:
        await run_sync(_remove, self._place(id))

    def _place(self, id: str) -> str:
        if not id.replace("_", "").isalnum() or not id.isascii():
            raise FileNotFoundError(id)
        return os.path.join(self._folder, id)

    def _prepare(self) -> None:
        if self._ready:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        for name in os.listdir(self._folder):
            if name.endswith(_PARTIAL):
                _remove(os.path.join(self._folder, name))
        self._ready = True

    def _move(self, partial: str, place: str) -> None:
        os.rename(partial, place)
        _settle_folder(self._folder)


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if problem.errno in _FULL:
            raise NoRoom("There is no room for the file.") from problem
        raise


def _created(path: str) -> BinaryIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "wb")


def _opened(path: str) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _take(file: BinaryIO, piece: bytes, digest: "hashlib._Hash") -> None:
    file.write(piece)
    digest.update(piece)


def _settle(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _settle_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy(source: str, path: str) -> None:
    folder = os.path.dirname(path)
    with _room(), _opened(source) as given:
        os.makedirs(folder, exist_ok=True)
        with open(path, "xb") as taken:
            try:
                shutil.copyfileobj(given, taken, _PIECE)
                _settle(taken)
            except BaseException:
                _remove(path)
                raise
    _settle_folder(folder)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


if TYPE_CHECKING:

    def _conforms(store: FolderFiles) -> FileStore:
        return store
