"""Events that clients send: checked all together, then done one after the other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwright.contracts.content import Content
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalAnswer
from toolwright.surfaces.http.managed import memory_mounts
from toolwright.surfaces.http.managed.call_telling import Open
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.event_bodies import Body, blocks, thread_id
from toolwright.surfaces.http.managed.event_shapes import (
    CustomToolResult,
    Sent,
    SentEvent,
    ToolConfirmation,
    UserInterrupt,
    UserMessage,
    content,
)
from toolwright.surfaces.http.managed.histories import History
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Visit, read

NO_RESULT = "The client gave no result."


def checked(events: Sequence[Mapping[str, Any]], *, only: Collection[str] = ()) -> list[SentEvent]:
    """Return events as they are understood. May raise Problem; ``only`` names the types that are taken."""
    if not events:
        return []
    for number, written in enumerate(events):
        if only and written.get("type") not in only:
            which = ", ".join(only)
            raise Problem("invalid", f"initial_events.{number}.type: only {which} can begin a session")
    sent = list(read(Sent, {"events": list(events)}).events)
    check_content(sent)
    return sent


def check_content(sent: Sequence[SentEvent]) -> None:
    """Raise Problem for content that cannot be taken, before anything is done."""
    for number, event in enumerate(sent):
        if isinstance(event, UserMessage | CustomToolResult):
            try:
                content(event.content or ())
            except Problem as problem:
                raise replace(problem, message=f"events.{number}.content: {problem.message}") from problem


async def deliver(visit: Visit, session_id: str, events: Sequence[SentEvent]) -> list[Body]:
    """Do what events say; return them as they are stored. May raise Problem, and nothing was done then."""
    check_content(events)
    history = await visit.house.part(Desk).histories.of(session_id)
    if history.translation.state.ended is not None:
        raise Problem("invalid", "The session is archived; no event is taken any more.")
    _check_threads(history, events)
    target = _Target(visit, session_id, history, _answered_calls(history, events))
    if any(isinstance(event, UserMessage) for event in events):
        await memory_mounts.settle(visit, session_id)
    return [await _done(target, event) for event in events]


@dataclass(frozen=True, slots=True)
class _Target:
    """What events are for: a session, and what of it they answer."""

    visit: Visit
    session_id: str
    history: History
    calls: Mapping[str, Open]
    """The waiting calls that events answer, by the ids of their events."""


def _answered_calls(history: History, events: Sequence[SentEvent]) -> dict[str, Open]:
    """Return the waiting calls that events answer, by the ids of their events. May raise Problem."""
    found: dict[str, Open] = {}
    for number, event in enumerate(events):
        if isinstance(event, ToolConfirmation | CustomToolResult):
            id = event.tool_use_id if isinstance(event, ToolConfirmation) else event.custom_tool_use_id
            if id in found:
                raise Problem("invalid", f"events.{number}: {id} is answered twice")
            found[id] = _waiting(history, id, custom=isinstance(event, CustomToolResult), where=number)
            thread = thread_id(found[id].child_id or history.translation.session_id)
            if event.session_thread_id not in {None, thread}:
                raise Problem("invalid", f"events.{number}.session_thread_id: {id} belongs to another thread")
    return found


def _waiting(history: History, id: str, *, custom: bool, where: int) -> Open:
    what = "custom tool call" if custom else "tool call that asks"
    waiting = history.translation.waiting.get(id)
    if waiting is None:
        known = id in history.translation.calls.by_use
        why = "is answered, or was never asked about" if known else "is unknown here"
        raise Problem("invalid", f"events.{where}: {id} {why}; no {what} of this session waits for it")
    if waiting.is_custom != custom:
        raise Problem("invalid", f"events.{where}: {id} is no {what}")
    return waiting


def _check_threads(history: History, events: Sequence[SentEvent]) -> None:
    """Raise Problem for interrupts of threads that are not there."""
    state = history.translation.state
    known = {history.translation.thread, *map(thread_id, state.children)}
    for number, event in enumerate(events):
        if isinstance(event, UserInterrupt) and event.session_thread_id not in {None, *known}:
            raise Problem("invalid", f"events.{number}.session_thread_id: there is no such thread here")


async def _done(target: _Target, event: SentEvent) -> Body:
    match event:
        case UserMessage():
            id, said = new_id("sevt"), content(event.content)
            await target.visit.house.works.sessions.send(target.session_id, said, input_id=id)
            return {"id": id, "type": event.type, "content": blocks(said), "processed_at": None}
        case UserInterrupt():
            return await _interrupt(target, event)
        case ToolConfirmation():
            return await _confirm(target, event)
        case CustomToolResult():
            return await _deliver(target, event)


async def _interrupt(target: _Target, event: UserInterrupt) -> Body:
    """Stop one thread, or all of them."""
    sessions, id, thread = target.visit.house.works.sessions, new_id("sevt"), event.session_thread_id
    children = target.history.translation.state.children
    child_id = next((child_id for child_id in children if thread_id(child_id) == thread), "")
    if child_id:
        why = "Interrupted by the user"
        await sessions.families.stop_one(target.session_id, child_id, reason=why, interrupt_id=id)
    else:
        await sessions.interrupt(target.session_id, interrupt_id=id, alone=thread is not None)
    named = {"session_thread_id": thread} if thread is not None else {}
    return {"id": id, "type": event.type, **named, "processed_at": None}


async def _deliver(target: _Target, event: CustomToolResult) -> Body:
    call = target.calls[event.custom_tool_use_id]
    given: Content = content(event.content or ()) or NO_RESULT
    is_error = bool(event.is_error)
    await target.visit.house.works.sessions.deliver(
        target.session_id, call.call_id, given, is_error=is_error, child_id=call.child_id
    )
    return {
        "id": call.answer_id(target.session_id),
        "type": event.type,
        "custom_tool_use_id": event.custom_tool_use_id,
        "content": blocks(given),
        "is_error": is_error,
        **call.thread,
        "processed_at": written_time(target.visit.house.clock.now()),
    }


async def _confirm(target: _Target, event: ToolConfirmation) -> Body:
    call = target.calls[event.tool_use_id]
    request = call.request
    if request is None:
        raise Problem("invalid", f"{event.tool_use_id} is no tool call that asks")
    answer = ApprovalAnswer(
        request_id=request.request_id,
        fingerprint=request.fingerprint,
        behavior=event.result,
        message=event.deny_message or ("" if event.result == "allow" else "The user rejected this call."),
    )
    try:
        await target.visit.house.works.sessions.answer(target.session_id, answer)
    except NotPossible as problem:
        raise Problem("invalid", str(problem)) from problem
    body = event.model_dump(exclude_none=True, exclude={"session_thread_id"})
    return {"id": call.answer_id(target.session_id), **body, **call.thread, "processed_at": None}
