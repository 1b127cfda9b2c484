"""Files kept in memory."""

import hashlib
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from toolwright.contracts.files import FileStore, KeptFile


class MemoryFiles:
    """For tests: nothing outlives the process."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    async def keep(self, id: str, pieces: AsyncIterator[bytes]) -> KeptFile:
        data = b"".join([piece async for piece in pieces])
        self._files[id] = data
        return KeptFile(len(data), hashlib.sha256(data).hexdigest())

    async def read(self, id: str) -> AsyncIterator[bytes]:
        if id not in self._files:
            raise FileNotFoundError(id)
        yield self._files[id]

    async def copy_to(self, id: str, path: str) -> None:
        if id not in self._files:
            raise FileNotFoundError(id)
        await run_sync(_write_new, path, self._files[id])

    async def drop(self, id: str) -> None:
        self._files.pop(id, None)


def _write_new(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(data)


if TYPE_CHECKING:

    def _conforms(store: MemoryFiles) -> FileStore:
        return store
