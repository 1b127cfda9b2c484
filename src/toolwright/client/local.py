"""An engine in this process, behind the same door as one that is served: for tests and small programs."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolwright.client.following import Event
from toolwright.client.problems import EngineRefused
from toolwright.contracts.content import Block, Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.ids import new_id
from toolwright.surfaces.engine import Engine
from toolwright.surfaces.engine_events import TurnTelling, question_told, turn_of
from toolwright.surfaces.session import Session

if TYPE_CHECKING:
    from toolwright.client.door import Door

_YES = frozenset({"yes", "y", "true", "allow", "approve"})
_NOT_HERE = ("edit_message_id", "retry_message_id")
_GRACE = 0.5
"""Seconds that turns are given to end when nobody reads them any more."""
_SERVE_ONE = "Serve an engine, and reach it with EngineClient(base_url)."


@dataclass(slots=True)
class _Task:
    """One task is one session."""

    id: str
    session: Session


class LocalDoor:
    """``Door`` to an engine that is opened when it is first needed and closed with the door."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._tasks: dict[str, _Task] = {}
        self._opened: asyncio.Task[None] | None = None
        self._engine: asyncio.Future[Engine] | None = None
        self._leave = asyncio.Event()

    # --- turns ------------------------------------------------------------------------------------

    async def execute(self, body: Mapping[str, Any]) -> AsyncGenerator[Event]:
        for name in _NOT_HERE:
            if body.get(name) is not None:
                raise _not_implemented(f"the field {name}")
        content = _content(body)
        task = await self._task(str(body["task_id"]), str(body.get("agent") or ""))
        state = await task.session.state()
        if state.questions:
            raise EngineRefused("HITL_REQUIRED", f"the task {task.id!r} waits for an answer.", status=409)
        if state.run is not None:
            raise EngineRefused("TASK_BUSY", f"a turn runs on the task {task.id!r}.", status=409)
        input_id = await task.session.send(content, input_id=new_id("input"))
        turn_id = turn_of(input_id)
        async with aclosing(self._told(task)) as events:
            async for event in events:
                if event["turn_id"] == turn_id:
                    yield event
                    if event["type"] == "error" or event.get("phase") == "completed":
                        return

    async def replay(self, after: int, task_id: str | None) -> AsyncGenerator[Event]:
        if task_id is not None and task_id not in self._tasks:
            raise EngineRefused("TASK_NOT_FOUND", f"there is no task {task_id!r}.", status=404)
        found: list[Event] = []
        for task in [self._tasks[task_id]] if task_id is not None else list(self._tasks.values()):
            async with aclosing(self._told(task)) as events:
                found += [event async for event in events if event["ts"] > after]
        for event in sorted(found, key=lambda event: event["ts"]):
            yield event

    async def _told(self, task: _Task) -> AsyncGenerator[Event]:
        """Yield all events of a task, and those that come until the turn that runs now is over."""
        telling, head = TurnTelling(task.id), (await task.session.state()).head
        async with aclosing(task.session.stream(until_quiet=False)) as records:
            async for record in records:
                for event in telling.take(record):
                    yield event
                if record.seq is not None and record.seq >= head and not telling.turn_id:
                    return

    # --- anything else ------------------------------------------------------------------------------

    async def ask(self, method: str, path: str, *, body: Mapping[str, Any] | None = None) -> Any:
        given = dict(body or {})
        match f"{method} {path}":
            case "GET /health":
                return {"status": "ok"}
            case "GET /hitl/pending":
                return {"pending": await self._pending()}
            case "POST /hitl/respond":
                return await self._respond(given)
            case "POST /execute/cancel":
                task = self._known(str(given["task_id"]))
                return {"status": "cancelled" if await task.session.interrupt() else "idle"}
        raise _not_implemented(f"{method} {path}")

    async def _pending(self) -> list[Event]:
        return [
            {"task_id": task.id, **question_told(waiting)}
            for task in self._tasks.values()
            for waiting in (await task.session.state()).questions
            if waiting.request is not None
        ]

    async def _respond(self, given: Mapping[str, Any]) -> Event:
        task, wanted = self._known(str(given["task_id"])), given.get("request_id")
        for waiting in (await task.session.state()).questions:
            request = waiting.request
            if request is None or wanted not in {None, request.request_id}:
                continue
            feedback = str(given.get("feedback") or "")
            if str(given["answer"]).strip().lower() in _YES:
                await task.session.answer(request.allowed())
            else:
                await task.session.answer(request.denied(feedback or "The person said no."))
            return {"status": "resumed", "request_id": request.request_id}
        raise EngineRefused("HITL_NOT_PENDING", f"nothing of the task {task.id!r} waits.", status=404)

    def _known(self, task_id: str) -> _Task:
        task = self._tasks.get(task_id)
        if task is None:
            raise EngineRefused("TASK_NOT_FOUND", f"there is no task {task_id!r}.", status=404)
        return task

    # --- the engine ---------------------------------------------------------------------------------

    async def close(self) -> None:
        self._leave.set()
        if self._opened is not None:
            # Who asked for it was told why it could not be opened.
            await asyncio.gather(self._opened, return_exceptions=True)

    async def _task(self, task_id: str, agent: str) -> _Task:
        known = self._tasks.get(task_id)
        if known is None:
            engine = await self._open()
            known = self._tasks[task_id] = _Task(task_id, await engine.session(agent=agent, title=task_id))
        return known

    async def _open(self) -> Engine:
        """Open the engine once. One task of its own opens and closes it, whoever asks for it."""
        if self._engine is None:
            self._engine = asyncio.get_running_loop().create_future()
            self._opened = asyncio.create_task(self._held(self._engine))
        return await asyncio.shield(self._engine)

    async def _held(self, opened: "asyncio.Future[Engine]") -> None:
        try:
            async with self._make() as engine:
                opened.set_result(engine)
                await self._leave.wait()
                await engine.close(grace=_GRACE)
        except BaseException as problem:
            if not opened.done():
                opened.set_exception(problem)
            raise


def _content(body: Mapping[str, Any]) -> Content:
    message, media = str(body.get("message") or ""), body.get("media") or ()
    if not message and not media:
        raise EngineRefused("INVALID_REQUEST", "there is no message.", status=400)
    if not media:
        return message
    said: tuple[Block, ...] = (TextBlock(message),) if message else ()
    return (*said, *(_medium(block) for block in media))


def _medium(block: Mapping[str, Any]) -> Block:
    source = block.get("source", {})
    if source.get("type") != "base64" or block.get("type") not in {"image", "document"}:
        raise _not_implemented("media that are no images or documents as base64")
    made = ImageBlock if block["type"] == "image" else DocumentBlock
    return made(data=str(source["data"]), media_type=str(source["media_type"]))


def _not_implemented(what: str) -> EngineRefused:
    return EngineRefused(
        "NOT_IMPLEMENTED", f"the engine in this process does not know {what}.", status=501, hint=_SERVE_ONE
    )


if TYPE_CHECKING:

    def _conforms(door: LocalDoor) -> Door:
        return door
