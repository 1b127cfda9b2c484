"""The log of a session as the events of the Engine API (pure).

Only what stands in the log is told: words come with the answer that they belong to. The same log tells the
same events with the same stamps, whoever reads it and whenever.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from toolwright.contracts.content import TextBlock, text_of
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallWaiting,
    Compacted,
    InputAccepted,
    ModelAnswered,
    ModelFailed,
    Record,
    RunEnded,
    RunStarted,
)
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import FaultCode, Usage
from toolwright.tool_calls.json_text import Broken, parsed

EngineEvent = dict[str, Any]
_ERRORS: Final[Mapping[str, str]] = {
    "invalid_json": "invalid_input",
    "validation_failed": "invalid_input",
    "rejected_by_user": "permission_denied",
    "approval_unavailable": "permission_denied",
    "hook_blocked": "permission_denied",
    "classifier_blocked": "permission_denied",
    "internal_error": "tool_crashed",
    "file_not_found": "not_found",
    "interrupted": "cancelled",
    "not_started": "cancelled",
    "mcp_error": "MCP_TOOL_ERROR",
    "mcp_disconnected": "MCP_CONNECTION_FAILED",
}
_ENDED_WELL: Final[Mapping[str, str]] = {
    "done": "end_turn",
    "returned": "end_turn",
    "stopped": "stopped",
    "refusal": "refusal",
    "max_tokens": "max_tokens",
    "interrupted": "cancelled",
}
_ENDED_BADLY: Final[Mapping[str, str]] = {"context_full": "CONTEXT_OVERFLOW", "limit": "ITERATION_LIMIT"}
_BUSY: Final[frozenset[FaultCode]] = frozenset({"rate_limited", "overloaded"})


class TurnTelling:
    """Tells the turns of one session, from its first record on."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id
        self.turn_id = ""
        """Of the turn that has begun and not ended."""
        self._last = 0
        self._seq = 0
        self._calls: dict[str, CallBlock] = {}
        self._results: dict[str, CallEnded] = {}
        self._asked: dict[str, CallWaiting] = {}
        self._message = ""
        self._fault: FaultCode | None = None

    def take(self, record: Record) -> list[EngineEvent]:
        """Return what a record tells. Words that are no entry of the log tell nothing."""
        tell = self._TOLD_BY.get(type(record.event))
        if record.seq is None or tell is None:
            return []
        self._seq = record.seq
        return [self._framed(type, payload, record.at) for type, payload in tell(self, record.event)]

    def _framed(self, type: str, payload: Mapping[str, Any], at: float) -> EngineEvent:
        self._last = max(int(at * 1000), self._last + 1)
        frame = {
            "type": type,
            "task_id": self._task_id,
            "turn_id": self.turn_id,
            "timestamp": moment(at),
            "ts": self._last,
            "seq": self._seq,
        }
        if type == "error" or payload.get("phase") == "completed":
            self.turn_id = ""
        return {**frame, **payload}

    # --- turns ---

    def _accepted(self, event: InputAccepted) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if event.source == "user" and not self.turn_id:
            self.turn_id = turn_of(event.input_id)
            self._message = ""
            yield "thread_lifecycle", {"phase": "started", "message_id": event.input_id}

    def _begins(self, event: RunStarted) -> Iterator[tuple[str, Mapping[str, Any]]]:
        self._fault = None
        if not self.turn_id:  # not a person's words woke it
            self.turn_id = turn_of(event.run_id)
            yield "thread_lifecycle", {"phase": "started", "message_id": None}

    def _over(self, event: RunEnded) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if event.end == "waiting" or not self.turn_id:
            return
        if event.end in _ENDED_WELL:
            reason = _ENDED_WELL[event.end]
            id = self._message or None
            yield (
                "thread_lifecycle",
                {"phase": "completed", "assistant_message_id": id, "stop_reason": reason},
            )
            return
        why = {"error": self._code(event), "message": event.message or "The turn ended early."}
        yield "thread_lifecycle", {"phase": "errored", **why}
        yield "error", why

    def _code(self, event: RunEnded) -> str:
        if event.end in _ENDED_BADLY:
            return _ENDED_BADLY[event.end]
        return "LLM_RATE_LIMITED" if self._fault in _BUSY else "LLM_PROVIDER_ERROR"

    # --- the model ---

    def _failed(self, event: ModelFailed) -> Iterable[tuple[str, Mapping[str, Any]]]:
        self._fault = event.code
        return ()

    def _answered(self, event: ModelAnswered) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for index, (kind, text) in enumerate(_said(event.blocks)):
            place = {"block_index": index, "block_type": kind}
            yield "content_block_start", place
            if text:
                yield f"{kind}_delta", {"text": text}
            yield "content_block_stop", place
        yield "usage", usage_told(event.usage)
        if event.text:
            self._message = f"msg_{event.turn_id.rpartition('_')[2]}"
        if event.cut:
            return
        self._calls = {block.call_id: block for block in event.blocks if isinstance(block, CallBlock)}
        for block in self._calls.values():
            read = parsed(block.input)
            input = {} if isinstance(read, Broken) else read
            yield "tool_call", {"tool": block.name, "tool_call_id": block.call_id, "input": input}

    def _compacted(self, event: Compacted) -> Iterator[tuple[str, Mapping[str, Any]]]:
        after = event.usage.output_tokens
        yield (
            "compaction_event",
            {"before_tokens": event.tokens_before, "after_tokens": after, "strategy": "summary"},
        )

    # --- calls ---

    def _ended(self, event: CallEnded) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Tell results in the order of the calls, whichever is over first."""
        self._results[event.call_id] = event
        for call_id, block in list(self._calls.items()):
            ended = self._results.pop(call_id, None)
            if ended is None:
                return
            del self._calls[call_id]
            yield "tool_result", {"tool": block.name, "tool_call_id": call_id, **_result(ended)}

    def _waits(self, event: CallWaiting) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if event.request is not None:
            self._asked[event.call_id] = event
            yield "hitl_request", question_told(event)

    def _resolved(self, event: CallAnswered) -> Iterator[tuple[str, Mapping[str, Any]]]:
        asked = self._asked.pop(event.call_id, None)
        if asked is not None and asked.request is not None and event.answer is not None:
            answer = "yes" if event.answer.behavior == "allow" else "no"
            yield "hitl_resolved", {"request_id": asked.request.request_id, "answer": answer}

    _TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[tuple[str, Mapping[str, Any]]]]]] = {
        InputAccepted: _accepted,
        RunStarted: _begins,
        RunEnded: _over,
        ModelFailed: _failed,
        ModelAnswered: _answered,
        Compacted: _compacted,
        CallEnded: _ended,
        CallWaiting: _waits,
        CallAnswered: _resolved,
    }


def turn_of(id: str) -> str:
    """Return the id of the turn that an input, or a run, begins."""
    return f"turn_{id.rpartition('_')[2]}"


def moment(at: float) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def usage_told(usage: Usage) -> EngineEvent:
    """Return the tokens of one request; what a cache held is a part of the input."""
    cached = usage.cache_read_tokens
    return {
        "input_tokens": usage.input_tokens + cached + usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "cache_hit_tokens": cached,
    }


def question_told(waiting: CallWaiting) -> EngineEvent:
    """Return what a person is asked."""
    request = waiting.request
    if request is None:
        return {}
    return {
        "request_id": request.request_id,
        "kind": "permission",
        "question": f"May {request.offered_name} run? {request.reason.detail}".strip(),
        "tool": request.offered_name,
        "tool_call_id": request.call_id,
        "input": dict(request.input),
        "reason": request.reason.detail,
        "rule": None if request.reason.rule is None else request.reason.rule.written,
    }


def _result(ended: CallEnded) -> EngineEvent:
    text = text_of(ended.content)
    if ended.state == "done":
        return {"output": text, "error": None}
    code = ended.code or "tool_crashed"
    message = text.removeprefix(f"Error [{code}]: ")
    return {"output": "", "error": {"error": _ERRORS.get(code, code), "message": message}}


def _said(blocks: Iterable[SaidBlock]) -> list[tuple[str, str]]:
    """Kind and text of what was said; neighbours of one kind are one."""
    said: list[tuple[str, str]] = []
    for block in blocks:
        kind = _KINDS[type(block)]
        text = "" if isinstance(block, CallBlock) else block.text
        if said and kind != "tool_use" and said[-1][0] == kind:
            said[-1] = (kind, said[-1][1] + text)
        else:
            said.append((kind, text))
    return said


_KINDS: Final[Mapping[type, str]] = {TextBlock: "text", ThinkingBlock: "thinking", CallBlock: "tool_use"}
