"""The log of a session as the events of this dialect (pure).

A translation takes the records of one session in their order and tells what a client sees of each. The same
log tells the same events with the same ids, whoever reads it and whenever; so history and streams agree.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallWaiting,
    ChildEnded,
    ChildStarted,
    Compacted,
    InputAccepted,
    InputTaken,
    InterruptRequested,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    PermissionDecided,
    Record,
    RunEnded,
    RunStarted,
    ServerChanged,
    SessionEnded,
)
from toolwright.contracts.messages import CallBlock, ThinkingBlock
from toolwright.contracts.models import NO_USAGE, TextDelta, Usage
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.sessions.state import folded
from toolwright.surfaces.http.managed.event_bodies import (
    Body,
    blocks,
    error,
    event_id,
    model_error,
    model_usage,
    thread_id,
    whole_usage,
)
from toolwright.surfaces.http.reading import written_time
from toolwright.tool_calls.json_text import Broken, parsed
from toolwright.tool_calls.loading import inner_input

_USES: Final = {"mcp": "agent.mcp_tool_use", "custom": "agent.custom_tool_use", "builtin": "agent.tool_use"}
_RESULTS: Final = {"mcp": "agent.mcp_tool_result", "builtin": "agent.tool_result"}
_STOPS: Final[Mapping[str, str]] = {
    "done": "end_turn",
    "interrupted": "end_turn",
    "returned": "end_turn",
    "stopped": "end_turn",
    "max_tokens": "end_turn",
    "refusal": "refusal",
    "waiting": "requires_action",
}
"""By the end of a run; any other end used up what could be tried."""
_SERVER_ERRORS: Final[Mapping[str, str]] = {
    "failed": "mcp_connection_failed_error",
    "needs_auth": "mcp_authentication_failed_error",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One event as a client gets it."""

    id: str
    type: str
    at: float
    body: Body
    preview: bool = False
    """On streams only: words of an answer that is not complete."""

    @property
    def is_stored(self) -> bool:
        """Whether it stands in the history."""
        return not self.preview


@dataclass(slots=True)
class _Call:
    """A call as far as it was told."""

    block: CallBlock
    kind: str = "builtin"
    use_id: str = ""
    """Of the event that tells it; empty while it was not told."""


