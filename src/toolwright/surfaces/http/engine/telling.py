"""The log of a session as the events of this dialect (pure).

The same log tells the same events with the same stamps whoever reads it, and after a restart too. Only the
words of an answer that is not complete come in other pieces when they are told again: then whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallWaiting,
    ChildEnded,
    ChildStarted,
    Compacted,
    InputAccepted,
    InputDropped,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    PreambleChanged,
    Record,
    RunEnded,
    RunStarted,
    SessionEnded,
)
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import CallDelta, FaultCode, TextDelta, ThinkingDelta
from toolwright.sessions.state import folded
from toolwright.surfaces.http.engine.stamps import Stamps
from toolwright.surfaces.http.engine.words import (
    Body,
    call_error,
    model_error,
    moment,
    text_told,
    usage_told,
)
from toolwright.tool_calls.json_text import Broken, parsed
from toolwright.tools.naming import wire_name

ASK_USER: Final = "ask_user"
_FINE: Final[Mapping[str, str]] = {
    "done": "end_turn",
    "returned": "end_turn",
    "stopped": "stopped",
    "refusal": "refusal",
    "max_tokens": "max_tokens",
    "interrupted": "cancelled",
}
_SLOTS: Final = 8
"""For one content block: its start, some of its words, its stop."""
_LAST_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class Told:
    """One event as a client gets it."""

    ts: int
    event: str
    body: Body
    turn_id: str
    ends_turn: bool = False


@dataclass(slots=True)
class _Said:
    """A content block as far as it was told."""

    kind: str
    text: str = ""
    open: bool = True


@dataclass(slots=True)
class _Answer:
    """What was told of the answer under way."""

    said: list[_Said] = field(default_factory=list)
    held: str = ""
    """Words that are told together with those that come at once."""


class Telling:
    """Of one session, from its first record on. ``state`` is what the log has led to so far."""

    def __init__(self, created: Record, *, task_id: str, stamps: Stamps, silent_until: int = 0) -> None:
        """Nothing is told of records up to ``silent_until``: another session of the task has told them."""
        self.state = folded([created])
        self.task_id = task_id
        self.stamps = stamps
        self.turn_id = ""
        """Of the turn that has begun and not ended."""
        self.question: CallWaiting | None = None
        """What a person is asked now; one question after the other."""
        self.asked_at = 0.0
        self._silent_until = silent_until
        self._seq = 1
        self._answer = _Answer()
        self._is_answering = False
        self._names: dict[str, str] = _names_of(self.state.agent)
        self._calls: dict[str, CallBlock] = {}
        self._results: dict[str, CallEnded] = {}
        self._fault: FaultCode | None = None
        self._last_answer = ""
        self._given: dict[str, CallAnswered] = {}

    @property
    def is_running(self) -> bool:
        """Whether a turn has begun that neither ended nor waits for a person."""
        return bool(self.turn_id) and self.question is None

    @property
    def holds_words(self) -> bool:
        """Whether words wait to be told."""
        return bool(self._answer.held)

    def take(self, record: Record) -> list[Told]:
        """Tell what a record means to a client."""
        event = record.event
        if record.seq is None:
            return list(self._delta(event, record.at)) if self._is_answering else []
        self._seq = record.seq
        self.state.apply(event, record.at)
        tell = self._TOLD_BY.get(type(event))
        self.stamps.begin(record.at, slots=_slots(event))
        told = list(tell(self, event, record.at)) if tell is not None else []
        told += self._questions(record.at)
        self.stamps.end()
        return told if record.seq > self._silent_until else []

    def flush(self, now: float) -> list[Told]:
        """Tell the words that came since the last time."""
        answer = self._answer
        if not answer.held or not self.stamps.has_room(now):
            return []
        text, answer.held = answer.held, ""
        return [self._words(answer.said[-1], text, now)]

    # --- turns ---

    def _accepted(self, event: InputAccepted, at: float) -> Iterator[Told]:
        if event.source == "user" and not self.turn_id:
            self.turn_id = turn_of(event.input_id)
            yield self._lifecycle("started", at, message_id=event.input_id, agent=self.state.agent.name)

    def _dropped(self, event: InputDropped, at: float) -> Iterator[Told]:
        if self.turn_id == turn_of(event.input_id) and self.state.run is None:
            yield from self._completed("cancelled", at)

    def _run_begins(self, event: RunStarted, at: float) -> Iterator[Told]:
        self._fault = None
        if not self.turn_id:  # something else than a person's words woke it: news of a background task
            self.turn_id = turn_of(event.run_id)
            yield self._lifecycle("started", at, message_id=None, agent=self.state.agent.name)

    def _run_over(self, event: RunEnded, at: float) -> Iterator[Told]:
        if event.end == "waiting" or not self.turn_id:
            return
        yield from self._closed(at)
        self.stamps.settle()
        if event.end in _FINE:
            yield from self._completed(_FINE[event.end], at)
        else:
            yield from self._errored(self._code(event), event.message or "The turn ended early.", at)

    def _code(self, event: RunEnded) -> str:
        if event.end == "context_full":
            return "CONTEXT_OVERFLOW"
        if event.end == "limit":
            return (
                "ITERATION_LIMIT"
                if "request" in event.message or "round" in event.message
                else "LIMIT_REACHED"
            )
        return model_error(self._fault) if self._fault is not None else "INTERNAL_ERROR"

    def _over(self, event: SessionEnded, at: float) -> Iterator[Told]:
        if self.turn_id:
            yield from self._errored("TASK_ENDED", event.reason or "The task was ended.", at)

    def _completed(self, reason: str, at: float) -> Iterator[Told]:
        id = self._last_answer or None
        yield self._lifecycle("completed", at, ends=True, assistant_message_id=id, stop_reason=reason)
        self._forget_turn()

    def _errored(self, code: str, message: str, at: float) -> Iterator[Told]:
        yield self._lifecycle("errored", at, error=code, message=message)
        yield self._told("error", at, {"error": code, "message": message}, ends=True)
        self._forget_turn()

    def _forget_turn(self) -> None:
        self.turn_id = self._last_answer = ""

    def _lifecycle(self, phase: str, at: float, *, ends: bool = False, **more: object) -> Told:
        return self._told("thread_lifecycle", at, {"phase": phase, **more}, ends=ends)

    # --- the model ---

    def _preamble(self, event: PreambleChanged, at: float) -> Iterable[Told]:
        del at
        for name in event.tools:
            self._names.setdefault(wire_name(name), name)
        return ()

    def _asked(self, event: ModelAsked, at: float) -> Iterable[Told]:
        del event
        self.stamps.rise(at)
        self._answer, self._is_answering = _Answer(), True
        return ()

    def _failed(self, event: ModelFailed, at: float) -> Iterator[Told]:
        yield from self._closed(at)
        self.stamps.settle()
        self._answer, self._is_answering = _Answer(), False
        self._fault = event.code
        if event.retry_in is not None or event.next_model:
            more = {"error": model_error(event.code), "message": event.message, "retry_in": event.retry_in}
            yield self._told("model_retry", at, more)

    def _answered(self, event: ModelAnswered, at: float) -> Iterator[Told]:
        for number, (kind, text) in enumerate(_merged(event.blocks)):
            if event.cut and number < len(self._answer.said):
                continue  # it was told while it was said, perhaps more of it than is kept
            yield from self._whole_block(number, kind, text, at)
        yield from self._closed(at)
        self._answer, self._is_answering = _Answer(), False
        self.stamps.settle()
        yield self._told("usage", at, usage_told(event.usage))
        self._last_answer = f"msg_{event.turn_id.rpartition('_')[2]}" if event.text else self._last_answer
        self._calls = {block.call_id: block for block in event.blocks if isinstance(block, CallBlock)}
        for block in self._calls.values():
            read = parsed(block.input or "{}")
            input = {} if isinstance(read, Broken) else read
            body = {"tool": self._name(block), "tool_call_id": block.call_id, "input": input}
            yield self._told("tool_call", at, body)
        yield from self._released(at)

    def _whole_block(self, number: int, kind: str, text: str, at: float) -> Iterator[Told]:
        """Tell of a block whatever was not told while it was said."""
        said = self._answer.said
        if number < len(said) and said[number].kind == kind and text.startswith(said[number].text):
            known = said[number]
            self._answer.held = ""
        else:
            yield from self._closed(at)
            known = _Said(kind, text if kind == "tool_use" else "")
            yield self._block("start", number, kind, at)
        if known.open:
            if text != known.text:
                yield self._words(known, text[len(known.text) :], at)
            known.open = False
            yield self._block("stop", number, kind, at)

    def _delta(self, event: object, at: float) -> Iterator[Told]:
        kind, text = _piece(event)
        if not kind:
            return
        said = self._answer.said
        if kind == "tool_use" or not said or said[-1].kind != kind or not said[-1].open:
            if kind == "tool_use" and said and said[-1].open and said[-1].text == text:
                return  # more of the same call
            yield from self._closed(at)
            said.append(_Said(kind, text if kind == "tool_use" else ""))
            yield self._block("start", len(said) - 1, kind, at)
        if kind == "tool_use":
            return
        self._answer.held += text

    def _closed(self, at: float) -> Iterator[Told]:
        """End the block that is open."""
        answer = self._answer
        if answer.said and answer.said[-1].open:
            last = answer.said[-1]
            text, answer.held = answer.held, ""
            if text:
                yield self._words(last, text, at)
            last.open = False
            yield self._block("stop", len(answer.said) - 1, last.kind, at)

    def _words(self, said: _Said, text: str, at: float) -> Told:
        said.text += text
        return self._told(f"{said.kind}_delta", at, {"text": text})

    def _block(self, what: str, number: int, kind: str, at: float) -> Told:
        return self._told(f"content_block_{what}", at, {"block_index": number, "block_type": kind})

    def _compacted(self, event: Compacted, at: float) -> Iterator[Told]:
        body = {
            "before_tokens": event.tokens_before,
            "after_tokens": event.usage.output_tokens,
            "strategy": "summary",
        }
        yield self._told("compaction_event", at, body)
        yield self._told("usage", at, usage_told(event.usage))

    # --- calls ---

    def _ended(self, event: CallEnded, at: float) -> Iterator[Told]:
        self._results[event.call_id] = event
        yield from self._released(at)

    def _released(self, at: float) -> Iterator[Told]:
        """Tell results in the order of the calls, whichever ended first."""
        for call_id, block in list(self._calls.items()):
            ended = self._results.pop(call_id, None)
            if ended is None:
                return
            del self._calls[call_id]
            failed = ended.state != "done"
            body = {
                "tool": self._name(block),
                "tool_call_id": call_id,
                "output": "" if failed else text_told(ended.content),
                "error": call_error(ended) if failed else None,
            }
            yield self._told("tool_result", at, body)

    def _name(self, block: CallBlock) -> str:
        """The canonical name, whatever spelling of it the model has used."""
        return self._names.get(block.name, block.name)

    # --- people ---

    def _questions(self, at: float) -> Iterator[Told]:
        """Put the next question once the last one is settled."""
        open_ones = [asked for asked in self.state.questions if _is_put(asked)]
        if self.question is not None:
            id = request_id(self.question)
            if any(request_id(asked) == id for asked in open_ones):
                return
            yield self._told(
                "hitl_resolved", at, {"request_id": id, "answer": self._answer_to(self.question)}
            )
            self.question = None
        if open_ones and self.turn_id:
            self.question, self.asked_at = open_ones[0], at
            yield self._told("hitl_request", at, self.asked(open_ones[0]))

    def asked(self, waiting: CallWaiting) -> Body:
        """Return a question as a client reads it."""
        body: Body = {"request_id": request_id(waiting), "created_at": moment(self.asked_at)}
        if waiting.kind == "client_result":
            question = str(waiting.input.get("question") or f"{waiting.tool} needs an answer.")
            body |= {"kind": "question", "question": question, "tool": waiting.tool}
            body |= {"options": waiting.input.get("options") or [], "tool_call_id": waiting.call_id}
            return body
        request = waiting.request
        if request is None:
            return body
        tool = self._names.get(wire_name(request.offered_name), request.offered_name)
        reason = request.reason
        rule = reason.detail.partition(" by rule ")[2].partition(":")[0] if reason.kind == "rule" else None
        who = f" ({request.asked_by})" if request.asked_by else ""
        return body | {
            "kind": "permission",
            "question": f"May {tool}{who} run? {reason.detail}".strip(),
            "tool": tool,
            "tool_call_id": request.call_id,
            "input": dict(request.input),
            "reason": reason.detail,
            "rule": rule or None,
        }

    def _answer_to(self, asked: CallWaiting) -> str | None:
        answered = self._given.get(request_id(asked))
        if answered is None:
            return None
        if answered.answer is not None:
            return "yes" if answered.answer.behavior == "allow" else "no"
        return text_told(answered.content)

    def _was_answered(self, event: CallAnswered, at: float) -> Iterable[Told]:
        del at
        if self.question is not None and event.call_id == self.question.call_id:
            self._given = {request_id(self.question): event}
        return ()

    # --- other agents ---

    def _child_begins(self, event: ChildStarted, at: float) -> Iterator[Told]:
        body = {"agent": event.agent, "tool_call_id": event.call_id, "task": event.description}
        yield self._told("subagent_started", at, body)

    def _child_over(self, event: ChildEnded, at: float) -> Iterator[Told]:
        child = self.state.children.get(event.child_id)
        agent = child.started.agent if child is not None else ""
        call_id = child.started.call_id if child is not None else None
        yield self._told("subagent_finished", at, {"agent": agent, "tool_call_id": call_id, "end": event.end})
        yield self._told("usage", at, usage_told(event.usage))

    def _told(self, kind: str, at: float, body: Body, *, ends: bool = False) -> Told:
        ts = self.stamps.next(at)
        whole = {
            "type": kind,
            "task_id": self.task_id,
            "turn_id": self.turn_id,
            "timestamp": moment(at),
            "ts": ts,
            "seq": self._seq,
            **body,
        }
        return Told(ts, kind, whole, self.turn_id, ends)

    _TOLD_BY: ClassVar[Mapping[type, Callable[..., Iterable[Told]]]] = {
        InputAccepted: _accepted,
        InputDropped: _dropped,
        RunStarted: _run_begins,
        RunEnded: _run_over,
        SessionEnded: _over,
        PreambleChanged: _preamble,
        ModelAsked: _asked,
        ModelFailed: _failed,
        ModelAnswered: _answered,
        Compacted: _compacted,
        CallAnswered: _was_answered,
        CallEnded: _ended,
        ChildStarted: _child_begins,
        ChildEnded: _child_over,
    }


def _slots(event: object) -> int:
    """How many stamps are kept for words of an answer, which need not be told in the same pieces again."""
    if isinstance(event, ModelAnswered):
        return _SLOTS * len(_merged(event.blocks)) + _LAST_WORDS
    return _LAST_WORDS if isinstance(event, ModelFailed | RunEnded) else 0


def turn_of(input_id: str) -> str:
    """Return the id of the turn that an input begins."""
    return f"turn_{input_id.rpartition('_')[2]}"


def request_id(waiting: CallWaiting) -> str:
    """Return the id of a question."""
    if waiting.request is not None:
        return waiting.request.request_id
    return f"hitl_{waiting.call_id}"


def _is_put(waiting: CallWaiting) -> bool:
    return waiting.request is not None or waiting.kind == "client_result"


def _names_of(agent: AgentDefinition) -> dict[str, str]:
    names = {wire_name(entry.name): entry.name for entry in agent.entries or ()}
    return names | {name: name for name in names.values()}


def _piece(event: object) -> tuple[str, str]:
    match event:
        case TextDelta():
            return "text", event.text
        case ThinkingDelta():
            return "thinking", event.text
        case CallDelta():
            return "tool_use", event.call_id
    return "", ""


def _merged(blocks: Iterable[SaidBlock]) -> list[tuple[str, str]]:
    """Content blocks as they can be told while they come: neighbours of one kind are one."""
    merged: list[tuple[str, str]] = []
    for block in blocks:
        if isinstance(block, CallBlock):
            merged.append(("tool_use", block.call_id))
            continue
        kind = "thinking" if isinstance(block, ThinkingBlock) else "text"
        text = block.text
        if merged and merged[-1][0] == kind:
            merged[-1] = (kind, merged[-1][1] + text)
        elif text:
            merged.append((kind, text))
    return merged
