"""Lists of sessions."""

import sqlite3
from collections.abc import Sequence

from sqlalchemy import Column, Float, Integer, MetaData, Select, String, Table, select
from sqlalchemy.dialects import sqlite

from toolwright.contracts.storage import SessionCard, SessionStatus

_meta = MetaData()
_sessions = Table(
    "sessions",
    _meta,
    Column("number", Integer, primary_key=True),
    Column("id", String),
    Column("parent_id", String),
    Column("project", String),
    Column("title", String),
    Column("agent", String),
    Column("model", String),
    Column("status", String),
    Column("created_at", Float),
    Column("updated_at", Float),
    Column("tokens", Integer),
    Column("cost", Float),
)
_heads = Table("heads", _meta, Column("session", Integer, primary_key=True), Column("seq", Integer))
_dialect = sqlite.dialect(paramstyle="named")


def listed(
    connection: sqlite3.Connection,
    *,
    project: str | None,
    parent_id: str | None,
    status: SessionStatus | None,
    limit: int,
    before: float | None,
) -> Sequence[SessionCard]:
    """Return cards, the last updated first."""
    query = _cards().where(_sessions.c.parent_id == parent_id)  # None becomes IS NULL
    query = query.where(_heads.c.seq > 0)
    if project is not None:
        query = query.where(_sessions.c.project == project)
    if status is not None:
        query = query.where(_sessions.c.status == status)
    if before is not None:
        query = query.where(_sessions.c.updated_at < before)
    newest_first = query.order_by(_sessions.c.updated_at.desc(), _sessions.c.number.desc())
    compiled = newest_first.limit(max(limit, 0)).compile(dialect=_dialect)
    rows = connection.execute(str(compiled), compiled.params)
    names = [column[0] for column in rows.description]
    return [SessionCard(**dict(zip(names, row, strict=True))) for row in rows]


def _cards() -> Select[tuple[str, ...]]:
    columns = _sessions.c
    return select(
        columns.id.label("session_id"),
        columns.parent_id,
        columns.project,
        columns.title,
        columns.agent,
        columns.model,
        columns.status,
        columns.created_at,
        columns.updated_at,
        columns.tokens,
        columns.cost,
        _heads.c.seq.label("head"),
    ).join_from(_sessions, _heads, _heads.c.session == columns.number)
