"""Calls of a session as events: asked for, judged, answered by clients, ended (pure)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallWaiting,
    ModelAnswered,
    PermissionDecided,
    Record,
)
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.sessions.state import SessionState
from toolwright.surfaces.http.managed.event_bodies import Body, blocks, event_id, thread_id
from toolwright.surfaces.http.managed.told import Told, Voice
from toolwright.tool_calls.json_text import Broken, parsed
from toolwright.tool_calls.loading import inner_input

USES: Final = {"mcp": "agent.mcp_tool_use", "custom": "agent.custom_tool_use", "builtin": "agent.tool_use"}
_RESULTS: Final = {"mcp": "agent.mcp_tool_result", "builtin": "agent.tool_result"}
_SENDING: Final = "send_to_agent"
_ABOUT_THREADS: Final = frozenset({_SENDING, "list_agents"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A call that a client has to answer."""

    use_id: str
    call_id: str
    request: ApprovalRequest | None = None
    """What is asked; None where the client makes the call."""
    child_id: str = ""
    """The child whose call it is."""

    @property
    def is_custom(self) -> bool:
        return self.request is None

    @property
    def thread(self) -> Body:
        """What an event about it says of its thread."""
        return {"session_thread_id": thread_id(self.child_id)} if self.child_id else {}

    def answer_id(self, session_id: str) -> str:
        """Return the id of the event that its answer becomes."""
        return event_id(self.child_id or session_id, "answer", self.call_id)


@dataclass(slots=True)
class _Call:
    """A call as far as it was told."""

    block: CallBlock
    kind: str = "builtin"
    use_id: str = ""
    """Of the event that tells it; empty while it was not told."""


class CallTelling:
    """Tells of the calls of one session."""

    def __init__(self, voice: Voice, state: SessionState) -> None:
        self.by_use: set[str] = set()
        """Ids of all events that told of a call, those of children included."""
        self._voice = voice
        self._state = state
        self._calls: dict[str, _Call] = {}
        self._decided: dict[str, PermissionDecided] = {}

    @property
    def open(self) -> dict[str, Open]:
        """The calls that a client has to answer, by the ids of their events: its own, then its children's."""
        found = [self._open_one(waiting) for waiting in self._state.questions]
        for child_id, child in self._state.running_children.items():
            for left in child.left.values():
                use_id = event_id(child_id, "call", left.call_id)
                found.append(Open(use_id=use_id, call_id=left.call_id, child_id=child_id))
        return {one.use_id: one for one in found}

    def _open_one(self, waiting: CallWaiting) -> Open:
        request = waiting.request
        if waiting.kind == "child" and request is not None:
            return of_child(request)
        return Open(use_id=self._use_id(waiting.call_id), call_id=waiting.call_id, request=request)

    def answered(self, event: ModelAnswered, record: Record) -> Iterable[Told]:
        """Take the calls of an answer; what was decided of them before it was complete is told now."""
        self._calls = {b.call_id: _Call(b) for b in event.blocks if isinstance(b, CallBlock)}
        decided, self._decided = self._decided, {}
        for call_id, one in decided.items():
            if call_id in self._calls:
                yield from self._decision(one, record)

    def _decision(self, event: PermissionDecided, record: Record) -> Iterable[Told]:
        if event.call_id not in self._calls:
            self._decided[event.call_id] = event  # a call that was started before its answer was complete
            return
        if self._is_custom(event.tool):
            return  # told once it waits for its client
        behavior = event.decision.behavior
        yield from self._use(event.call_id, event.tool, record.at, permission=behavior, judged=True)

    def _waiting(self, event: CallWaiting, record: Record) -> Iterable[Told]:
        if event.kind == "client_result":
            yield from self._use(event.call_id, event.tool, record.at, custom=True)
        elif event.kind == "permission":
            yield from self._use(event.call_id, event.tool, record.at, permission="ask", judged=True)

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
        server, name = mcp_names(tool, self._state.agent)
        call.kind = "custom" if custom else "mcp" if server else "builtin"
        call.use_id = self._use_id(call_id)
        self.by_use.add(call.use_id)
        inner = inner_input(call.block.input, name=call.block.name, tool=tool)
        called = call.block.name if inner is None else tool
        body: Body = {"name": name or called, "input": self._input_of(call.block, inner)}
        if server:
            body["mcp_server_name"] = server
        if not custom:
            body["evaluated_permission"] = permission
            if judged:
                body["evaluation"] = evaluation(self._state.agent, tool, permission)
        yield self._voice.told(call.use_id, USES[call.kind], at, body)

    def _given(self, event: CallAnswered, record: Record) -> Iterable[Told]:
        if event.answer is not None and event.call_id in self._calls:
            answer = event.answer
            own = Open(use_id=self._use_id(event.call_id), call_id=event.call_id)
            yield from confirmed(self._voice, own, record.at, answer.behavior, answer.message)
        elif event.call_id in self._calls and self._calls[event.call_id].kind == "custom":
            own = Open(use_id=self._use_id(event.call_id), call_id=event.call_id)
            body = {"content": blocks(event.content), "is_error": event.is_error}
            yield custom_result(self._voice, own, record.at, body)

    def _ended(self, event: CallEnded, record: Record) -> Iterable[Told]:
        call = self._calls.get(event.call_id)
        if call is None or call.kind == "custom" or (self._is_custom(event.tool) and call.use_id):
            return
        yield from self._use(event.call_id, event.tool, record.at, permission="deny")
        if event.tool == _SENDING and event.state == "done":
            yield from self._said_to_agent(call.block, record.at)
        key = "mcp_tool_use_id" if call.kind == "mcp" else "tool_use_id"
        content = blocks(event.content)
        if event.tool in _ABOUT_THREADS:
            content = [self._with_threads(block) for block in content]
        body = {key: call.use_id, "content": content, "is_error": event.state != "done"}
        yield self._voice.told(self._voice.id("result", event.call_id), _RESULTS[call.kind], record.at, body)

    def _is_custom(self, tool: str) -> bool:
        return any(tool == mine.name for mine in self._state.agent.client_tools)

    def _use_id(self, call_id: str) -> str:
        return self._voice.id("call", call_id)

    # --- calls about other threads ---

    def _said_to_agent(self, block: CallBlock, at: float) -> Iterable[Told]:
        said = _read(block)
        child_id = self._state.child_of_call(block.call_id) or str(said.get("agent_id", ""))
        if child_id not in self._state.children:
            return
        body = {
            "to_session_thread_id": thread_id(child_id),
            "to_agent_name": self._state.children[child_id].started.agent,
            "content": blocks(str(said.get("message", ""))),
        }
        yield self._voice.told(self._voice.id("sent", block.call_id), "agent.thread_message_sent", at, body)

    def _input_of(self, block: CallBlock, inner: Mapping[str, Any] | Broken | None) -> Body:
        """Return what a call is told with; ``inner`` is what it passes on to another tool."""
        if inner is not None:
            return {} if isinstance(inner, Broken) else dict(inner)
        said = _read(block)
        if block.name == _SENDING and said.get("agent_id") in self._state.children:
            said["session_thread_id"] = thread_id(said.pop("agent_id"))
        return said

    def _with_threads(self, block: Body) -> Body:
        """Clients know the agents that are spoken of as threads."""
        if block["type"] != "text":
            return block
        text = block["text"]
        for child_id in self._state.children:
            text = text.replace(child_id, thread_id(child_id))
        return {**block, "text": text}

    TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[Told]]]] = {
        PermissionDecided: _decision,
        CallWaiting: _waiting,
        CallAnswered: _given,
        CallEnded: _ended,
    }


