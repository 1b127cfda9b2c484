"""Lists of sessions, read page by page in both directions."""

from typing import Any, Final

from toolwright.contracts.documents import Document, Wanted
from toolwright.surfaces.http.managed import resources
from toolwright.surfaces.http.managed.pages import Place, TurningPoint, turning_point
from toolwright.surfaces.http.managed.session_shapes import SessionPage, SessionQuery
from toolwright.surfaces.http.managed.sessions import KIND, shown
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Route, Visit


async def list_sessions(visit: Visit) -> dict[str, Any]:
    """List sessions, page by page in both directions."""
    asked = visit.query(SessionQuery)
    if asked.agent_version is not None and asked.agent_id is None:
        raise Problem("invalid", "agent_version: goes with agent_id only")
    if asked.deployment_id is not None:
        return {"data": [], "next_page": None, "prev_page": None}
    begin = turning_point(asked.page, asked.order)
    if begin is not None:
        _refuse_beyond(asked, begin)
    found = await _found(visit, asked, begin)
    more, back = len(found) > asked.limit, begin is not None and begin.is_back
    page = found[: asked.limit][:: -1 if back else 1]
    behind, before = (True, more) if back else (more, begin is not None)
    return {
        "data": [session for _, session in page],
        "next_page": _turn(page[-1][0], asked, is_back=False) if page and behind else None,
        "prev_page": _turn(page[0][0], asked, is_back=True) if page and before else None,
    }


async def _found(
    visit: Visit, asked: SessionQuery, begin: TurningPoint | None
) -> list[tuple[Document, dict[str, Any]]]:
    """Return the sessions of a page, and one more where there is another page."""
    found: list[tuple[Document, dict[str, Any]]] = []
    order, after = asked.order, begin.place if begin is not None else None
    if begin is not None and begin.is_back:
        order = "asc" if order == "desc" else "desc"
    using = await resources.sessions_with(visit, asked.memory_store_id) if asked.memory_store_id else None
    while len(found) <= asked.limit:
        part = await visit.house.documents.list(visit.workspace, KIND, _wanted(asked, order, after))
        for document in part:
            if using is not None and document.id not in using:
                continue
            session = await _shown_if_there(visit, document)
            if session is not None and (not asked.statuses or session["status"] in asked.statuses):
                found.append((document, session))
        if len(part) < asked.limit + 1:
            break
        after = (part[-1].created_at, part[-1].id)
    return found


async def _shown_if_there(visit: Visit, document: Document) -> dict[str, Any] | None:
    """Return a session as it is shown; None for one that is deleted meanwhile."""
    try:
        return await shown(visit, document)
    except Problem as problem:
        if problem.kind != "not_found":
            raise
        return None


def _turn(document: Document, asked: SessionQuery, *, is_back: bool) -> str:
    return TurningPoint((document.created_at, document.id), asked.order, is_back).written


def _refuse_beyond(asked: SessionQuery, begin: TurningPoint) -> None:
    """Raise Problem for a cursor that the filters by time leave out."""
    at = float(begin.place[0])
    outside = (
        (asked.later is not None and at <= asked.later)
        or (asked.since is not None and at < asked.since)
        or (asked.earlier is not None and at >= asked.earlier)
        or (asked.until is not None and at > asked.until)
    )
    if outside:
        raise Problem("invalid", "page: created_at leaves out where this cursor stands.")


def _wanted(asked: SessionQuery, order: str, after: Place | None) -> Wanted:
    where: dict[str, str | int | bool | None] = {}
    if asked.agent_id is not None:
        where["agent.id"] = asked.agent_id
    if asked.agent_version is not None:
        where["agent.version"] = asked.agent_version
    since = [at for at in (asked.since, _beyond(asked.later, 1)) if at is not None]
    until = [at for at in (asked.until, _beyond(asked.earlier, -1)) if at is not None]
    return Wanted(
        archived=asked.include_archived,
        since=max(since, default=None),
        until=min(until, default=None),
        where=where,
        order="newest" if order == "desc" else "oldest",
        after=after,
        limit=asked.limit + 1,
    )


def _beyond(at: float | None, way: int) -> float | None:
    """Return the next time that can be written, on one side of a time."""
    return None if at is None else at + way * 1e-6


ROUTES: Final = (
    Route(
        method="GET", path="/v1/sessions", handler=list_sessions, summary="List sessions", group="sessions",
        query=SessionQuery, returns=SessionPage,
    ),
)  # fmt: skip
