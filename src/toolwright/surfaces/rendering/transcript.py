"""What a person sees of a session, folded from its events (pure).

``apply`` takes the records of a session in their order and returns what can be drawn for good: words, calls
that are over, notes. What may still change stands in the attributes until then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from toolwright.contracts.content import Content, TextBlock, text_of
from toolwright.contracts.events import (
    CallAnswered,
    CallDiscarded,
    CallEnded,
    CallProgressed,
    CallStarted,
    CallWaiting,
    ChildEnded,
    ChildStarted,
    InputAccepted,
    InputDropped,
    InputSource,
    InputTaken,
    InterruptRequested,
    ModelAnswered,
    ModelAsked,
    ModelChosen,
    ModelFailed,
    PermissionDecided,
    Record,
    ResultsSettled,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionTitled,
)
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import CallDelta, TextDelta, ThinkingDelta
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import CallState, Done, Failed, Progress
from toolwright.contracts.view import Phase, View
from toolwright.surfaces.rendering.paragraphs import pieces_of
from toolwright.surfaces.rendering.session_notes import Note, note_of
from toolwright.tool_calls.telling import phase_of

_MOST_OUTPUT = 4_000
"""Characters of the output of a running call that are kept to be shown."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said to the session."""

    text: str
    source: InputSource = "user"
    more: int = 0
    """Files that came with it."""


@dataclass(frozen=True, slots=True)
class Words:
    """A complete piece of what the model says."""

    text: str


@dataclass(frozen=True, slots=True)
class CallOver:
    """A call that is over."""

    view: View | None
    state: CallState
    offers: tuple[RuleChange, ...] = ()
    """What would have allowed it."""


Item = Spoken | Words | CallOver | Note


@dataclass(slots=True)
class OpenCall:
    """A call that is not over."""

    call_id: str
    name: str
    phase: Phase = "streaming"
    raw: str = ""
    view: View | None = None
    began: float | None = None
    progress: Progress | None = None
    output: str = ""
    """The end of what it printed."""
    offers: tuple[RuleChange, ...] = ()


@dataclass(slots=True)
class Used:
    """What the session has used, as far as it was seen."""

    rounds: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    context: int = 0
    """Tokens in the window at the last answer."""
    cost: float = 0.0


