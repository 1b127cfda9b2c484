"""Threads of a session: the primary one, and one for each agent that it has started."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response

from toolwright.contracts.documents import Document
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.storage import UnknownSession
from toolwright.sessions.state import SessionState
from toolwright.surfaces.http.managed.compiling import names
from toolwright.surfaces.http.managed.event_bodies import thread_id, whole_usage
from toolwright.surfaces.http.managed.event_shapes import (
    EventQuery,
    EventsShown,
    StreamQuery,
    ThreadEventQuery,
)
from toolwright.surfaces.http.managed.pages import Page, Written, cursor, place
from toolwright.surfaces.http.managed.session_events import followed, part_of
from toolwright.surfaces.http.managed.sessions import session_of, state_of
from toolwright.surfaces.http.managed.standing import Status, own_status, thread_status
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Query, Route, Shape, Visit, read


class ThreadQuery(Query):
    """Which threads."""

    limit: int = Field(1_000, ge=1, le=1_000)
    page: str | None = None
    statuses: tuple[Status, ...] = ()


class ThreadStats(Shape):
    active_seconds: float
    duration_seconds: float
    startup_seconds: float


class ThreadShown(Shape):
    """A thread of a session."""

    id: str
    type: Literal["session_thread"] = "session_thread"
    session_id: str
    parent_thread_id: str | None = None
    agent: dict[str, Any]
    status: Status
    stats: ThreadStats | None = None
    usage: dict[str, Any] | None = None
    created_at: Written
    updated_at: Written
    archived_at: Written | None = None
    workflow_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread, and what is known of it."""

    session: Document
    parent: SessionState
    """Of the session itself."""
    child_id: str = ""
    """Empty for the primary one."""

    @property
    def id(self) -> str:
        return thread_id(self.log_id)

    @property
    def log_id(self) -> str:
        """The session whose log tells of it."""
        return self.child_id or self.session.id


async def list_threads(visit: Visit) -> dict[str, Any]:
    """List threads: the primary one, then the others as they were made."""
    asked, session = visit.query(ThreadQuery), await session_of(visit)
    after = place(asked.page)
    threads = await threads_of(visit, session)
    found = [await shown(visit, thread) for thread in threads]
    fitting = [one for one in found if not asked.statuses or one["status"] in asked.statuses]
    begin = _behind([thread.id for thread in threads], [one["id"] for one in fitting], after)
    part = fitting[begin : begin + asked.limit]
    more = len(fitting) > begin + asked.limit
    return {"data": part, "next_page": cursor((0.0, part[-1]["id"])) if more and part else None}


def _behind(every: list[str], fitting: list[str], after: tuple[float | str, str] | None) -> int:
    """Return where a page begins; the thread that ended the last one may fit no more by now."""
    if after is None:
        return 0
    if after[1] not in every:
        raise Problem("invalid", "page: this is no cursor of this list.")
    seen = set(every[: every.index(after[1]) + 1])
    return sum(id in seen for id in fitting)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a thread."""
    return await shown(visit, await thread_of(visit))


async def archive(visit: Visit) -> dict[str, Any]:
    """End a thread that rests; its history stays."""
    thread = await thread_of(visit)
    if not thread.child_id:
        raise Problem("invalid", "The primary thread goes with its session; archive that.")
    try:
        await visit.house.works.sessions.families.put_away(
            thread.session.id, thread.child_id, reason="archived"
        )
    except NotPossible:
        raise Problem("invalid", "The thread is running; interrupt it first.") from None
    return await shown(visit, await thread_of(visit))


async def list_events(visit: Visit) -> dict[str, Any]:
    """Return a part of the history of a thread."""
    asked, thread = visit.query(ThreadEventQuery), await thread_of(visit)
    return await part_of(visit, thread.log_id, read(EventQuery, asked.model_dump()))


async def stream(visit: Visit) -> Response:
    """Follow a thread."""
    asked, thread = visit.query(StreamQuery), await thread_of(visit)
    return await followed(visit, thread.log_id, asked)


# --- finding and showing ---


async def threads_of(visit: Visit, session: Document) -> list[Thread]:
    """Return all threads of a session."""
    state = await state_of(visit, session.id)
    return [Thread(session, state), *(Thread(session, state, child_id) for child_id in state.children)]


async def thread_of(visit: Visit) -> Thread:
    """Return the thread a path names. May raise Problem."""
    session, wanted = await session_of(visit), visit.path("thread_id")
    for thread in await threads_of(visit, session):
        if thread.id == wanted:
            return thread
    raise Problem("not_found", f"There is no thread {wanted[:80]} in this session.")


async def shown(visit: Visit, thread: Thread) -> dict[str, Any]:
    """Return a thread as it is shown."""
    sessions = visit.house.works.sessions
    state: SessionState | None = thread.parent
    if thread.child_id:
        try:
            state = await sessions.state(thread.child_id)
        except UnknownSession:
            state = None  # it is being made
    busy = sessions.is_busy(thread.log_id)
    if thread.child_id:
        status = thread_status(thread.parent, thread.child_id, state, busy=busy)
    else:
        status = own_status(thread.parent, busy=busy)
    archived = thread.session.archived_at
    if archived is None and thread.child_id and thread.parent.children[thread.child_id].closed and state:
        archived = state.updated_at
    return {
        "id": thread.id,
        "type": "session_thread",
        "session_id": thread.session.id,
        "parent_thread_id": thread_id(thread.session.id) if thread.child_id else None,
        "agent": _agent(thread),
        "status": status,
        **_figures(visit, thread, state, archived),
        "archived_at": None if archived is None else written_time(archived),
        "workflow_run_id": None,
    }


def _figures(
    visit: Visit, thread: Thread, state: SessionState | None, archived: float | None
) -> dict[str, Any]:
    if state is None:
        began = written_time(thread.parent.updated_at)
        return {"stats": None, "usage": None, "created_at": began, "updated_at": began}
    total = state.conversation.total
    ends = archived or visit.house.clock.now()
    stats = {
        "active_seconds": total.seconds,
        "duration_seconds": max(ends - state.created_at, 0.0),
        "startup_seconds": 0.0,
    }
    return {
        "stats": stats,
        "usage": whole_usage(total) if state.last_end is not None else None,
        "created_at": written_time(state.created_at),
        "updated_at": written_time(state.updated_at),
    }


def _agent(thread: Thread) -> dict[str, Any]:
    """Return the agent of a thread, without the roster."""
    agent = thread.session.body["agent"]
    if thread.child_id:
        members = (agent["multiagent"] or {"agents": ()})["agents"]
        called = thread.parent.children[thread.child_id].started.agent
        agent = next((m for name, m in zip(names(members), members, strict=True) if name == called), agent)
    return {name: value for name, value in agent.items() if name != "multiagent"}


_THREADS: Final = "/v1/sessions/{session_id}/threads"
_ONE: Final = _THREADS + "/{thread_id}"
ROUTES: Final = (
    Route(
        method="GET", path=_THREADS, handler=list_threads, summary="List threads", group="threads",
        query=ThreadQuery, returns=Page[ThreadShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a thread", group="threads",
        returns=ThreadShown,
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="End a thread", group="threads",
        returns=ThreadShown, scope="write",
    ),
    Route(
        method="GET", path=f"{_ONE}/events", handler=list_events, summary="List events of a thread",
        group="threads", query=ThreadEventQuery, returns=EventsShown,
    ),
    Route(
        method="GET", path=f"{_ONE}/stream", handler=stream, summary="Follow a thread", group="threads",
        query=StreamQuery, media="text/event-stream",
    ),
)  # fmt: skip
