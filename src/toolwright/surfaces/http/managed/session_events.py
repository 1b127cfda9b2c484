"""Events of sessions: sent, read back, followed."""

from collections.abc import AsyncGenerator
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from toolwright.surfaces.http.frames import Listener
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.event_shapes import EventQuery, EventsShown, Sent, StreamQuery
from toolwright.surfaces.http.managed.file_contents import filled
from toolwright.surfaces.http.managed.histories import History, written
from toolwright.surfaces.http.managed.pages import cursor, place
from toolwright.surfaces.http.managed.sending import deliver
from toolwright.surfaces.http.managed.sessions import session_of
from toolwright.surfaces.http.managed.told import Told
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Route, Visit

PING: Final = b'event: ping\ndata: {"type":"ping"}\n\n'
_MOST_SENT: Final = 32 * 1024 * 1024


async def send(visit: Visit) -> dict[str, Any]:
    """Take events; the answer comes once they are stored."""
    session = await session_of(visit)
    sent = await visit.body(Sent)
    return {"data": await deliver(visit, session.id, await filled(visit, sent.events))}


async def list_events(visit: Visit) -> dict[str, Any]:
    """Return a part of the history."""
    asked, session = visit.query(EventQuery), await session_of(visit)
    return await part_of(visit, session.id, asked)


async def part_of(visit: Visit, log_id: str, asked: EventQuery) -> dict[str, Any]:
    """Return a part of what a log tells. May raise Problem."""
    history = await visit.house.part(Desk).histories.of(log_id)
    found = [told for told in history.entries.values() if _fits(told, asked)]
    if asked.order == "desc":
        found.reverse()
    begin = _behind(found, asked)
    part = found[begin : begin + asked.limit]
    more = len(found) > begin + asked.limit
    next_page = cursor((part[-1].at, part[-1].id)) if more and part else None
    return {"data": [told.body for told in part], "next_page": next_page}


def _fits(told: Told, asked: EventQuery) -> bool:
    return (
        (not asked.types or told.type in asked.types)
        and (asked.later is None or told.at > asked.later)
        and (asked.since is None or told.at >= asked.since)
        and (asked.earlier is None or told.at < asked.earlier)
        and (asked.until is None or told.at <= asked.until)
    )


def _behind(found: list[Told], asked: EventQuery) -> int:
    """Return where the wanted part begins. May raise Problem."""
    after = place(asked.page)
    id = asked.after_id if after is None else after[1]
    if not id:
        return 0
    for number, told in enumerate(found):
        if told.id == id:
            return number + 1
    raise Problem("invalid", "page: this is no cursor of this list." if after else "after_id: no such event")


async def stream(visit: Visit) -> Response:
    """Follow a session: everything from now on, or from behind an event that was seen."""
    asked, session = visit.query(StreamQuery), await session_of(visit)
    return await followed(visit, session.id, asked)


async def followed(visit: Visit, log_id: str, asked: StreamQuery) -> Response:
    """Return the stream of what a log tells. May raise Problem."""
    desk, wanted = visit.house.part(Desk), frozenset(asked.event_deltas)
    listener = await desk.streams.join(log_id, previews=bool(wanted), kinds=wanted)
    try:
        after = asked.after_id or visit.request.headers.get("last-event-id")
        history = await desk.histories.of(log_id)
        if after:
            listener.begin_anew(written(told) for told in _missed(history, after))
        if history.translation.state.ended is not None:
            listener.close()
    except BaseException:
        desk.streams.leave(log_id, listener)
        raise
    return StreamingResponse(
        _sent(desk, log_id, listener),
        media_type="text/event-stream",
        headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
    )


def _missed(history: History, after: str) -> list[Told]:
    ids = list(history.entries)
    if after not in history.entries:
        raise Problem("invalid", "after_id: no such event")
    return [history.entries[id] for id in ids[ids.index(after) + 1 :]]


async def _sent(desk: Desk, log_id: str, listener: Listener) -> AsyncGenerator[bytes]:
    try:
        async for piece in listener.frames(PING):
            yield piece
    finally:
        desk.streams.leave(log_id, listener)


_EVENTS: Final = "/v1/sessions/{session_id}/events"
ROUTES: Final = (
    Route(
        method="POST", path=_EVENTS, handler=send, summary="Send events", group="sessions", body=Sent,
        returns=EventsShown, scope="write", most=_MOST_SENT,
    ),
    Route(
        method="GET", path=_EVENTS, handler=list_events, summary="List events", group="sessions",
        query=EventQuery, returns=EventsShown,
    ),
    Route(
        method="GET", path=f"{_EVENTS}/stream", handler=stream, summary="Follow events", group="sessions",
        query=StreamQuery, media="text/event-stream",
    ),
)  # fmt: skip
