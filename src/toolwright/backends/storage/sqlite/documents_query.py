"""Lists of documents."""

from typing import Any, Final

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, String, Table, and_, func, or_, select
from sqlalchemy.dialects import sqlite

from toolwright.contracts.documents import Wanted

COLUMNS: Final = (
    "kind", "id", "workspace", "version", "parent", "name", "created_at", "updated_at", "archived_at", "body",
)  # fmt: skip
_documents = Table(
    "documents",
    MetaData(),
    Column("kind", String),
    Column("id", String),
    Column("workspace", String),
    Column("version", Integer),
    Column("parent", String),
    Column("name", String),
    Column("created_at", Float),
    Column("updated_at", Float),
    Column("archived_at", Float),
    Column("body", LargeBinary),
)
_dialect = sqlite.dialect(paramstyle="named")


def listing(workspace: str, kind: str, wanted: Wanted) -> tuple[str, dict[str, Any]]:
    """Return the question for a part of a list, and its values."""
    columns = _documents.c
    query = select(*(columns[name] for name in COLUMNS))
    query = query.where(columns.workspace == workspace, columns.kind == kind)
    if wanted.parent is not None:
        query = query.where(columns.parent == wanted.parent)
    if wanted.name_prefix:
        query = query.where(func.substr(columns.name, 1, len(wanted.name_prefix)) == wanted.name_prefix)
    if not wanted.archived:
        query = query.where(columns.archived_at.is_(None))
    if wanted.since is not None:
        query = query.where(columns.created_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(columns.created_at <= wanted.until)
    for path, value in wanted.where.items():
        query = query.where(func.json_extract(columns.body, f"$.{path}").is_not_distinct_from(value))
    first = columns.name if wanted.order == "name" else columns.created_at
    down = wanted.order == "newest"
    if wanted.after is not None:
        at, id = wanted.after
        beyond = (first < at) if down else (first > at)
        beside = (columns.id < id) if down else (columns.id > id)
        query = query.where(or_(beyond, and_(first == at, beside)))
    order = (first.desc(), columns.id.desc()) if down else (first, columns.id)
    compiled = query.order_by(*order).limit(max(wanted.limit, 0)).compile(dialect=_dialect)
    return str(compiled), dict(compiled.params)