class Translation:
    """Of one session, from its first record on. ``state`` is what the log has led to so far."""

    def __init__(self, created: Record) -> None:
        """Begins with the creation of the session, of which nothing is told. May raise EngineFault."""
        self.state = folded([created])
        self.session_id = created.session_id
        self.thread = thread_id(created.session_id)
        self.calls_by_use: dict[str, str] = {}
        """By the id of an event that tells a call: the call, so that answers find it."""
        self._inputs: dict[str, InputAccepted] = {}
        self._calls: dict[str, _Call] = {}
        self._decided: dict[str, PermissionDecided] = {}
        self._turn = ""
        self._texts = -1
        self._span = ""
        self._said_of = ""
        """The run whose end was told with a reason already."""

    def take(self, record: Record) -> list[Told]:
        """Tell what a record means to a client."""
        event = record.event
        if record.seq is None:
            return list(self._words(event, record.at)) if isinstance(event, TextDelta) else []
        self.state.apply(event, record.at)
        tell = self._TOLD_BY.get(type(event))
        return list(tell(self, event, record)) if tell is not None else []

    @property
    def waits_for(self) -> list[str]:
        """Ids of the events that a client has to answer before the session can go on."""
        return list(self.waiting)

    @property
    def waiting(self) -> dict[str, CallWaiting]:
        """The calls that a client has to answer, by the ids of their events."""
        block = self.state.conversation.block
        questions = block.questions if block is not None else ()
        return {self._use_id(waiting): waiting for waiting in questions}

    @property
    def _client_tools(self) -> set[str]:
        return {tool.name for tool in self.state.agent.client_tools}

    # --- what was said to it ---

    def _accepted(self, event: InputAccepted, record: Record) -> Iterable[Told]:
        if event.source == "user":
            self._inputs[event.input_id] = event
            yield self._message(event, record.at, processed=False)

    def _taken(self, event: InputTaken, record: Record) -> Iterable[Told]:
        accepted = self._inputs.pop(event.input_id, None)
        if accepted is not None:
            yield self._message(accepted, record.at, processed=True)

    def _message(self, event: InputAccepted, at: float, *, processed: bool) -> Told:
        return self._told(
            event.input_id, "user.message", at, {"content": blocks(event.content)}, processed=processed
        )

    def _interrupted(self, event: InterruptRequested, record: Record) -> Iterable[Told]:
        del event
        yield self._told(self._id("interrupt", record.seq), "user.interrupt", record.at, {})

    # --- runs ---

    def _run_begins(self, event: RunStarted, record: Record) -> Iterable[Told]:
        yield self._told(self._id("running", event.run_id), "session.status_running", record.at, {})
        yield self._of_thread("running", event.run_id, record.at)

    def _run_over(self, event: RunEnded, record: Record) -> Iterable[Told]:
        stop = self._stop(event)
        if stop["type"] == "retries_exhausted" and event.end == "limit":
            told = error("tool_use_limit_reached_error", event.message)
            yield self._told(self._id("limit", event.run_id), "session.error", record.at, {"error": told})
        elif stop["type"] == "retries_exhausted" and self._said_of != event.run_id:
            told = error("unknown_error", event.message or "The run ended early.")
            yield self._told(self._id("failed", event.run_id), "session.error", record.at, {"error": told})
        why: Body = {"stop_reason": stop, "stop_details": _details(event)}
        yield self._of_thread("idle", event.run_id, record.at, **why)
        usage = {"usage": whole_usage(self.state.conversation.total), "budget": None}
        yield self._told(self._id("usage", event.run_id), "session.usage", record.at, usage)
        yield self._told(self._id("idle", event.run_id), "session.status_idle", record.at, why)

    def _stop(self, event: RunEnded) -> Body:
        kind = _STOPS.get(event.end, "retries_exhausted")
        return {"type": kind, "event_ids": self.waits_for} if kind == "requires_action" else {"type": kind}

    def _over(self, event: SessionEnded, record: Record) -> Iterable[Told]:
        del event
        yield self._of_thread("terminated", "end", record.at)
        yield self._told(self._id("terminated", ""), "session.status_terminated", record.at, {})

    # --- the model ---

    def _asked(self, event: ModelAsked, record: Record) -> Iterable[Told]:
        self._turn, self._texts = event.turn_id, -1
        self._span = self._id("span", f"{event.turn_id}/{event.attempt}")
        yield self._told(self._span, "span.model_request_start", record.at, {})

    def _failed(self, event: ModelFailed, record: Record) -> Iterable[Told]:
        retrying = event.retry_in is not None or bool(event.next_model)
        yield self._span_over(f"{event.turn_id}/{event.attempt}", record.at, NO_USAGE, is_error=True)
        told = model_error(event.code, event.message, retrying=retrying)
        yield self._told(self._id("fault", record.seq), "session.error", record.at, {"error": told})
        if retrying:
            yield self._told(self._id("again", record.seq), "session.status_rescheduled", record.at, {})
        elif self.state.run is not None:
            self._said_of = self.state.run.run_id

    def _answered(self, event: ModelAnswered, record: Record) -> Iterable[Told]:
        at = record.at
        if any(isinstance(block, ThinkingBlock) for block in event.blocks):
            yield self._told(self._id("thinking", event.turn_id), "agent.thinking", at, {})
        texts = [block for block in event.blocks if isinstance(block, TextBlock) and block.text]
        if texts and not event.cut:
            body = {"content": [{"type": "text", "text": block.text} for block in texts]}
            yield self._told(self._message_id(event.turn_id), "agent.message", at, body)
        yield self._span_over(event.turn_id, at, event.usage, is_error=event.cut)
        self._turn = ""
        self._calls = {b.call_id: _Call(b) for b in event.blocks if isinstance(b, CallBlock)}
        for call_id, decided in self._decided.items():
            if call_id in self._calls:
                yield from self._decision(decided, record)
        self._decided = {}

    def _span_over(self, key: str, at: float, usage: Usage, *, is_error: bool) -> Told:
        body = {
            "model_request_start_id": self._span,
            "model_usage": model_usage(usage),
            "is_error": is_error,
        }
        return self._told(self._id("span end", key), "span.model_request_end", at, body)

    def _compacted(self, event: Compacted, record: Record) -> Iterable[Told]:
        del event
        kind = "agent.thread_context_compacted"
        yield self._told(self._id("compacted", record.seq), kind, record.at, {})

    def _words(self, event: TextDelta, at: float) -> Iterable[Told]:
        """Words of an answer that is not complete: on streams only, and only for who asked."""
        if not self._turn:
            return  # the answer was told already, whole
        message = self._message_id(self._turn)
        if self._texts < 0:
            self._texts = 0
            start: Body = {"type": "event_start", "event": {"type": "agent.message", "id": message}}
            yield Told("", "event_start", at, start, preview=True)
        content = {"type": "text", "text": event.text}
        delta = {"type": "content_delta", "index": self._texts, "content": content}
        body: Body = {"type": "event_delta", "event_id": message, "delta": delta}
        yield Told("", "event_delta", at, body, preview=True)

    # --- servers ---

    def _server(self, event: ServerChanged, record: Record) -> Iterable[Told]:
        """A server that is not there: the session goes on without its tools."""
        kind = _SERVER_ERRORS.get(event.status)
        if kind is not None:
            why = event.reason or "The server could not be reached."
            told = error(kind, why, mcp_server_name=event.name)
            yield self._told(self._id("server", record.seq), "session.error", record.at, {"error": told})

    # --- calls ---

    def _decision(self, event: PermissionDecided, record: Record) -> Iterable[Told]:
        if event.call_id not in self._calls:
            self._decided[event.call_id] = event  # a call that was started before its answer was complete
            return
        if event.tool in self._client_tools:
            return  # told once it waits for its client
        behavior = event.decision.behavior
        yield from self._use(event.call_id, event.tool, record.at, permission=behavior, judged=True)

    def _waiting(self, event: CallWaiting, record: Record) -> Iterable[Told]:
        if event.kind == "client_result":
            yield from self._use(event.call_id, event.tool, record.at, custom=True)
        elif event.kind == "permission":
            yield from self._use(event.call_id, event.tool, record.at, permission="ask", judged=True)
        elif event.request is not None:
            yield from self._use_of_child(event.request, record.at)

    def _use(
        self,
        call_id: str,
        tool: str,
        at: float,
        *,
        permission: str = "",
        judged: bool = False,
        custom: bool = False,
    ) -> Iterable[Told]:
        """Tell a call, once."""
        call = self._calls.get(call_id)
        if call is None or call.use_id:
            return
        server, name = mcp_names(tool)
        call.kind = "custom" if custom else "mcp" if server else "builtin"
        call.use_id = self._call_event(call_id)
        self.calls_by_use[call.use_id] = call_id
        inner = inner_input(call.block.input, name=call.block.name, tool=tool)
        read = parsed(call.block.input or "{}") if inner is None else inner
        called = call.block.name if inner is None else tool
        body: Body = {"name": name or called, "input": {} if isinstance(read, Broken) else read}
        if server:
            body["mcp_server_name"] = server
        if not custom:
            body["evaluated_permission"] = permission
            if judged:
                body["evaluation"] = {"type": _EVALUATIONS.get(permission, "always_allow")}
        yield self._told(call.use_id, _USES[call.kind], at, body)

    def _use_of_child(self, request: ApprovalRequest, at: float) -> Iterable[Told]:
        """Tell what a child asks: its client is this session's."""
        use_id = event_id(request.session_id, "call", request.call_id)
        self.calls_by_use[use_id] = request.call_id
        server, name = mcp_names(request.tool)
        body: Body = {"name": name or request.offered_name, "input": dict(request.input)}
        body |= {"evaluated_permission": "ask", "evaluation": {"type": "always_ask"}}
        body["session_thread_id"] = thread_id(request.session_id)
        if server:
            body["mcp_server_name"] = server
        yield self._told(use_id, _USES["mcp" if server else "builtin"], at, body)

    def _given(self, event: CallAnswered, record: Record) -> Iterable[Told]:
        use_id = self._call_event(event.call_id)
        if event.answer is not None:
            answer = event.answer
            body: Body = {"tool_use_id": use_id, "result": answer.behavior}
            if answer.behavior == "deny" and answer.message:
                body["deny_message"] = answer.message
            yield from self._sent("user.tool_confirmation", self.answer_id(event.call_id), record.at, body)
        elif event.call_id in self._calls and self._calls[event.call_id].kind == "custom":
            content = blocks(event.content)
            body = {"custom_tool_use_id": use_id, "content": content, "is_error": event.is_error}
            id = self.answer_id(event.call_id)
            yield self._told(id, "user.custom_tool_result", record.at, body)

    def _sent(self, kind: str, id: str, at: float, body: Body) -> Iterable[Told]:
        """Tell what a client sent: once when it is stored, once when it has its effect."""
        yield self._told(id, kind, at, body, processed=False)
        yield self._told(id, kind, at, body)

    def _ended(self, event: CallEnded, record: Record) -> Iterable[Told]:
        call = self._calls.get(event.call_id)
        if call is None or event.tool in self._client_tools:
            return
        yield from self._use(event.call_id, event.tool, record.at, permission="deny")
        key = "mcp_tool_use_id" if call.kind == "mcp" else "tool_use_id"
        body = {key: call.use_id, "content": blocks(event.content), "is_error": event.state != "done"}
        yield self._told(self._id("result", event.call_id), _RESULTS[call.kind], record.at, body)

    # --- children ---

    def _child_begins(self, event: ChildStarted, record: Record) -> Iterable[Told]:
        key = f"{event.child_id}/{record.seq}"
        child: Body = {"session_thread_id": thread_id(event.child_id), "agent_name": event.agent}
        if self.state.children[event.child_id].starts == 1:
            made = {**child, "workflow_run_id": None}
            yield self._told(self._id("thread", key), "session.thread_created", record.at, made)
        kind = "session.thread_status_running"
        yield self._told(self._id("thread running", key), kind, record.at, child)

    def _child_over(self, event: ChildEnded, record: Record) -> Iterable[Told]:
        started = self.state.children[event.child_id].started
        key = f"{event.child_id}/{record.seq}"
        thread = thread_id(event.child_id)
        stop = {"type": _STOPS.get(event.end, "retries_exhausted")}
        child: Body = {"session_thread_id": thread, "agent_name": started.agent}
        idle = {**child, "stop_reason": stop, "stop_details": None}
        kind = "session.thread_status_idle"
        yield self._told(self._id("thread idle", key), kind, record.at, idle)
        said = {
            "from_session_thread_id": thread,
            "from_agent_name": started.agent,
            "content": blocks(event.summary or event.message),
        }
        kind = "agent.thread_message_received"
        yield self._told(self._id("thread message", key), kind, record.at, said)

    # --- writing them ---

    def answer_id(self, call_id: str) -> str:
        """Return the id of the event that a client's answer to a call becomes."""
        return self._id("answer", call_id)

    def _call_event(self, call_id: str) -> str:
        return self._id("call", call_id)

    def _message_id(self, turn_id: str) -> str:
        return self._id("message", turn_id)

    def _id(self, kind: str, key: object) -> str:
        return event_id(self.session_id, kind, key)

    def _use_id(self, waiting: CallWaiting) -> str:
        request = waiting.request
        if waiting.kind == "child" and request is not None:
            return event_id(request.session_id, "call", request.call_id)
        return self._call_event(waiting.call_id)

    def _of_thread(self, status: str, key: str, at: float, **more: Any) -> Told:
        body = {"session_thread_id": self.thread, "agent_name": self.state.agent.name, **more}
        return self._told(self._id(f"thread {status}", key), f"session.thread_status_{status}", at, body)

    def _told(self, id: str, kind: str, at: float, body: Body, *, processed: bool = True) -> Told:
        whole = {"id": id, "type": kind, **body, "processed_at": written_time(at) if processed else None}
        return Told(id, kind, at, whole)

    _TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[Told]]]] = {
        InputAccepted: _accepted,
        InputTaken: _taken,
        InterruptRequested: _interrupted,
        RunStarted: _run_begins,
        RunEnded: _run_over,
        SessionEnded: _over,
        ModelAsked: _asked,
        ModelFailed: _failed,
        ModelAnswered: _answered,
        Compacted: _compacted,
        PermissionDecided: _decision,
        CallWaiting: _waiting,
        CallAnswered: _given,
        CallEnded: _ended,
        ChildStarted: _child_begins,
        ChildEnded: _child_over,
        ServerChanged: _server,
    }


_EVALUATIONS: Final = {"allow": "always_allow", "ask": "always_ask"}


def mcp_names(tool: str) -> tuple[str, str]:
    """Return server and bare name of a tool of a server by its canonical name; empty for all others."""
    if not tool.startswith("mcp."):
        return "", ""
    server, _, name = tool.removeprefix("mcp.").partition(".")
    return server, name


def _details(event: RunEnded) -> Body | None:
    if event.end != "refusal":
        return None
    return {"type": "refusal", "category": None, "explanation": event.message or None}
