"""The log of a session as the events of this dialect (pure).

A translation takes the records of one session in their order and tells what a client sees of each. The same
log tells the same events with the same ids, whoever reads it and whenever; so history and streams agree.

A child is a thread: its own stream tells how that thread stands. The stream of the session that started it is
that of the primary thread, and tells how the whole session stands: it runs while any of its threads does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import (
    CallAnswered,
    CallWaiting,
    ChildCallAnswered,
    ChildCallsLeft,
    ChildEnded,
    ChildStarted,
    ClientNoted,
    Compacted,
    InputAccepted,
    InputTaken,
    InterruptRequested,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    PackagesInstalled,
    Record,
    RunEnded,
    RunStarted,
    ServerChanged,
    SessionEnded,
)
from toolwright.contracts.messages import ThinkingBlock
from toolwright.contracts.models import NO_USAGE, TextDelta, ThinkingDelta, Usage
from toolwright.sessions.state import folded
from toolwright.surfaces.http.managed.call_telling import CallTelling, Open
from toolwright.surfaces.http.managed.event_bodies import (
    STOPS,
    Body,
    blocks,
    error,
    model_error,
    model_usage,
    thread_id,
    whole_usage,
)
from toolwright.surfaces.http.managed.standing import children_at_work
from toolwright.surfaces.http.managed.thread_telling import ThreadTelling
from toolwright.surfaces.http.managed.told import Told, Voice

_BEGINS: Final = (RunStarted, ChildStarted, CallAnswered, ChildCallAnswered)
_RESTS: Final = (RunEnded, ChildEnded, CallWaiting, ChildCallsLeft)
_SERVER_ERRORS: Final = {
    "failed": "mcp_connection_failed_error",
    "needs_auth": "mcp_authentication_failed_error",
}


class Translation:
    """Of one session, from its first record on. ``state`` is what the log has led to so far."""

    def __init__(self, created: Record) -> None:
        """Begins with the creation of the session, of which nothing is told. May raise EngineFault."""
        self.state = folded([created])
        self.session_id = created.session_id
        self.thread = thread_id(created.session_id)
        self.parent = thread_id(self.state.created.parent_id) if self.state.created.parent_id else ""
        """The thread that started this one; empty for the primary one."""
        self._voice = Voice(created.session_id)
        self.calls = CallTelling(self._voice, self.state)
        self._threads = ThreadTelling(self._voice, self.state, self.calls.by_use)
        self._runs = False
        """Whether the session was told to run."""
        self._in_run = False
        self._comes = False
        """A child has ended, and what it said is about to be read."""
        self._stop: Body = {"type": "end_turn"}
        self._details: Body | None = None
        self._inputs: dict[str, InputAccepted] = {}
        self._interrupts: dict[str, InterruptRequested] = {}
        self._turn = ""
        self._started: set[str] = set()
        """The types of previews that were begun in this turn."""
        self._text, self._between = -1, True
        """The text block that is being written, and whether the next words begin another one."""
        self._span = ""
        self._rescheduled = False
        self._said_of = ""
        """The run whose end was told with a reason already."""

    def take(self, record: Record) -> list[Told]:
        """Tell what a record means to a client."""
        event = record.event
        if record.seq is None:
            return list(self._words(event, record.at))
        self.state.apply(event, record.at)
        told = [*self._session_runs(record)] if isinstance(event, _BEGINS) else []
        for teller in (self, self.calls, self._threads):
            tell = teller.TOLD_BY.get(type(event))
            told += tell(teller, event, record) if tell is not None else ()
        if isinstance(event, _RESTS):
            told += self._session_rests(record)
        return told

    @property
    def waiting(self) -> dict[str, Open]:
        """The calls that a client has to answer, by the ids of their events."""
        return self.calls.open

    # --- the session as a whole ---

    def _session_runs(self, record: Record) -> Iterable[Told]:
        if isinstance(record.event, RunStarted):
            self._comes = False
        if self.parent or self._runs or not (self.state.run or children_at_work(self.state)):
            return
        self._runs = True
        id = self._voice.id("running", record.seq)
        yield self._voice.told(id, "session.status_running", record.at, {})

    def _session_rests(self, record: Record) -> Iterable[Told]:
        event = record.event
        if isinstance(event, ChildEnded):
            told_of = self.state.children[event.child_id].started
            self._comes = not told_of.background or (told_of.notify and event.end != "interrupted")
        asks = isinstance(event, ChildCallsLeft) or (
            isinstance(event, CallWaiting) and event.request is not None
        )
        if self.parent or not (self._runs or asks):
            return
        if self.state.run or self._comes or children_at_work(self.state):
            return
        ends = isinstance(event, RunEnded) and event.end in {"interrupted", "failed"}
        if self.state.has_work and not ends:
            return  # the next run begins at once
        self._runs = False
        at, key = record.at, record.seq
        usage = {"usage": whole_usage(self.state.conversation.total), "budget": None}
        yield self._voice.told(self._voice.id("usage", key), "session.usage", at, usage)
        waits_for = list(self.waiting)
        stop = {"type": "requires_action", "event_ids": waits_for} if waits_for else self._stop
        why: Body = {"stop_reason": stop, "stop_details": None if waits_for else self._details}
        yield self._voice.told(self._voice.id("idle", key), "session.status_idle", at, why)

    def _noted(self, event: ClientNoted, record: Record) -> Iterable[Told]:
        yield self._voice.told(
            self._voice.id("updated", record.seq), "session.updated", record.at, dict(event.note)
        )

    def _over(self, event: SessionEnded, record: Record) -> Iterable[Told]:
        del event
        yield self._of_thread("terminated", "end", record.at, is_last=bool(self.parent))
        if not self.parent:
            id = self._voice.id("terminated", "")
            yield self._voice.told(id, "session.status_terminated", record.at, {}, is_last=True)

    # --- what was said to it ---

    def _accepted(self, event: InputAccepted, record: Record) -> Iterable[Told]:
        self._comes = False
        self._inputs[event.input_id] = event
        if event.source == "user":
            yield self._message(event, record.at, processed=False)

    def _taken(self, event: InputTaken, record: Record) -> Iterable[Told]:
        accepted = self._inputs.pop(event.input_id, None)
        if accepted is not None and accepted.source == "user":
            yield self._message(accepted, record.at, processed=True)
        elif accepted is not None and accepted.source == "agent" and self.parent:
            body = {"from_session_thread_id": self.parent, "content": blocks(accepted.content)}
            id, kind = self._voice.id("received", event.input_id), "agent.thread_message_received"
            yield self._voice.told(id, kind, record.at, body)

    def _message(self, event: InputAccepted, at: float, *, processed: bool) -> Told:
        body = {"content": blocks(event.content)}
        return self._voice.told(event.input_id, "user.message", at, body, processed=processed)

    def _interrupted(self, event: InterruptRequested, record: Record) -> Iterable[Told]:
        if not event.interrupt_id:
            return  # nobody sent it: its session ends, or the one above it was stopped
        whom = event.child_id or self.session_id
        child = self.state.children.get(event.child_id)
        yield self._interrupt(event, record.at, processed=False)
        stops = child.runs if child is not None else self.state.interrupted is not None
        if stops and whom not in self._interrupts:
            self._interrupts[whom] = event
        else:
            yield self._interrupt(event, record.at, processed=True)

    def _interrupt(self, event: InterruptRequested, at: float, *, processed: bool) -> Told:
        thread = event.child_id or (self.session_id if event.alone else "")
        body = {"session_thread_id": thread_id(thread)} if thread else {}
        return self._voice.told(event.interrupt_id, "user.interrupt", at, body, processed=processed)

    def _has_stopped(self, whom: str, at: float) -> Iterable[Told]:
        applied = self._interrupts.pop(whom, None)
        if applied is not None:
            yield self._interrupt(applied, at, processed=True)

    def _child_stopped(self, event: ChildEnded, record: Record) -> Iterable[Told]:
        yield from self._has_stopped(event.child_id, record.at)

    # --- runs ---

    def _run_begins(self, event: RunStarted, record: Record) -> Iterable[Told]:
        if self._in_run:  # whoever worked on it before has died
            yield from self._left_unsaid(record)
            yield from self._told_rescheduled(event.run_id, record.at)
            yield from self._goes_on(event.run_id, record.at)
        else:
            yield self._of_thread("running", event.run_id, record.at)
        self._in_run = True

    def _told_rescheduled(self, key: object, at: float) -> Iterable[Told]:
        self._rescheduled = True
        if not self.parent:
            yield self._voice.told(self._voice.id("again", key), "session.status_rescheduled", at, {})
        yield self._of_thread("rescheduled", key, at)

    def _goes_on(self, key: object, at: float) -> Iterable[Told]:
        self._rescheduled = False
        if not self.parent:
            yield self._voice.told(self._voice.id("running again", key), "session.status_running", at, {})
        yield self._of_thread("running", key, at)

    def _run_over(self, event: RunEnded, record: Record) -> Iterable[Told]:
        self._in_run = self._rescheduled = False
        at, run_id = record.at, event.run_id
        yield from self._left_unsaid(record)
        yield from self._has_stopped(self.session_id, at)
        stop: Body = {"type": STOPS.get(event.end, "retries_exhausted")}
        if stop["type"] == "retries_exhausted" and event.end == "limit":
            yield self._error(run_id, error("tool_use_limit_reached_error", event.message), at)
        elif event.end == "context_full":
            yield self._error(run_id, error("compaction_limit_reached_error", event.message), at)
        elif stop["type"] == "retries_exhausted" and self._said_of != run_id:
            yield self._error(run_id, error("unknown_error", event.message or "The run ended early."), at)
        self._stop, self._details = stop, _details(event)
        if event.end == "waiting":
            mine = [use_id for use_id, call in self.waiting.items() if not call.child_id]
            stop = {"type": "requires_action", "event_ids": mine}
            self._stop = {"type": "end_turn"}
        if self.parent and event.end not in {"waiting", "interrupted", "failed"}:
            yield from self._reported(event, at)
        if self.parent and event.end == "failed":
            yield self._of_thread("terminated", run_id, at)
            return
        yield self._of_thread("idle", run_id, at, stop_reason=stop, stop_details=self._details)

    def _reported(self, event: RunEnded, at: float) -> Iterable[Told]:
        """What a child says at its end is brought to the thread that started it."""
        last = self.state.conversation.last
        if last is not None and last.text:
            body = {"to_session_thread_id": self.parent, "content": blocks(last.text)}
            id = self._voice.id("report", event.run_id)
            yield self._voice.told(id, "agent.thread_message_sent", at, body)

    def _error(self, key: object, told: Body, at: float) -> Told:
        return self._voice.told(self._voice.id("error", key), "session.error", at, {"error": told})

    def _server(self, event: ServerChanged, record: Record) -> Iterable[Told]:
        kind = _SERVER_ERRORS.get(event.status)
        if kind is not None:
            why = event.reason or "It cannot be reached."
            name = self.state.agent.mcp_titles.get(event.name, event.name)
            yield self._error(record.seq, error(kind, why, "retrying", mcp_server_name=name), record.at)

    def _installed(self, event: PackagesInstalled, record: Record) -> Iterable[Told]:
        if event.problem:
            why = f"{event.manager}: {', '.join(event.packages)} could not be installed: {event.problem}"
            yield self._error(record.seq, error("unknown_error", why, "retrying"), record.at)

    # --- the model ---

    def _asked(self, event: ModelAsked, record: Record) -> Iterable[Told]:
        key = f"{event.turn_id}/{event.attempt}"
        if self._rescheduled:
            yield from self._goes_on(key, record.at)
        self._turn, self._started = event.turn_id, set()
        self._text, self._between = -1, True
        self._span = self._voice.id("span", key)
        yield self._voice.told(self._span, "span.model_request_start", record.at, {})

    def _failed(self, event: ModelFailed, record: Record) -> Iterable[Told]:
        retrying = event.retry_in is not None or bool(event.next_model)
        yield self._span_over(f"{event.turn_id}/{event.attempt}", record.at, NO_USAGE, is_error=True)
        self._turn = ""
        yield self._error(record.seq, model_error(event.code, event.message, retrying=retrying), record.at)
        if retrying:
            yield from self._told_rescheduled(record.seq, record.at)
        elif self.state.run is not None:
            self._said_of = self.state.run.run_id

    def _answered(self, event: ModelAnswered, record: Record) -> Iterable[Told]:
        at = record.at
        if any(isinstance(block, ThinkingBlock) for block in event.blocks):
            yield self._voice.told(self._thinking_id(event.turn_id), "agent.thinking", at, {})
        texts = [block for block in event.blocks if isinstance(block, TextBlock) and block.text]
        if texts and not event.cut:
            body = {"content": [{"type": "text", "text": block.text} for block in texts]}
            yield self._voice.told(self._message_id(event.turn_id), "agent.message", at, body)
        yield self._span_over(event.turn_id, at, event.usage, is_error=event.cut)
        self._turn = ""
        yield from self.calls.answered(event, record)

    def _left_unsaid(self, record: Record) -> Iterable[Told]:
        """A request to the model that came to nothing ends, too."""
        if self._turn:
            yield self._span_over(f"{self._turn}/{record.seq}", record.at, NO_USAGE, is_error=True)
        self._turn = ""

    def _span_over(self, key: str, at: float, usage: Usage, *, is_error: bool) -> Told:
        body = {
            "model_request_start_id": self._span,
            "model_usage": model_usage(usage),
            "is_error": is_error,
        }
        return self._voice.told(self._voice.id("span end", key), "span.model_request_end", at, body)

    def _compacted(self, event: Compacted, record: Record) -> Iterable[Told]:
        del event
        kind = "agent.thread_context_compacted"
        yield self._voice.told(self._voice.id("compacted", record.seq), kind, record.at, {})

    # --- words of an answer that is not complete: on streams only, and only for who asked ---

    def _words(self, event: object, at: float) -> Iterable[Told]:
        if not self._turn:
            return  # the answer was told already, whole
        if isinstance(event, ThinkingDelta):
            yield from self._preview_begins("agent.thinking", self._thinking_id(self._turn), at)
        if not isinstance(event, TextDelta):
            self._between = True
        elif event.text:
            self._text += self._between
            self._between = False
            message = self._message_id(self._turn)
            yield from self._preview_begins("agent.message", message, at)
            content = {"type": "text", "text": event.text}
            delta = {"type": "content_delta", "index": self._text, "content": content}
            body: Body = {"type": "event_delta", "event_id": message, "delta": delta}
            yield Told("", "event_delta", at, body, preview="agent.message")

    def _preview_begins(self, kind: str, id: str, at: float) -> Iterable[Told]:
        if kind not in self._started:
            self._started.add(kind)
            start: Body = {"type": "event_start", "event": {"type": kind, "id": id}}
            yield Told("", "event_start", at, start, preview=kind)

    def _message_id(self, turn_id: str) -> str:
        return self._voice.id("message", turn_id)

    def _thinking_id(self, turn_id: str) -> str:
        return self._voice.id("thinking", turn_id)

    def _of_thread(self, status: str, key: object, at: float, *, is_last: bool = False, **more: Any) -> Told:
        body = {"session_thread_id": self.thread, "agent_name": self.state.agent.name, **more}
        id, kind = self._voice.id(f"thread {status}", key), f"session.thread_status_{status}"
        return self._voice.told(id, kind, at, body, is_last=is_last)

    TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[Told]]]] = {
        InputAccepted: _accepted,
        InputTaken: _taken,
        InterruptRequested: _interrupted,
        RunStarted: _run_begins,
        RunEnded: _run_over,
        SessionEnded: _over,
        ClientNoted: _noted,
        ServerChanged: _server,
        PackagesInstalled: _installed,
        ModelAsked: _asked,
        ModelFailed: _failed,
        ModelAnswered: _answered,
        Compacted: _compacted,
        ChildEnded: _child_stopped,
    }


def _details(event: RunEnded) -> Body | None:
    if event.end != "refusal":
        return None
    return {"type": "refusal", "category": None, "explanation": event.message or None}
