"""Notes that outlive a conversation, and are found again by their words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that was noted."""

    key: str
    value: str
    description: str = ""
    session_id: str = ""
    """The session that wrote it last."""
    written: str = ""
    """When, as ISO 8601 in UTC."""


class NoteBook(Protocol):
    """The notes of one workspace. Every verb may raise StoreUnavailable."""

    async def put(self, key: str, value: str, *, description: str = "", session_id: str = "") -> None:
        """Keep a note; one of this key that is there is replaced. Durable once this returns."""
        ...

    async def search(self, query: str, *, limit: int = 10) -> Sequence[Note]:
        """Return notes that have any word of a query in key, description or value, the best first.

        Words count without regard to case; anything but letters and digits parts words. Of equally good ones
        the last written comes first. A query without words finds the last written ones.
        """
        ...


class NoteStore(Protocol):
    """The notes of all workspaces."""

    def of(self, workspace: str) -> NoteBook:
        """Return those of one workspace; nothing of another one is ever seen in it."""
        ...

    async def close(self) -> None:
        """Safe to repeat."""
        ...
