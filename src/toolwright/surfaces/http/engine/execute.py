"""``POST /execute`` and what belongs to it: one turn of a task, its replay, its end."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any, Final

from pydantic import Field
from starlette.responses import Response

from toolwright.contracts.content import Content
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import InputAccepted, SessionCreated
from toolwright.contracts.ids import new_id
from toolwright.contracts.storage import UnknownSession
from toolwright.sessions.state import SessionState
from toolwright.surfaces.http.engine.channels import Channel, Sent
from toolwright.surfaces.http.engine.content import MOST_BODY, said
from toolwright.surfaces.http.engine.desk import Desk
from toolwright.surfaces.http.engine.dialect import Asked, body
from toolwright.surfaces.http.engine.streams import Beat, replayed, streamed, turn_frames
from toolwright.surfaces.http.engine.tasks import LABEL, Task
from toolwright.surfaces.http.engine.telling import request_id, turn_of
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Route, Visit

_MOST_REPLAYED: Final = 200


class Execution(Asked):
    """One turn."""

    task_id: str
    message: str = ""
    media: list[Any] = Field(default_factory=list)
    direct: bool = False
    edit_message_id: str | None = None
    retry_message_id: str | None = None
    super_thinking: bool = False
    effort: str | None = None
    agent: str | None = None


class TaskNamed(Asked):
    """A task."""

    task_id: str


async def execute(visit: Visit) -> Response:
    """Run one turn and stream what happens; it goes on when the client leaves."""
    asked = await body(visit, Execution, most=MOST_BODY)
    if not asked.task_id:
        raise Problem("invalid", "task_id: this field is required")
    if not asked.message.strip() and not asked.media and asked.retry_message_id is None:
        raise Problem("invalid", "message: this field is required")
    if asked.edit_message_id is not None and asked.retry_message_id is not None:
        raise Problem("invalid", "edit_message_id and retry_message_id cannot be given together")
    content = said(asked.message, asked.media, where="media")
    desk = visit.house.part(Desk)
    async with desk.tasks.alone(visit.workspace, asked.task_id):
        task, content = await _ready(visit, desk, asked, content)
        held = contextlib.AsyncExitStack()
        channel = await held.enter_async_context(desk.channels.of(task))
        try:
            place, message_id = len(channel.sent), new_id("msg")
            await visit.house.works.sessions.send(task.session_id, content, input_id=message_id)
        except BaseException:
            await held.aclose()
            raise
    beat = Beat(visit.house.clock, every=desk.heartbeat)
    return streamed(_live(held, desk, channel, turn_of(message_id), place=place, beat=beat))


async def _live(
    held: contextlib.AsyncExitStack, desk: Desk, channel: Channel, turn_id: str, *, place: int, beat: Beat
) -> AsyncGenerator[bytes]:
    async with held:
        async for piece in turn_frames(channel, desk.channels, turn_id, place=place, beat=beat):
            yield piece


# --- which session, which agent ---------------------------------------------------------------


async def _ready(visit: Visit, desk: Desk, asked: Execution, content: Content) -> tuple[Task, Content]:
    """Return the task, ready for its next turn, and what is said in it. May raise Problem."""
    thinks = asked.super_thinking or asked.effort == "high"
    task = await desk.tasks.get(visit.workspace, asked.task_id)
    name = asked.agent or (task.agent if task is not None else desk.options.default_agent)
    agent = desk.agent(name, thinks=thinks)
    if task is None:
        if asked.edit_message_id is not None or asked.retry_message_id is not None:
            raise _no_message(asked.edit_message_id or asked.retry_message_id or "")
        await _check_slots(visit, desk)
        return await _begun(visit, desk, asked.task_id, agent), content
    state = await _resting(visit, task)
    await _check_slots(visit, desk)
    target = asked.edit_message_id or asked.retry_message_id
    if target is not None:
        task, before = await _again_from(visit, desk, task, target)
        content = before if asked.retry_message_id is not None and not asked.message else content
        state = await visit.house.works.sessions.state(task.session_id)
    if state.agent != agent:
        await visit.house.works.sessions.change_agent(task.session_id, agent)
    return await desk.tasks.with_agent(task, agent.name), content


async def _begun(visit: Visit, desk: Desk, task_id: str, agent: AgentDefinition) -> Task:
    """Make the session of a new task. One that was made before a crash and never noted is left to nobody."""
    session_id = new_id("sesn")
    project = await visit.house.session_folder(session_id)

    def about(created: SessionCreated) -> SessionCreated:
        return replace(created, workspace=visit.workspace, labels={LABEL: task_id})

    await visit.house.works.sessions.create(agent, project=project, session_id=session_id, about=about)
    return await desk.tasks.add(visit.workspace, task_id, session_id, agent.name)


async def _resting(visit: Visit, task: Task) -> SessionState:
    """Return the state of a task's session, at which nobody works and which waits for nobody."""
    try:
        state = await visit.house.works.sessions.state(task.session_id)
    except UnknownSession:
        raise Problem(
            "not_found", f"The task {task.task_id[:80]!r} was deleted.", code="TASK_NOT_FOUND"
        ) from None
    if state.ended is not None:
        raise Problem("conflict", "The task has ended; nothing more can be said in it.", code="TASK_ENDED")
    if state.questions:
        open_ones = [request_id(asked) for asked in state.questions]
        raise Problem(
            "conflict",
            "The task waits for an answer: POST /hitl/respond first.",
            code="HITL_REQUIRED",
            details={"request_ids": open_ones},
        )
    if state.status != "idle" or visit.house.works.sessions.is_busy(task.session_id):
        raise Problem("conflict", "A turn of this task is running.", code="TASK_BUSY")
    return state