@dataclass(slots=True)
class Transcript:
    """The state of the drawing."""

    words: str = ""
    """What the model is saying and may still go on with."""
    thought: str = ""
    calls: dict[str, OpenCall] = field(default_factory=dict)
    queue: dict[str, InputAccepted] = field(default_factory=dict)
    questions: dict[str, CallWaiting] = field(default_factory=dict)
    """By call id: what a person has to answer."""
    running: bool = False
    agents: set[str] = field(default_factory=set)
    """Ids of the agents that it has started and that have not ended."""
    asking_since: float | None = None
    """Since when the model has been asked and has not answered."""
    interrupting: bool = False
    end: RunEnded | None = None
    """How the last run ended."""
    title: str = ""
    model: str = ""
    used: Used = field(default_factory=Used)
    _asks_as: dict[str, str] = field(default_factory=dict)
    """By child: what stands for the call in its questions."""
    _said: str = ""
    """All words of the answer that is coming."""

    @property
    def at_work(self) -> bool:
        """Whether somebody works: the session itself, or an agent that it has started."""
        return self.running or bool(self.agents)

    def apply(self, record: Record) -> tuple[Item, ...]:
        """Take one record; return what can be drawn for good."""
        take = self._TAKEN_BY.get(type(record.event))
        items = () if take is None else tuple(take(self, record.event, record.at))
        note = note_of(record.event)
        return items if note is None else (*items, note)

    # --- words ----------------------------------------------------------------------------------

    def _asked(self, event: ModelAsked, at: float) -> Iterable[Item]:
        self.asking_since, self.model, self._said = at, event.model, ""
        return ()

    def _text(self, event: TextDelta, at: float) -> Iterable[Item]:
        del at
        self.thought = ""
        self._said += event.text
        pieces = pieces_of(self.words + event.text)
        self.words = pieces.rest
        return map(Words, pieces.complete)

    def _thinks(self, event: ThinkingDelta, at: float) -> Iterable[Item]:
        del at
        self.thought = (self.thought + event.text)[-_MOST_OUTPUT:]
        return ()

    def _call_text(self, event: CallDelta, at: float) -> Iterable[Item]:
        del at
        call = self.calls.setdefault(event.call_id, OpenCall(event.call_id, event.name))
        call.raw += event.json
        return self._flushed()

    def _flushed(self) -> Iterable[Item]:
        words, self.words, self.thought = self.words, "", ""
        return (Words(words.strip("\n")),) if words.strip() else ()

    def _answered(self, event: ModelAnswered, at: float) -> Iterable[Item]:
        del at
        self._account(event)
        for block in event.blocks:
            if isinstance(block, CallBlock):
                call = self.calls.setdefault(block.call_id, OpenCall(block.call_id, block.name))
                call.raw = block.input
                call.phase = "queued" if call.phase == "streaming" else call.phase
        said, self._said = self._said, ""
        if not _same_words(said, event.text):  # what the log says counts, whatever came live
            self.words = event.text
        return self._flushed()

    def _account(self, event: ModelAnswered) -> None:
        usage, used = event.usage, self.used
        self.asking_since = None
        used.rounds += 1
        used.tokens_in += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        used.tokens_out += usage.output_tokens
        used.context = usage.context_tokens or used.context
        used.cost += event.cost

    def _failed(self, event: ModelFailed, at: float) -> Iterable[Item]:
        del event, at
        self.asking_since, self._said = None, ""
        self.calls = {key: call for key, call in self.calls.items() if call.phase != "streaming"}
        return self._flushed()

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, call_id: str, tool: str) -> OpenCall:
        return self.calls.setdefault(call_id, OpenCall(call_id, tool, phase="queued"))

    def _waits(self, event: CallWaiting, at: float) -> Iterable[Item]:
        del at
        if event.kind != "child":
            call = self._call(event.call_id, event.tool)
            call.phase = "waiting_permission" if event.kind == "permission" else call.phase
            call.offers = event.request.suggestions if event.request is not None else call.offers
        if event.request is not None:
            self.questions[event.call_id] = event
        else:
            self.questions.pop(event.call_id, None)
        return ()

    def _decided(self, event: PermissionDecided, at: float) -> Iterable[Item]:
        del at
        call = self._call(event.call_id, event.tool)
        call.offers = event.decision.suggestions or call.offers
        return ()

    def _person_answered(self, event: CallAnswered, at: float) -> Iterable[Item]:
        del at
        asked = self.questions.pop(event.call_id, None)
        if asked is None or asked.kind != "child":  # an agent goes on by itself
            self._call(event.call_id, event.tool).phase = "queued"
        return ()

    def _starts(self, event: CallStarted, at: float) -> Iterable[Item]:
        call = self._call(event.call_id, event.tool)
        call.phase, call.began, call.view = "running", at, event.view or call.view
        self.questions.pop(event.call_id, None)
        return ()

    def _progresses(self, event: CallProgressed, at: float) -> Iterable[Item]:
        del at
        call = self._call(event.call_id, event.tool)
        call.progress = event.progress
        if event.progress.output:
            call.output = (call.output + event.progress.output)[-_MOST_OUTPUT:]
        return ()

    def _discarded(self, event: CallDiscarded, at: float) -> Iterable[Item]:
        del at
        self.calls.pop(event.call_id, None)
        return ()

    def _over(self, event: CallEnded, at: float) -> Iterable[Item]:
        del at
        known = self.calls.pop(event.call_id, None)
        self.questions.pop(event.call_id, None)
        self.used.calls += 1
        state = call_state(event, _input_of(known.raw) if known is not None else {})
        view = event.view or (known.view if known is not None else None)
        over = CallOver(view, state, known.offers if known is not None else ())
        return (*self._flushed(), over)

    def _settled(self, event: ResultsSettled, at: float) -> Iterable[Item]:
        del event, at
        self.calls.clear()
        self._forget_questions()
        return ()

    def _forget_questions(self) -> None:
        """The calls are over; agents in the background may still ask."""
        self.questions = {key: asked for key, asked in self.questions.items() if asked.kind == "child"}

    def _child_begins(self, event: ChildStarted, at: float) -> Iterable[Item]:
        del at
        self._asks_as[event.child_id] = event.call_id or event.child_id
        self.agents.add(event.child_id)
        return ()

    def _child_over(self, event: ChildEnded, at: float) -> Iterable[Item]:
        del at
        self.questions.pop(self._asks_as.get(event.child_id, ""), None)
        self.agents.discard(event.child_id)
        usage, used = event.usage, self.used
        used.rounds += event.rounds
        used.calls += event.calls
        used.tokens_in += usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        used.tokens_out += usage.output_tokens
        used.cost += event.cost
        return ()

    # --- inputs and runs ------------------------------------------------------------------------

    def _queued(self, event: InputAccepted, at: float) -> Iterable[Item]:
        del at
        self.queue[event.input_id] = event
        return ()

    def _taken(self, event: InputTaken, at: float) -> Iterable[Item]:
        del at
        accepted = self.queue.pop(event.input_id, None)
        return (spoken(accepted.content, accepted.source),) if accepted is not None else ()

    def _dropped(self, event: InputDropped, at: float) -> Iterable[Item]:
        del at
        self.queue.pop(event.input_id, None)
        return ()

    def _begins(self, event: RunStarted, at: float) -> Iterable[Item]:
        del event, at
        self.running, self.end = True, None
        return ()

    def _ends(self, event: RunEnded, at: float) -> Iterable[Item]:
        del at
        self.running, self.end, self.interrupting, self.asking_since = False, event, False, None
        if event.end != "waiting":
            self.calls.clear()
            self._forget_questions()
        return self._flushed()

    def _interrupt(self, event: InterruptRequested, at: float) -> Iterable[Item]:
        del event, at
        self.interrupting = self.running or bool(self.calls)  # otherwise only its agents stop
        return ()

    # --- the session ----------------------------------------------------------------------------

    def _created(self, event: SessionCreated, at: float) -> Iterable[Item]:
        del at
        self.title, self.model = event.title, event.agent.model
        return ()

    def _titled(self, event: SessionTitled, at: float) -> Iterable[Item]:
        del at
        self.title = event.title
        return ()

    def _chosen(self, event: ModelChosen, at: float) -> Iterable[Item]:
        del at
        self.model = event.model
        return ()

    _TAKEN_BY: ClassVar[Mapping[type, Callable[..., Iterable[Item]]]] = {
        ModelAsked: _asked,
        TextDelta: _text,
        ThinkingDelta: _thinks,
        CallDelta: _call_text,
        ModelAnswered: _answered,
        ModelFailed: _failed,
        CallWaiting: _waits,
        CallAnswered: _person_answered,
        PermissionDecided: _decided,
        CallStarted: _starts,
        CallProgressed: _progresses,
        CallDiscarded: _discarded,
        CallEnded: _over,
        ResultsSettled: _settled,
        ChildStarted: _child_begins,
        ChildEnded: _child_over,
        InputAccepted: _queued,
        InputTaken: _taken,
        InputDropped: _dropped,
        RunStarted: _begins,
        RunEnded: _ends,
        InterruptRequested: _interrupt,
        SessionCreated: _created,
        SessionTitled: _titled,
        ModelChosen: _chosen,
    }


