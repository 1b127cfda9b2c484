"""Documents in the database. Each verb is one short transaction in a thread of its own."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from toolwright.backends.storage.sqlite.documents_query import COLUMNS, listing
from toolwright.backends.storage.sqlite.single import Single
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
)

if TYPE_CHECKING:
    from toolwright.contracts.documents import DocumentStore

_EVERY = (
    "SELECT kind, id, workspace, version, parent, name, created_at, updated_at, archived_at, body "
    "FROM documents"
)
_ONE = f"{_EVERY} WHERE workspace = ? AND kind = ? AND id = ?"
_NAMED = f"{_EVERY} WHERE kind = ? AND name = ? AND archived_at IS NULL"
_INSERT = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = (
    "UPDATE documents SET version = ?, parent = ?, name = ?, created_at = ?, updated_at = ?, "
    "archived_at = ?, body = ? WHERE kind = ? AND id = ?"
)
_KEEP_VERSION = (
    "INSERT INTO document_versions (kind, id, version, name, updated_at, archived_at, body) "
    "SELECT kind, id, version, name, updated_at, archived_at, body FROM documents WHERE kind = ? AND id = ?"
)
_VERSIONS = (
    "SELECT d.kind, d.id, d.workspace, v.version, d.parent, v.name, d.created_at, v.updated_at, "
    "v.archived_at, v.body FROM document_versions v JOIN documents d ON d.kind = v.kind AND d.id = v.id "
    "WHERE d.workspace = ? AND d.kind = ? AND d.id = ?"
)
_TAKEN = (
    "SELECT id FROM documents WHERE workspace = ? AND kind = ? AND parent = ? AND name = ? "
    "AND archived_at IS NULL AND id <> ?"
)
_FAMILY = """
    WITH RECURSIVE family (kind, id) AS (
        SELECT kind, id FROM documents WHERE workspace = :workspace AND kind = :kind AND id = :id
        UNION
        SELECT d.kind, d.id FROM documents d JOIN family f ON d.parent = f.id AND d.workspace = :workspace
    )
    DELETE FROM documents WHERE (kind, id) IN (SELECT kind, id FROM family)
"""


class SqliteDocuments:
    """``DocumentStore`` in a database file, which is made and migrated when it is first used."""

    def __init__(self, path: str) -> None:
        self._single = Single(path)

    async def add(self, document: Document) -> None:
        await self._single.do(lambda db: _add(db, document))

    async def replace(
        self, document: Document, *, expected: int | None = None, versions: bool = False
    ) -> None:
        await self._single.do(lambda db: _replace(db, document, expected, versions=versions))

    async def change(self, *changes: Change) -> None:
        def work(db: sqlite3.Connection) -> None:
            for change in changes:
                _change(db, change)

        await self._single.do(work)

    async def get(self, workspace: str, kind: str, id: str, *, version: int | None = None) -> Document | None:
        def work(db: sqlite3.Connection) -> Document | None:
            found = db.execute(_ONE, (workspace, kind, id)).fetchone()
            if found is not None and version is not None and _document(found).version != version:
                asked = (workspace, kind, id, version)
                found = db.execute(f"{_VERSIONS} AND v.version = ?", asked).fetchone()
            return None if found is None else _document(found)

        return await self._single.do(work)

    async def list(self, workspace: str, kind: str, wanted: Wanted = EVERY) -> Sequence[Document]:
        query, values = listing(workspace, kind, wanted)
        return await self._single.do(lambda db: [_document(row) for row in db.execute(query, values)])

    async def versions(
        self, workspace: str, kind: str, id: str, *, before: int | None = None, limit: int = 100
    ) -> Sequence[Document]:
        below = 2**62 if before is None else before

        def work(db: sqlite3.Connection) -> Sequence[Document]:
            now = db.execute(f"{_ONE} AND version < ?", (workspace, kind, id, below)).fetchall()
            query = f"{_VERSIONS} AND v.version < ? ORDER BY v.version DESC LIMIT ?"
            rows = db.execute(query, (workspace, kind, id, below, max(limit - len(now), 0)))
            return [_document(row) for row in (*now[:limit], *rows)]

        return await self._single.do(work)

    async def remove(self, workspace: str, kind: str, id: str) -> bool:
        return await self._single.do(lambda db: _remove(db, workspace, kind, id))

    async def find(self, kind: str, name: str) -> Sequence[Document]:
        return await self._single.do(lambda db: [_document(row) for row in db.execute(_NAMED, (kind, name))])

    async def close(self) -> None:
        await self._single.close()


def _change(db: sqlite3.Connection, change: Change) -> None:
    match change:
        case Add(document):
            _add(db, document)
        case Replace(document, expected):
            _replace(db, document, expected, versions=False)
        case Remove(workspace, kind, id):
            _remove(db, workspace, kind, id)


def _add(db: sqlite3.Connection, document: Document) -> None:
    _refuse_taken(db, document)
    db.execute(_INSERT, _row(document))


def _replace(db: sqlite3.Connection, document: Document, expected: int | None, *, versions: bool) -> None:
    kind, id = document.kind, document.id
    found = db.execute(_ONE, (document.workspace, kind, id)).fetchone()
    if found is None:
        raise UnknownDocument(f"There is no {kind} {id}.")
    there = _document(found).version
    if expected is not None and there != expected:
        raise VersionConflict(kind, id, expected=expected, found=there)
    _refuse_taken(db, document)
    if versions and document.version != there:
        db.execute(_KEEP_VERSION, (kind, id))
    db.execute(_UPDATE, (*_row(document)[3:], kind, id))


def _remove(db: sqlite3.Connection, workspace: str, kind: str, id: str) -> bool:
    there = db.execute(_ONE, (workspace, kind, id)).fetchone() is not None
    db.execute(_FAMILY, {"workspace": workspace, "kind": kind, "id": id})
    return there


def _refuse_taken(db: sqlite3.Connection, document: Document) -> None:
    if not document.name or document.archived_at is not None:
        return
    asked = (document.workspace, document.kind, document.parent, document.name, document.id)
    other = db.execute(_TAKEN, asked).fetchone()
    if other is not None:
        raise NameTaken(document.kind, document.name, other[0])


def _row(document: Document) -> tuple[Any, ...]:
    return (
        document.kind,
        document.id,
        document.workspace,
        document.version,
        document.parent,
        document.name,
        document.created_at,
        document.updated_at,
        document.archived_at,
        orjson.dumps(dict(document.body)),
    )


def _document(row: Sequence[Any]) -> Document:
    members = dict(zip(COLUMNS, row, strict=True))
    return Document(**{**members, "body": orjson.loads(members["body"])})


if TYPE_CHECKING:

    def _conforms(store: SqliteDocuments) -> DocumentStore:
        return store
