"""Blobs kept as files of one folder, readable by their owner only."""

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from toolwright.backends.blobs.naming import candidates, within_limit
from toolwright.contracts.ports import Blob, BlobStore, Clock

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileBlobs:
    """One folder, made when first needed. Never follows a link and never overwrites."""

    def __init__(self, folder: str, clock: Clock) -> None:
        self._folder = os.path.abspath(folder)
        self._clock = clock

    async def put(self, name: str, data: bytes, *, suffix: str = ".txt") -> Blob:
        return await run_sync(self._put, name, data, suffix)

    async def read(self, path: str) -> bytes:
        return await run_sync(self._read, path)

    async def drop_older_than(self, seconds: float) -> int:
        return await run_sync(self._drop, self._clock.now() - seconds)

    def _put(self, name: str, data: bytes, suffix: str) -> Blob:
        kept = within_limit(data, suffix)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with _Handle(os.open(self._folder, _FOLDER)) as folder:
            file_name, handle = _created(name, suffix, folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(kept)
            except OSError:
                os.unlink(file_name, dir_fd=folder)
                raise
        path = os.path.join(self._folder, file_name)
        return Blob(path=path, size=len(kept), sha256=hashlib.sha256(kept).hexdigest())

    def _read(self, path: str) -> bytes:
        folder_path, file_name = os.path.split(path)
        if folder_path != self._folder:
            raise FileNotFoundError(path)
        with _Handle(os.open(self._folder, _FOLDER)) as folder:
            with os.fdopen(os.open(file_name, _READ, dir_fd=folder), "rb") as file:
                return file.read()

    def _drop(self, oldest: float) -> int:
        dropped = 0
        try:
            handle = os.open(self._folder, _FOLDER)
        except FileNotFoundError:
            return 0
        with _Handle(handle) as folder:
            for file_name in os.listdir(folder):
                info = os.stat(file_name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) and info.st_mtime < oldest:
                    os.unlink(file_name, dir_fd=folder)
                    dropped += 1
        return dropped


class _Handle:
    """An open folder that is closed at the end of a block."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _created(name: str, suffix: str, folder: int) -> tuple[str, int]:
    for candidate in candidates(name, suffix):
        try:
            return candidate, os.open(candidate, _CREATE, 0o600, dir_fd=folder)
        except FileExistsError:
            continue
    raise AssertionError("there is always another name")


if TYPE_CHECKING:
    _: type[BlobStore] = FileBlobs