def of_child(request: ApprovalRequest) -> Open:
    """Return a call of a child that asks."""
    use_id = event_id(request.session_id, "call", request.call_id)
    return Open(use_id=use_id, call_id=request.call_id, request=request, child_id=request.session_id)


def confirmed(voice: Voice, call: Open, at: float, result: str, message: str) -> Iterable[Told]:
    """Tell the answer to a call that asked."""
    body: Body = {"tool_use_id": call.use_id, "result": result, **call.thread}
    if result == "deny" and message:
        body["deny_message"] = message
    return voice.sent("user.tool_confirmation", call.answer_id(voice.session_id), at, body)


def custom_result(voice: Voice, call: Open, at: float, given: Body) -> Told:
    """Tell what a client made of a call that was left to it."""
    body = {"custom_tool_use_id": call.use_id, **given, **call.thread}
    return voice.told(call.answer_id(voice.session_id), "user.custom_tool_result", at, body)


def mcp_names(tool: str, agent: AgentDefinition) -> tuple[str, str]:
    """Return server and bare name of a tool of a server by its canonical name; empty for all others."""
    if not tool.startswith("mcp."):
        return "", ""
    server, _, name = tool.removeprefix("mcp.").partition(".")
    return agent.mcp_titles.get(server, server), name


def evaluation(agent: AgentDefinition, tool: str, permission: str) -> Body:
    """Return which policy has led to a decision."""
    if _is_judged(agent, tool):
        judged: Body = {"type": permission}
        if permission != "allow":
            judged["reason_code"] = "indeterminate" if permission == "ask" else "high_risk"
        return {"type": "auto", "evaluated_permission": judged}
    return {"type": "always_ask" if permission == "ask" else "always_allow"}


def _is_judged(agent: AgentDefinition, tool: str) -> bool:
    """Whether no rule of the agent speaks of a tool: each call of it is judged by itself."""
    names, server = {tool}, tool.removeprefix("mcp.").partition(".")
    if tool.startswith("mcp."):
        names = {f"mcp__{server[0]}__{server[2]}", f"mcp__{server[0]}__*"}
    return not names & {*agent.allow, *agent.ask}


def _read(block: CallBlock) -> Body:
    read = parsed(block.input or "{}")
    return {} if isinstance(read, Broken) else dict(read)
