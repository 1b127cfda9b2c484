"""Children of a session as threads: their lives, what they say, what they ask of the client (pure)."""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallAnswered,
    CallWaiting,
    ChildCallAnswered,
    ChildCallsLeft,
    ChildClosed,
    ChildEnded,
    ChildStarted,
    Record,
)
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.sessions.state import SessionState
from toolwright.surfaces.http.managed.call_telling import (
    USES,
    Open,
    confirmed,
    custom_result,
    evaluation,
    mcp_names,
    of_child,
)
from toolwright.surfaces.http.managed.event_bodies import STOPS, Body, blocks, event_id, thread_id
from toolwright.surfaces.http.managed.told import Told, Voice


class ThreadTelling:
    """Tells of the children of one session, on its own stream."""

    def __init__(self, voice: Voice, state: SessionState, by_use: set[str]) -> None:
        """``by_use`` takes the ids of events that tell of calls."""
        self._voice = voice
        self._state = state
        self._by_use = by_use
        self._asked: dict[str, ApprovalRequest] = {}

    def _begins(self, event: ChildStarted, record: Record) -> Iterable[Told]:
        key = f"{event.child_id}/{record.seq}"
        if self._state.children[event.child_id].starts == 1:
            made = {**self._about(event.child_id), "workflow_run_id": None}
            yield self._voice.told(self._voice.id("thread", key), "session.thread_created", record.at, made)
        yield self._status(event.child_id, "running", key, record.at)

    def _over(self, event: ChildEnded, record: Record) -> Iterable[Told]:
        key = f"{event.child_id}/{record.seq}"
        if event.end == "failed":
            yield self._status(event.child_id, "terminated", key, record.at)
        else:
            stop = {"type": STOPS.get(event.end, "retries_exhausted")}
            yield self._rests(event.child_id, stop, key, record.at)
        said = self._about(event.child_id)
        body = {
            "from_session_thread_id": said["session_thread_id"],
            "from_agent_name": said["agent_name"],
            "content": blocks(event.summary or event.message),
        }
        kind = "agent.thread_message_received"
        yield self._voice.told(self._voice.id("thread message", key), kind, record.at, body)

    def _closed(self, event: ChildClosed, record: Record) -> Iterable[Told]:
        yield self._status(event.child_id, "terminated", f"{event.child_id}/{record.seq}", record.at)

    # --- what they ask of the client ---

    def _asks(self, event: CallWaiting, record: Record) -> Iterable[Told]:
        request = event.request
        if event.kind != "child" or request is None:
            return
        self._asked[request.request_id] = request
        agent = self._agent_of(request.session_id)
        server, name = mcp_names(request.tool, agent)
        body: Body = {"name": name or request.offered_name, "input": dict(request.input)}
        body |= {"evaluated_permission": "ask", "evaluation": evaluation(agent, request.tool, "ask")}
        if server:
            body["mcp_server_name"] = server
        yield from self._use(of_child(request), USES["mcp" if server else "builtin"], body, record)
        yield self._waits(request.session_id, record)

    def _agent_of(self, child_id: str) -> AgentDefinition:
        named, agent = self._state.children.get(child_id), self._state.agent
        name = named.started.agent if named is not None else ""
        return next((one for one in agent.roster if one.name == name), agent)

    def _leaves(self, event: ChildCallsLeft, record: Record) -> Iterable[Told]:
        for left in event.calls:
            body: Body = {"name": left.tool, "input": dict(left.input)}
            yield from self._use(_left(event.child_id, left.call_id), USES["custom"], body, record)
        yield self._waits(event.child_id, record)

    def _use(self, call: Open, kind: str, body: Body, record: Record) -> Iterable[Told]:
        if call.use_id not in self._by_use:
            self._by_use.add(call.use_id)
            yield self._voice.told(call.use_id, kind, record.at, {**body, **call.thread})

    def _waits(self, child_id: str, record: Record) -> Told:
        stop = {"type": "requires_action", "event_ids": self._waits_for(child_id)}
        return self._rests(child_id, stop, f"{child_id}/{record.seq}", record.at)

    def _waits_for(self, child_id: str) -> list[str]:
        child = self._state.children[child_id]
        asked = child.asks.request if child.asks is not None else None
        own = [] if asked is None else [of_child(asked).use_id]
        return own + [event_id(child_id, "call", call_id) for call_id in child.left]

    def _confirmed(self, event: CallAnswered, record: Record) -> Iterable[Told]:
        answer = event.answer
        request = self._asked.get(answer.request_id) if answer is not None else None
        if answer is None or request is None:
            return
        call = of_child(request)
        yield from confirmed(self._voice, call, record.at, answer.behavior, answer.message)
        yield from self._goes_on(call.child_id, record)

    def _delivered(self, event: ChildCallAnswered, record: Record) -> Iterable[Told]:
        body = {"content": blocks(event.content), "is_error": event.is_error}
        yield custom_result(self._voice, _left(event.child_id, event.call_id), record.at, body)
        yield from self._goes_on(event.child_id, record)

    def _goes_on(self, child_id: str, record: Record) -> Iterable[Told]:
        child = self._state.children.get(child_id)
        if child is not None and child.runs and not child.waits:
            yield self._status(child_id, "running", f"{child_id}/{record.seq}", record.at)

    # --- how they stand ---

    def _rests(self, child_id: str, stop: Body, key: str, at: float) -> Told:
        return self._status(child_id, "idle", key, at, {"stop_reason": stop, "stop_details": None})

    def _status(self, child_id: str, status: str, key: str, at: float, more: Body | None = None) -> Told:
        kind, body = f"session.thread_status_{status}", {**self._about(child_id), **(more or {})}
        return self._voice.told(self._voice.id(f"thread {status}", key), kind, at, body)

    def _about(self, child_id: str) -> Body:
        started = self._state.children[child_id].started
        return {"session_thread_id": thread_id(child_id), "agent_name": started.agent}

    TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[Told]]]] = {
        ChildStarted: _begins,
        ChildEnded: _over,
        ChildClosed: _closed,
        CallWaiting: _asks,
        CallAnswered: _confirmed,
        ChildCallsLeft: _leaves,
        ChildCallAnswered: _delivered,
    }


def _left(child_id: str, call_id: str) -> Open:
    return Open(use_id=event_id(child_id, "call", call_id), call_id=call_id, child_id=child_id)
