"""What was acknowledged, and what was told to have failed: kept outside of every process, to be held against
the logs at the end.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.endurance.promises import CallStory, stories
from tests.simulation.tools import FREE, ONCE, Effect, Effects

from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallStarted,
    InputAccepted,
    InputDropped,
    InputTaken,
    InterruptRequested,
    ModelChosen,
    PermissionsChanged,
    Record,
    RunEnded,
    SessionCreated,
    SessionEnded,
    SessionTitled,
)
from toolwright.contracts.permissions import ApprovalRequest

Fate = Literal["unknown", "kept", "refused", "late"]
"""Until a verb returns nothing is known of it, and a crash leaves it at that. ``late`` is told of answers."""
Logs = Mapping[str, Sequence[Record]]


@dataclass(slots=True)
class Word:
    """Something that a client said, which is like nothing else that was ever said."""

    session_id: str
    text: str
    fate: Fate = "unknown"
    open: int = 0
    """Attempts of which nobody knows how they ended: under way, or cut off by a crash."""

    def said(self) -> None:
        """It is being said, perhaps once more."""
        self.open += 1
        if self.fate != "kept":
            self.fate = "unknown"

    def told(self, fate: Fate) -> None:
        """One attempt ended so. What was kept once stays kept."""
        self.open -= 1
        if self.fate != "kept" and (fate == "kept" or not self.open):
            self.fate = fate


@dataclass(slots=True)
class Oracle:
    """Everything that clients were told."""

    inputs: dict[str, Word] = field(default_factory=dict)
    """By the id of the input."""
    taken_back: dict[str, Word] = field(default_factory=dict)
    answers: dict[str, list[Word]] = field(default_factory=dict)
    """By question, or by call of the client."""
    words: list[Word] = field(default_factory=list)
    """Interrupts, titles, models, rules and ends."""
    sessions: dict[str, Fate] = field(default_factory=dict)
    questions: dict[str, tuple[str, ApprovalRequest]] = field(default_factory=dict)
    """Every question that somebody saw, and of which session."""
    deliveries: dict[tuple[str, str], None] = field(default_factory=dict)
    """Every call that somebody saw waiting for its client: session and call."""
    followed: list[Record] = field(default_factory=list)
    """What was shown to those who followed."""
    problems: list[str] = field(default_factory=list)
    """What was seen to be wrong at once."""

    def broken(self, logs: Logs, effects: Effects) -> Iterator[str]:
        """Yield everything that is not as it was told."""
        lost = (name for name, fate in self.sessions.items() if fate == "kept" and name not in logs)
        yield from (f"session {name} is lost" for name in lost)
        yield from self.problems
        for session_id, records in logs.items():
            of_it = [effect for effect in effects.done if effect.session_id == session_id]
            reported = [effect for effect in effects.reported if effect.session_id == session_id]
            problems = (
                *self._broken_words(session_id, records),
                *_broken_engine(records),
                *_broken_effects(records, of_it),
                *_forgotten(records, reported),
            )
            yield from (f"{session_id}: {problem}" for problem in problems)
            yield from self._broken_following(session_id, records)

    # --- what was said ---

    def _broken_words(self, session_id: str, records: Sequence[Record]) -> Iterator[str]:
        yield from self._broken_inputs(session_id, records)
        yield from self._broken_answers(session_id, records)
        said = Counter(text for record in records for text in _said(record.event))
        for word in self.words:
            if word.session_id == session_id:
                yield from _wrong_count(word, said[word.text])

    def _broken_inputs(self, session_id: str, records: Sequence[Record]) -> Iterator[str]:
        events = [record.event for record in records]
        accepted = [event for event in events if isinstance(event, InputAccepted)]
        titles = {event.title for event in events if isinstance(event, SessionTitled)}
        for input_id, word in self.inputs.items():
            if word.session_id != session_id:
                continue
            found = [event for event in accepted if event.input_id == input_id]
            yield from _wrong_count(word, len(found))
            if any(event.content != word.text for event in found):
                yield f"input {input_id} was changed"
            if word.fate == "refused" and word.text in titles:
                yield f"the session is named after input {input_id}, which was refused"
        dropped = Counter(event.input_id for event in events if isinstance(event, InputDropped))
        taken = {event.input_id for event in events if isinstance(event, InputTaken)}
        for input_id, word in self.taken_back.items():
            if word.session_id == session_id:
                yield from _wrong_count(word, dropped[input_id])
                if word.fate == "kept" and input_id in taken:
                    yield f"input {input_id} was taken back and is read all the same"

    def _broken_answers(self, session_id: str, records: Sequence[Record]) -> Iterator[str]:
        found: dict[str, list[str]] = {}
        for record in records:
            if isinstance(record.event, CallAnswered):
                name, text = _answer(record.event)
                found.setdefault(name, []).append(text)
        for name, words in self.answers.items():
            here = [word for word in words if word.session_id == session_id]
            for word in here:
                yield from _wrong_count(word, found.get(name, []).count(word.text))
            if sum(word.fate == "kept" for word in here) > 1:
                yield f"several answers to {name} were said to count"

    def _broken_following(self, session_id: str, records: Sequence[Record]) -> Iterator[str]:
        for shown in self.followed:
            seq = shown.seq or 0
            if shown.session_id == session_id and shown.event != records[seq - 1].event:
                yield f"{session_id}: entry {seq} was shown otherwise than it is"


def _wrong_count(word: Word, times: int) -> Iterator[str]:
    if word.fate == "kept" and times != 1:
        yield f"{word.text!r} was acknowledged and is there {times} times"
    if word.fate in {"refused", "late"} and times:
        yield f"{word.text!r} was told to be {word.fate} and is there"
    if word.fate == "unknown" and times > 1:
        yield f"{word.text!r} is there {times} times"


def _answer(event: CallAnswered) -> tuple[str, str]:
    if event.answer is not None:
        return event.answer.request_id, event.answer.message
    return event.call_id, str(event.content)


def _said(event: object) -> Iterator[str]:
    match event:
        case SessionTitled(title=text) | ModelChosen(model=text) | SessionEnded(reason=text):
            yield text
        case InterruptRequested(reason=text) if not text.startswith("end "):
            yield text  # what is ended is interrupted first, for the same reason
        case PermissionsChanged(changes=changes):
            yield from (rule for change in changes for rule in change.rules)


# --- what was done ---


def _broken_engine(records: Sequence[Record]) -> Iterator[str]:
    """Nothing failed that must not fail: only tools have bugs here."""
    for record in records:
        match record.event:
            case RunEnded(message=message) if message.startswith("The engine failed"):
                yield message
            case CallEnded(code="internal_error", content=content) if "a bug in a tool" not in str(content):
                yield str(content)


def _broken_effects(records: Sequence[Record], effects: Sequence[Effect]) -> Iterator[str]:
    """No call was made twice or unasked, and what the model reads of it is true."""
    for key, times in Counter(effect.key for effect in effects if effect.tool in ONCE).items():
        if times > 1:
            yield f"{key} ran {times} times"
    started = {record.event.idempotency_key for record in records if isinstance(record.event, CallStarted)}
    lost = {effect.key for effect in effects if effect.tool in ONCE} - started
    yield from (f"{key} ran and is not in the log" for key in sorted(lost))
    created = records[0].event
    if isinstance(created, SessionCreated) and created.forked_from is not None:
        return  # its calls ran in another session
    done = Counter(effect.call_id for effect in effects if effect.tool in ONCE)
    every = {effect.call_id for effect in effects}
    for story in stories(records).values():
        for ended in story.ended:
            yield from _untrue(story, ended, done[ended.call_id], every)
    yield from _unasked(records, effects)


def _untrue(story: CallStory, ended: CallEnded, ran_once: int, ran: Collection[str]) -> Iterator[str]:
    name = f"call {ended.call_id} of {story.block.name}"
    if ended.state == "done" and ended.tool != "weigh":
        yield from (f"{name}: {problem}" for problem in _untrue_result(ended, ran))
    if (ended.state == "denied" or ended.code == "not_started") and ran_once and not _named_again(story):
        yield f"{name} is said to be {ended.code} and ran"
    if ended.state == "denied" and ended.tool != "spend":
        yield f"{name} was denied by nobody"


def _untrue_result(ended: CallEnded, ran: Collection[str]) -> Iterator[str]:
    """A result is that of the call, or of an equal one that changed nothing and whose answer broke off."""
    tool, _, call_id = str(ended.content).removesuffix(" is done").partition(" of ")
    if tool != ended.tool or (call_id != ended.call_id and ended.tool in ONCE):
        yield f"the result was changed: {ended.content}"
    if call_id not in ran:
        yield "it is said to be done and never ran"


def _named_again(story: CallStory) -> bool:
    """Small servers count anew: another call may have had this id before its answer broke off."""
    return story.block.call_id.startswith("call_again")


def _forgotten(records: Sequence[Record], reported: Sequence[Effect]) -> Iterator[str]:
    """Nothing that a tool returned is lost, unless the process died or the answer broke off."""
    told = {record.event.call_id: record.event for record in records if isinstance(record.event, CallEnded)}
    for effect in reported:
        ended = told.get(effect.call_id)
        if ended is not None and ended.state != "done" and effect.tool in ONCE:
            yield f"{effect.tool} of {effect.call_id} was done, but it is said: {ended.content}"


def _unasked(records: Sequence[Record], effects: Sequence[Effect]) -> Iterator[str]:
    spent = {effect.key for effect in effects if effect.tool == "spend"}
    allowed: set[str] = set()
    free = "spend" in FREE
    for record in records:
        match record.event:
            case CallAnswered(call_id=call_id, answer=answer) if answer is not None:
                allowed |= {call_id} if answer.behavior == "allow" else set()
            case PermissionsChanged(changes=changes):
                free = free or any("spend" in change.rules for change in changes)
            case CallStarted(idempotency_key=key, call_id=call_id) if key in spent:
                if not free and call_id not in allowed:
                    yield f"call {call_id} was not allowed by anybody and ran"
