"""Documents in memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolwright.contracts.documents import (
    EVERY,
    Add,
    Change,
    Document,
    NameTaken,
    Remove,
    Replace,
    UnknownDocument,
    VersionConflict,
    Wanted,
    place_of,
)
from toolwright.contracts.errors import ToolwrightError

if TYPE_CHECKING:
    from toolwright.contracts.documents import DocumentStore


class MemoryDocuments:
    """``DocumentStore`` that forgets everything when it goes."""

    def __init__(self) -> None:
        self._documents: dict[tuple[str, str], Document] = {}
        self._versions: dict[tuple[str, str], list[Document]] = {}

    async def add(self, document: Document) -> None:
        self._refuse_taken(document)
        self._documents[document.kind, document.id] = document

    async def replace(
        self, document: Document, *, expected: int | None = None, versions: bool = False
    ) -> None:
        kind, id = key = document.kind, document.id
        there = await self.get(document.workspace, kind, id)
        if there is None:
            raise UnknownDocument(f"There is no {kind} {id}.")
        if expected is not None and there.version != expected:
            raise VersionConflict(kind, id, expected=expected, found=there.version)
        self._refuse_taken(document)
        if versions and document.version != there.version:
            self._versions.setdefault(key, []).append(there)
        self._documents[key] = document

    async def get(self, workspace: str, kind: str, id: str, *, version: int | None = None) -> Document | None:
        found = self._documents.get((kind, id))
        if found is None or found.workspace != workspace:
            return None
        if version in {None, found.version}:
            return found
        return next((old for old in self._versions.get((kind, id), ()) if old.version == version), None)

    async def list(self, workspace: str, kind: str, wanted: Wanted = EVERY) -> Sequence[Document]:
        down = wanted.order == "newest"
        found = [
            document
            for document in self._documents.values()
            if (document.workspace, document.kind) == (workspace, kind) and _fits(document, wanted)
        ]
        found.sort(key=lambda document: place_of(document, wanted), reverse=down)
        if wanted.after is not None:
            after = wanted.after
            found = [one for one in found if _is_behind(place_of(one, wanted), after, down=down)]
        return found[: max(wanted.limit, 0)]

    async def versions(
        self, workspace: str, kind: str, id: str, *, before: int | None = None, limit: int = 100
    ) -> Sequence[Document]:
        now = await self.get(workspace, kind, id)
        if now is None:
            return []
        every = [now, *reversed(self._versions.get((kind, id), ()))]
        return [one for one in every if before is None or one.version < before][: max(limit, 0)]

    async def remove(self, workspace: str, kind: str, id: str) -> bool:
        if await self.get(workspace, kind, id) is None:
            return False
        gone = [(kind, id)]
        for _, parent in gone:
            gone += [
                key
                for key, document in self._documents.items()
                if (document.parent, document.workspace) == (parent, workspace) and key not in gone
            ]
        for key in gone:
            del self._documents[key]
            self._versions.pop(key, None)
        return True

    async def change(self, *changes: Change) -> None:
        before = dict(self._documents), {key: list(kept) for key, kept in self._versions.items()}
        try:
            for change in changes:
                await self._change(change)
        except ToolwrightError:
            self._documents, self._versions = before
            raise

    async def _change(self, change: Change) -> None:
        match change:
            case Add(document):
                await self.add(document)
            case Replace(document, expected):
                await self.replace(document, expected=expected)
            case Remove(workspace, kind, id):
                await self.remove(workspace, kind, id)

    async def find(self, kind: str, name: str) -> Sequence[Document]:
        return [
            document
            for document in self._documents.values()
            if (document.kind, document.name) == (kind, name) and document.archived_at is None
        ]

    async def close(self) -> None:
        return None

    def _refuse_taken(self, document: Document) -> None:
        if not document.name or document.archived_at is not None:
            return
        for other in self._documents.values():
            if _claim(other) == _claim(document) and other.id != document.id and other.archived_at is None:
                raise NameTaken(document.kind, document.name, other.id)


def _claim(document: Document) -> tuple[str, ...]:
    return (document.workspace, document.kind, document.parent, document.name)


def _fits(document: Document, wanted: Wanted) -> bool:
    return (
        wanted.parent in {None, document.parent}
        and document.name.startswith(wanted.name_prefix)
        and (wanted.archived or document.archived_at is None)
        and (wanted.since is None or document.created_at >= wanted.since)
        and (wanted.until is None or document.created_at <= wanted.until)
        and all(_member(document.body, path) == value for path, value in wanted.where.items())
    )


def _member(body: Any, path: str) -> Any:
    for name in path.split("."):
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _is_behind(place: tuple[Any, str], after: tuple[Any, str], *, down: bool) -> bool:
    return place < after if down else place > after


if TYPE_CHECKING:

    def _conforms(store: MemoryDocuments) -> DocumentStore:
        return store
