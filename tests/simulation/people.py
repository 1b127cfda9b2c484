"""The clients of a simulated engine: they send, answer, interrupt and look at any moment, in any order."""

import asyncio
from collections.abc import Awaitable
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TypeVar

import anyio
from tests.simulation.oracle import Fate, Oracle, Word
from tests.simulation.store import Disk

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import EngineFault, ToolwrightError
from toolwright.contracts.events import LiveDelta, Record
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.sessions.service import Sessions

T = TypeVar("T")
_MOST_SESSIONS = 4


@dataclass(slots=True)
class People:
    """Clients of one process. What they were told goes into the oracle, which outlives it."""

    sessions: Sessions
    oracle: Oracle
    disk: Disk
    chance: Random
    numbers: "count[int]"
    acts: dict[str, int] = field(default_factory=dict)
    shown: list[Record] = field(default_factory=list)
    """What was shown to who follows."""

    async def busy(self, *, times: int, pause: float) -> None:
        """Do something now and then."""
        verbs = (
            (self.send, 8), (self.answer, 9), (self.deliver, 7), (self.interrupt, 2), (self.take_back, 2),
            (self.change_permissions, 2), (self.say_again, 2), (self.retitle, 1), (self.choose_model, 1),
            (self.create, 1), (self.fork, 1), (self.compact, 1), (self.end, 0.1), (self.look, 1),
            (self.wake, 2), (self.at_once, 4),
        )  # fmt: skip
        for _ in range(times):
            await anyio.sleep(self.chance.random() ** 3 * pause)
            (verb,) = self.chance.choices([verb for verb, _ in verbs], [weight for _, weight in verbs])
            await verb()
            self.acts[verb.__name__] = self.acts.get(verb.__name__, 0) + 1

    async def at_once(self) -> None:
        """Do things that may get in each other's way at the same moment."""
        rivals = (
            self.answer,
            self.deliver,
            self.change_permissions,
            self.say_again,
            self.interrupt,
            self.send,
        )
        async with asyncio.TaskGroup() as group:
            for verb in self.chance.choices(rivals, (6, 4, 3, 2, 1, 2), k=self.chance.choice((2, 3))):
                group.create_task(verb())

    async def follow(self) -> None:
        """Follow some session for ever, taken up again where it broke off, and note all that is shown."""
        session_id = self._some()
        while session_id:
            try:
                await self._follow(session_id)
            except EngineFault:
                await anyio.sleep(0.1)

    async def _follow(self, session_id: str) -> None:
        following = self.sessions.follow(session_id, after=len(self.shown), views=False)
        async with aclosing(following) as records:
            async for record in records:
                if not isinstance(record.event, LiveDelta):
                    self._see(record)

    def _see(self, record: Record) -> None:
        self.shown.append(record)
        self.oracle.followed.append(record)
        head, expected = len(self.disk.entries(record.session_id)), len(self.shown)
        if record.seq != expected or expected > head:
            said = f"entry {record.seq} was shown, {expected} expected, {head} durable"
            self.oracle.problems.append(f"{record.session_id}: {said}")

    # --- what they do ---

    async def create(self) -> None:
        """Create a session."""
        if len(self.oracle.sessions) < _MOST_SESSIONS:
            name = f"session_{next(self.numbers)}"
            self.oracle.sessions[name] = "unknown"
            if await self._told(self.sessions.create(AgentDefinition(), session_id=name)) is not None:
                self.oracle.sessions[name] = "kept"

    async def fork(self) -> None:
        """Fork a session from some point."""
        if len(self.oracle.sessions) < _MOST_SESSIONS:
            head = (await self.disk.events.card(self._some())).head if self._some() else 0
            at = self.chance.choice((None, self.chance.randrange(1, head + 1))) if head else None
            forked = await self._told(self.sessions.fork(self._some(), at=at))
            if forked is not None:
                self.oracle.sessions[forked] = "kept"

    async def send(self) -> None:
        """Say something, some of it twice."""
        await self._send(*self._input(self._some()))

    async def send_to(self, session_id: str) -> None:
        """Say something to one session. May raise what sending raises."""
        input_id, word = self._input(session_id)
        word.said()
        await self.sessions.send(session_id, word.text, input_id=input_id)
        word.told("kept")

    def _input(self, session_id: str) -> tuple[str, Word]:
        number = next(self.numbers)
        word = self.oracle.inputs[f"input_{number}"] = Word(session_id, f"word {number}")
        return f"input_{number}", word

    async def say_again(self) -> None:
        """Say once more what was said before, whatever came of it: it counts once."""
        if self.oracle.inputs:
            await self._send(*self.chance.choice(list(self.oracle.inputs.items())))

    async def _send(self, input_id: str, word: Word) -> None:
        await self._say(word, self.sessions.send(word.session_id, word.text, input_id=input_id))

    async def take_back(self) -> None:
        """Take back an input."""
        waiting = [name for name in self.oracle.inputs if name not in self.oracle.taken_back]
        if waiting:
            input_id = self.chance.choice(waiting[-3:])
            word = self.oracle.taken_back[input_id] = Word(self.oracle.inputs[input_id].session_id, input_id)
            await self._say(word, self.sessions.take_back(word.session_id, input_id))

    async def answer(self) -> None:
        """Answer a question, old or new, of any session."""
        await self._look_for_questions()
        if not self.oracle.questions:
            return
        names = list(self.oracle.questions)
        name = self.chance.choice(names[-4:] if self.chance.random() < 0.9 else names)
        session_id, request = self.oracle.questions[name]
        word = Word(session_id, f"answer {next(self.numbers)}")
        self.oracle.answers.setdefault(name, []).append(word)
        await self._say(word, self.sessions.answer(session_id, self._answer_to(request, word)), false="late")
        self._check_late(word, request.call_id)

    def _answer_to(self, request: ApprovalRequest, word: Word) -> ApprovalAnswer:
        luck = self.chance.random()
        always = RuleChange("addRules", "allow", ("spend",))
        return ApprovalAnswer(
            request_id=request.request_id,
            fingerprint=request.fingerprint,
            behavior="allow" if luck < 0.7 else "deny",
            message=word.text,
            changes=(always,) if luck < 0.03 else (),
            interrupt=luck > 0.97,
        )

    async def deliver(self) -> None:
        """Deliver the result of a call, waiting or not."""
        await self._look_for_questions()
        if not self.oracle.deliveries:
            return
        session_id, call_id = self.chance.choice(list(self.oracle.deliveries)[-4:])
        word = Word(session_id, f"weight {next(self.numbers)}")
        self.oracle.answers.setdefault(call_id, []).append(word)
        error = self.chance.random() < 0.1
        delivered = self.sessions.deliver(session_id, call_id, word.text, is_error=error)
        await self._say(word, delivered, false="late")
        self._check_late(word, call_id)

    async def interrupt(self) -> None:
        """Interrupt."""
        word = self._word("interrupt")
        await self._say(word, self.sessions.interrupt(word.session_id, word.text), refused="unknown")

    async def change_permissions(self) -> None:
        """Add a rule that says nothing, and perhaps one that lets spend run."""
        word = self._word("unheard_of(it")
        word.text += ")"
        spend = ("spend",) if self.chance.random() < 0.3 else ()
        change = RuleChange("addRules", "allow", (word.text, *spend))
        await self._say(word, self.sessions.change_permissions(word.session_id, [change]))

    async def retitle(self) -> None:
        """Give another title."""
        word = self._word("title")
        await self._say(word, self.sessions.retitle(word.session_id, word.text))

    async def choose_model(self) -> None:
        """Choose a model."""
        word = self._word("model")
        await self._say(word, self.sessions.choose_model(word.session_id, word.text))

    async def end(self) -> None:
        """End a session."""
        word = self._word("end")
        await self._say(word, self.sessions.end(word.session_id, word.text))

    async def compact(self) -> None:
        """Shorten a conversation."""
        await self._told(self.sessions.compact(self._some()))

    async def wake(self) -> None:
        """Let a session go on."""
        await self._told(self.sessions.wake(self._some()))

    async def look(self) -> None:
        """Look at a session while whatever is going on goes on."""
        await self._told(self.sessions.state(self._some()))

    # --- noting what comes of it ---

    def _some(self) -> str:
        """Some session that was created."""
        known = [name for name, fate in self.oracle.sessions.items() if fate == "kept"]
        return self.chance.choice(known) if known else ""

    def _word(self, kind: str) -> Word:
        word = Word(self._some(), f"{kind} {next(self.numbers)}")
        self.oracle.words.append(word)
        return word

    async def _say(
        self, word: Word, verb: Awaitable[object], *, false: Fate = "refused", refused: Fate = "refused"
    ) -> None:
        """Let the oracle know what comes of a verb.

        ``false`` is what it means when it returns False, ``refused`` when it fails.
        """
        word.said()
        try:
            fate: Fate = false if await verb is False else "kept"
        except ToolwrightError:
            fate = refused
        word.told(fate)
        if fate == "kept" and not self.disk.says(word.session_id, f'"{word.text}"'):
            self.oracle.problems.append(f"{word.text!r} was acknowledged before it was durable")

    def _check_late(self, word: Word, call_id: str) -> None:
        """Who is told to be late can see why: the call was answered, began, or is over."""
        kinds = ("call_answered", "permission_decided", "call_started", "call_ended")
        if word.fate == "late" and not any(
            self.disk.says(word.session_id, f'"type":"{kind}"', f'"{call_id}"') for kind in kinds
        ):
            self.oracle.problems.append(f"{word.text!r} was told to be late before anything else was durable")

    async def _told(self, verb: Awaitable[T]) -> T | None:
        try:
            return await verb
        except ToolwrightError:
            return None

    async def _look_for_questions(self) -> None:
        session_id = self._some()
        state = await self._told(self.sessions.state(session_id))
        block = state.conversation.block if state is not None else None
        for question in block.questions if block is not None else ():
            if question.request is not None:
                self.oracle.questions.setdefault(question.request.request_id, (session_id, question.request))
            else:
                self.oracle.deliveries.setdefault((session_id, question.call_id), None)
