"""Files of any size that were given to a server, each kept whole under an id."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from toolwright.contracts.errors import ToolwrightError


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What a store took."""

    size: int
    sha256: str


class NoRoom(ToolwrightError):
    """There is no room for the file."""


class FileStore(Protocol):
    """Keeps files. What a verb returned from is durable; ids are ours, never what a client wrote."""

    async def keep(self, id: str, pieces: AsyncIterator[bytes]) -> KeptFile:
        """Keep a new file. Nothing of it is kept when ``pieces`` raises. May raise NoRoom, OSError."""
        ...

    def read(self, id: str) -> AsyncIterator[bytes]:
        """Yield a file in pieces. Raises FileNotFoundError when the first one is asked for."""
        ...

    async def copy_to(self, id: str, path: str) -> None:
        """Write a file to a path of this machine where nothing is; folders on the way are made.

        May raise FileNotFoundError, FileExistsError, NoRoom, OSError.
        """
        ...

    async def drop(self, id: str) -> None:
        """Forget a file. Safe to repeat."""
        ...
