"""What must be true of every log, however its session was treated (pure). A broken promise is a sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallStarted,
    CallWaiting,
    InputAccepted,
    InputDropped,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    Record,
    ResultsSettled,
    RunEnded,
    RunStarted,
    SessionCreated,
)
from toolwright.contracts.messages import CallBlock, Message, ResultBlock
from toolwright.sessions.state import SessionState, folded


@dataclass(slots=True)
class CallStory:
    """All that a log says of one call of an answer."""

    block: CallBlock
    started: list[CallStarted] = field(default_factory=list)
    waited: list[CallWaiting] = field(default_factory=list)
    answered: list[CallAnswered] = field(default_factory=list)
    ended: list[CallEnded] = field(default_factory=list)


def stories(records: Sequence[Record]) -> dict[str, CallStory]:
    """Return every call that an answer made, by its id, with what became of it."""
    found: dict[str, CallStory] = {}
    early: dict[str, list[CallStarted]] = {}
    for record in records:
        match record.event:
            case ModelAsked():
                early = {}  # what began for an answer that never came to be counts for nothing
            case ModelAnswered(blocks=blocks):
                for block in blocks:
                    if isinstance(block, CallBlock):
                        found[block.call_id] = CallStory(block, started=early.get(block.call_id, []))
                early = {}
            case CallStarted() as event if event.call_id in found:
                found[event.call_id].started.append(event)
            case CallStarted() as event:
                early.setdefault(event.call_id, []).append(event)
            case CallWaiting() as event if event.call_id in found:
                found[event.call_id].waited.append(event)
            case CallAnswered() as event if event.call_id in found:
                found[event.call_id].answered.append(event)
            case CallEnded() as event if event.call_id in found:
                found[event.call_id].ended.append(event)
    return found


def broken(records: Sequence[Record], *, at_rest: bool = True) -> Iterator[str]:
    """Yield what is wrong with a log. ``at_rest`` says that nobody works on the session any more."""
    yield from _broken_order(records)
    yield from _broken_inputs(records)
    state = folded(records)
    yield from _broken_calls(records, state, at_rest=at_rest)
    yield from _broken_messages(state)
    if at_rest:
        yield from _broken_rest(state)


def _broken_order(records: Sequence[Record]) -> Iterator[str]:
    seqs = [record.seq for record in records]
    if seqs != list(range(1, len(records) + 1)):
        yield f"the numbers of the log are not 1 to {len(records)}: {seqs}"
    running: str | None = None
    created = records[0].event if records else None
    is_fork = isinstance(created, SessionCreated) and created.forked_from is not None
    for record in records:
        match record.event:
            case RunStarted(run_id=run_id):
                running = run_id
            case RunEnded(run_id=run_id):
                if run_id != running:
                    yield f"entry {record.seq}: run {run_id} ended, though {running} was under way"
                running = None
            case CallEnded() | ModelAnswered() | InputTaken() | ResultsSettled() if (
                running is None and not is_fork
            ):
                yield f"entry {record.seq}: {type(record.event).__name__} outside of any run"


def _broken_inputs(records: Sequence[Record]) -> Iterator[str]:
    accepted = Counter(r.event.input_id for r in records if isinstance(r.event, InputAccepted))
    left = Counter(r.event.input_id for r in records if isinstance(r.event, InputTaken | InputDropped))
    yield from (f"input {name} was accepted {times} times" for name, times in accepted.items() if times > 1)
    yield from (f"input {name} left the queue {times} times" for name, times in left.items() if times > 1)
    yield from (f"input {name} was read, but never accepted" for name in left.keys() - accepted.keys())


def _broken_calls(records: Sequence[Record], state: SessionState, *, at_rest: bool) -> Iterator[str]:
    known, block = stories(records), state.conversation.block
    waits = set(block.calls) if block is not None else set()
    for call_id, story in known.items():
        if len(story.ended) > 1:
            yield f"call {call_id} has {len(story.ended)} results"
        if at_rest and not story.ended and call_id not in waits:
            yield f"call {call_id} has no result"
        if len(story.started) > 1 and not all(start.repeatable for start in story.started):
            yield f"call {call_id} must not be repeated and was started {len(story.started)} times"
        answered = Counter(a.answer.request_id for a in story.answered if a.answer is not None)
        yield from (f"question {name} was answered {n} times" for name, n in answered.items() if n > 1)
    for record in records:
        if isinstance(record.event, CallEnded) and record.event.call_id not in known:
            yield f"entry {record.seq}: call {record.event.call_id} ended, but no answer made it"


def _broken_messages(state: SessionState) -> Iterator[str]:
    messages = state.conversation.messages
    if messages and messages[0].role != "user":
        yield "the conversation does not begin with the person"
    for place, message in enumerate(messages):
        yield from _broken_message(message, messages[place - 1] if place else None, place)
    unsettled = state.conversation.block is not None
    last = messages[-1] if messages else None
    if last is not None and last.calls and not unsettled and not state.conversation.unsaid:
        yield "the last calls have neither results nor an open block"


def _broken_message(message: Message, before: Message | None, place: int) -> Iterator[str]:
    made = [call.call_id for call in before.calls] if before is not None else []
    results = [block.call_id for block in message.blocks if isinstance(block, ResultBlock)]
    if results != made:
        yield f"message {place} has results of {results}, but the calls before it were {made}"
    if results and not all(isinstance(b, ResultBlock) for b in message.blocks[: len(results)]):
        yield f"message {place} does not begin with its results"
    if message.role == "user" and before is not None and before.role == "user" and made:
        yield f"message {place} follows another of the same side"


def _broken_rest(state: SessionState) -> Iterator[str]:
    if state.run is not None:
        yield f"run {state.run.run_id} never ended"
    block = state.conversation.block
    if block is not None and not block.questions:
        yield "calls are open, and nobody is asked anything"
    if block is not None and any(call.state == "started" for call in block.open_calls):
        yield "a call is under way, though nobody works"
