"""Events that clients send: checked all together, then done one after the other."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolwright.contracts.content import Content
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallWaiting
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalAnswer
from toolwright.surfaces.http.managed import memory_mounts
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.event_bodies import Body, blocks
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
    for event in sent:
        if isinstance(event, UserMessage | CustomToolResult):
            content(event.content or ())


async def deliver(visit: Visit, session_id: str, events: Sequence[SentEvent]) -> list[Body]:
    """Do what events say; return them as they are stored. May raise Problem, and nothing was done then."""
    check_content(events)
    history = await visit.house.part(Desk).histories.of(session_id)
    if history.translation.state.ended is not None:
        raise Problem("invalid", "The session is archived; no event is taken any more.")
    calls = _answered_calls(history, events)
    if any(isinstance(event, UserMessage) for event in events):
        await memory_mounts.settle(visit, session_id)
    return [await _done(visit, session_id, history, event, calls) for event in events]


def _answered_calls(history: History, events: Sequence[SentEvent]) -> dict[str, CallWaiting]:
    """Return the waiting calls that events answer, by the ids of their events. May raise Problem."""
    found: dict[str, CallWaiting] = {}
    for number, event in enumerate(events):
        if isinstance(event, ToolConfirmation | CustomToolResult):
            id = event.tool_use_id if isinstance(event, ToolConfirmation) else event.custom_tool_use_id
            if id in found:
                raise Problem("invalid", f"events.{number}: {id} is answered twice")
            found[id] = _waiting(history, id, custom=isinstance(event, CustomToolResult), where=number)
    return found


def _waiting(history: History, id: str, *, custom: bool, where: int) -> CallWaiting:
    what = "custom tool call" if custom else "tool call that asks"
    waiting = history.translation.waiting.get(id)
    if waiting is None:
        known = id in history.translation.calls_by_use
        why = "is answered, or was never asked about" if known else "is unknown here"
        raise Problem("invalid", f"events.{where}: {id} {why}; no {what} of this session waits for it")
    if (waiting.kind == "client_result") != custom:
        raise Problem("invalid", f"events.{where}: {id} is no {what}")
    return waiting


async def _done(
    visit: Visit, session_id: str, history: History, event: SentEvent, calls: Mapping[str, CallWaiting]
) -> Body:
    sessions, now = visit.house.works.sessions, visit.house.clock.now()
    match event:
        case UserMessage():
            id = new_id("sevt")
            said = content(event.content)
            await sessions.send(session_id, said, input_id=id)
            return {"id": id, "type": event.type, "content": blocks(said), "processed_at": None}
        case UserInterrupt():
            await sessions.interrupt(session_id)
            return {"id": new_id("sevt"), "type": event.type, "processed_at": None}
        case ToolConfirmation():
            waiting = calls[event.tool_use_id]
            await _confirm(visit, session_id, event, waiting)
            body = event.model_dump(exclude_none=True, exclude={"session_thread_id"})
            return {"id": history.translation.answer_id(waiting.call_id), **body, "processed_at": None}
        case CustomToolResult():
            waiting = calls[event.custom_tool_use_id]
            given: Content = content(event.content or ()) or NO_RESULT
            is_error = bool(event.is_error)
            await sessions.deliver(session_id, waiting.call_id, given, is_error=is_error)
            return {
                "id": history.translation.answer_id(waiting.call_id),
                "type": event.type,
                "custom_tool_use_id": event.custom_tool_use_id,
                "content": blocks(given),
                "is_error": is_error,
                "processed_at": written_time(now),
            }


async def _confirm(visit: Visit, session_id: str, event: ToolConfirmation, waiting: CallWaiting) -> None:
    request = waiting.request
    if request is None:
        raise Problem("invalid", f"{event.tool_use_id} is no tool call that asks")
    answer = ApprovalAnswer(
        request_id=request.request_id,
        fingerprint=request.fingerprint,
        behavior=event.result,
        message=event.deny_message or ("" if event.result == "allow" else "The user rejected this call."),
    )
    try:
        await visit.house.works.sessions.answer(session_id, answer)
    except NotPossible as problem:
        raise Problem("invalid", str(problem)) from problem