async def _check_slots(visit: Visit, desk: Desk) -> None:
    cards = await visit.house.works.store.cards(status="running", limit=desk.options.slots + 1)
    if len(cards) >= desk.options.slots:
        raise Problem(
            "unavailable",
            f"{desk.options.slots} turns are running, which is the most at once (MAX_TASK_SLOTS).",
            code="NO_FREE_SLOT",
            headers={"retry-after": "1"},
        )


async def _again_from(visit: Visit, desk: Desk, task: Task, message_id: str) -> tuple[Task, Content]:
    """Let a task go on from before a message of a user; return what that one said. May raise Problem."""
    sessions = visit.house.works.sessions
    found: InputAccepted | None = None
    at = 0
    async with contextlib.aclosing(
        sessions.follow(task.session_id, deltas=False, views=False, until=_Now())
    ) as log:
        async for record in log:
            event = record.event
            if isinstance(event, InputAccepted) and event.input_id == message_id and event.source == "user":
                found, at = event, (record.seq or 1) - 1
    if found is None:
        raise _no_message(message_id)
    session_id = await sessions.fork(task.session_id, at=at)
    head = (await sessions.state(session_id)).head
    return await desk.tasks.go_on_in(task, session_id, silent_until=head), found.content


class _Now:
    """Ends the following of a log where it stands."""

    is_over = True

    async def over(self) -> None:
        """It is over already."""


def _no_message(message_id: str) -> Problem:
    return Problem("not_found", f"There is no message {message_id[:80]!r} of a user in this task.")


# --- replay and cancel ------------------------------------------------------------------------


async def replay(visit: Visit) -> Response:
    """Send what was sent after a time; what goes on is followed to its end."""
    after = _after(visit)
    task_id = visit.request.query_params.get("task_id")
    desk = visit.house.part(Desk)
    tasks = [await desk.task(visit.workspace, task_id)] if task_id is not None else await _recent(visit, desk)
    held = contextlib.AsyncExitStack()
    try:
        channels = [await held.enter_async_context(desk.channels.of(task)) for task in tasks]
    except BaseException:
        await held.aclose()
        raise
    fresh = _fresh(desk, visit.house.clock.now())
    beat = Beat(visit.house.clock, every=desk.heartbeat)
    return streamed(
        replayed(held, channels, after=after, counts=fresh, ending=lambda: desk.channels.ending, beat=beat)
    )


def _after(visit: Visit) -> int:
    written = visit.request.query_params.get("after") or visit.request.headers.get("last-event-id") or "0"
    if not (written.isascii() and written.isdigit() and len(written) < 17):
        raise Problem("invalid", "after: milliseconds since 1970, such as the ts of the last event seen")
    return int(written)


def _fresh(desk: Desk, now: float) -> "_Fresh":
    options = desk.options
    return _Fresh(int((now - options.active_seconds) * 1000), int((now - options.paused_seconds) * 1000))


class _Fresh:
    """Which events can still be replayed: those of turns whose last event is not too old."""

    def __init__(self, active_since: int, paused_since: int) -> None:
        self._active_since = active_since
        self._paused_since = paused_since
        self._last: dict[tuple[int, str], int] = {}

    def __call__(self, channel: Channel, sent: Sent) -> bool:
        if sent.ts >= self._active_since:
            return True
        key = (id(channel), sent.turn_id)
        if key not in self._last:
            self._last[key] = max(one.ts for one in channel.sent if one.turn_id == sent.turn_id)
        is_open = channel.telling is not None and channel.telling.turn_id == sent.turn_id
        return self._last[key] >= (self._paused_since if is_open else self._active_since)


async def _recent(visit: Visit, desk: Desk) -> list[Task]:
    """Return the tasks of which something can be replayed."""
    now = visit.house.clock.now()
    found: dict[str, Task] = {}
    for card in await visit.house.works.store.cards(limit=_MOST_REPLAYED):
        lasts = desk.options.paused_seconds if card.status == "waiting" else desk.options.active_seconds
        if card.updated_at < now - lasts and card.status != "running":
            continue
        created = (await visit.house.works.sessions.state(card.session_id)).created
        task_id = created.labels.get(LABEL)
        if task_id is None or created.workspace != visit.workspace or task_id in found:
            continue
        task = await desk.tasks.get(visit.workspace, task_id)
        if task is not None:
            found[task_id] = task
    return list(found.values())


async def cancel(visit: Visit) -> dict[str, Any]:
    """Stop the turn that runs, or that waits for a person."""
    asked = await body(visit, TaskNamed)
    desk = visit.house.part(Desk)
    task = await desk.task(visit.workspace, asked.task_id)
    try:
        stopped = await visit.house.works.sessions.interrupt(task.session_id, "Cancelled by the client.")
    except NotPossible:
        stopped = False
    return {"status": "cancelled" if stopped else "idle", "task_id": task.task_id}


ROUTES: Final = (
    Route(
        method="POST", path="/execute", handler=execute, summary="Run one turn of a task", group="execute",
        body=Execution, media="text/event-stream", scope="write", most=MOST_BODY,
    ),
    Route(
        method="GET", path="/execute/replay", handler=replay, summary="Replay events", group="execute",
        media="text/event-stream",
    ),
    Route(
        method="POST", path="/execute/cancel", handler=cancel, summary="Stop a turn", group="execute",
        body=TaskNamed, scope="write",
    ),
)  # fmt: skip