def call_state(event: CallEnded, written: Mapping[str, Any]) -> CallState:
    """Return a call that is over as it is drawn; ``written`` is what the model wrote as its input."""
    failed = _failure(event) if event.state != "done" else None
    phase = phase_of(failed)
    if event.state == "denied":
        phase = "rejected"
    return CallState(
        call_id=event.call_id,
        tool=event.tool,
        offered_name=event.offered_name,
        input=event.input if event.input is not None else written,
        phase=phase,
        outcome=failed or Done(event.content),
        duration=event.duration,
    )


def _failure(event: CallEnded) -> Failed:
    code = event.code or "internal_error"
    return Failed(code, text_of(event.content).removeprefix(f"Error [{code}]: "))


def spoken(content: Content, source: InputSource) -> Spoken:
    """Return words to the session as they are drawn: without the files that came along."""
    if isinstance(content, str):
        return Spoken(content, source)
    words = tuple(block for block in content if isinstance(block, TextBlock) and not _is_file(block.text))
    return Spoken(text_of(words), source, len(content) - len(words))


def _is_file(text: str) -> bool:
    return text.startswith('<file path="') and text.endswith("</file>")


def in_the_queue(transcript: Transcript) -> list[InputAccepted]:
    """What a person said and the model has not read yet."""
    return [accepted for accepted in transcript.queue.values() if accepted.source == "user"]


def _same_words(live: str, recorded: str) -> bool:
    """Whether the words that came live are those of the answer; blocks are set apart by a line there."""
    return live.split() == recorded.split() or live.replace("\n", "") == recorded.replace("\n", "")


def _input_of(raw: str) -> Mapping[str, Any]:
    """What a model wrote as an input, for drawing only; nothing when that is not whole."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
