"""Blobs kept in memory, for tests and for runs that leave nothing behind."""

import hashlib
from typing import TYPE_CHECKING

from toolwright.backends.blobs.naming import candidates, within_limit
from toolwright.contracts.ports import Blob, BlobStore, Clock


class MemoryBlobs:
    """A dictionary with the manners of a folder."""

    def __init__(self, clock: Clock, *, folder: str = "/memory/tool-results") -> None:
        self._clock = clock
        self._folder = folder
        self._kept: dict[str, tuple[float, bytes]] = {}

    async def put(self, name: str, data: bytes, *, suffix: str = ".txt") -> Blob:
        kept = within_limit(data, suffix)
        paths = (f"{self._folder}/{candidate}" for candidate in candidates(name, suffix))
        path = next(path for path in paths if path not in self._kept)
        self._kept[path] = (self._clock.now(), kept)
        return Blob(path=path, size=len(kept), sha256=hashlib.sha256(kept).hexdigest())

    async def read(self, path: str) -> bytes:
        if path not in self._kept:
            raise FileNotFoundError(path)
        return self._kept[path][1]

    async def drop_older_than(self, seconds: float) -> int:
        oldest = self._clock.now() - seconds
        old = [path for path, (kept_at, _) in self._kept.items() if kept_at < oldest]
        for path in old:
            del self._kept[path]
        return len(old)


if TYPE_CHECKING:
    _: type[BlobStore] = MemoryBlobs
