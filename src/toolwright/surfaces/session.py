"""One conversation as a Python object."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from toolwright.contracts.content import Content
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallWaiting, Record, RunEndKind
from toolwright.contracts.models import NO_USAGE, Usage
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.contracts.storage import SessionCard
from toolwright.surfaces.approving import Approve, Asking, answered

if TYPE_CHECKING:
    from toolwright.sessions.service import Sessions
    from toolwright.sessions.state import SessionState
    from toolwright.settings import Loaded
    from toolwright.wiring.works import Works

Observe = Callable[[Record], None]
_NOT_OPEN = "the engine is not open: use it as 'async with Engine(...) as engine', and its sessions inside"
_OTHER_LOOP = (
    "the engine was opened in another event loop: open and use it in the same one, or call "
    "engine.run_blocking(...)"
)
_UNFINISHED = "The engine had to stop in the middle; it goes on as soon as the session's log can be written."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came of a task."""

    session_id: str
    end: RunEndKind | Literal["idle"]
    """How the last run ended; ``idle`` for a session that never ran."""
    text: str
    """The last words of the model about this task."""
    message: str = ""
    """Why the run ended, where that is not a plain end."""
    questions: tuple[CallWaiting, ...] = ()
    """What a person or a client has to answer before the session can go on."""
    rounds: int = 0
    calls: int = 0
    usage: Usage = NO_USAGE
    cost: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the model came to an end of its own."""
        return self.end == "done"

    @property
    def approvals(self) -> tuple[ApprovalRequest, ...]:
        """The questions that are a person's; for ``Session.answer``."""
        return tuple(question.request for question in self.questions if question.request is not None)

    @property
    def deliveries(self) -> tuple[CallWaiting, ...]:
        """The calls that wait for their client; for ``Session.deliver``."""
        return tuple(question for question in self.questions if question.kind == "client_result")


@dataclass(slots=True)
class OpenEngine:
    """An engine while it is open, as its sessions reach it."""

    works: "Works"
    loaded: "Loaded"
    approve: Approve | None
    loop: asyncio.AbstractEventLoop
    closed: bool = False

    @property
    def sessions(self) -> "Sessions":
        """Raises NotPossible where it cannot be used."""
        self.check()
        return self.works.sessions

    def check(self) -> None:
        """Raise NotPossible when the engine is closed, or open in another event loop."""
        if self.closed:
            raise NotPossible(_NOT_OPEN)
        if asyncio.get_running_loop() is not self.loop:
            raise NotPossible(_OTHER_LOOP)


class Session:
    """One conversation. Lasts longer than this object: ``Engine.open`` finds it again by its id.

    Every verb returns once what it did is durable. Each may raise NotPossible, SessionBusy while another
    process runs the session, and StoreUnavailable.
    """

    def __init__(self, engine: OpenEngine, session_id: str) -> None:
        self.id = session_id
        self._engine = engine

    @property
    def _sessions(self) -> "Sessions":
        return self._engine.sessions

    # --- doing a task ---------------------------------------------------------------------------

    async def run(self, task: Content, *, observe: Observe | None = None) -> RunResult:
        """Say something and return what came of it. ``observe`` sees every event and delta in order."""
        if observe is None and self._engine.approve is None:
            await self.send(task)
            return await self.quiet()
        async with aclosing(self.stream(task)) as records:
            async for record in records:
                if observe is not None:
                    observe(record)
        return await self.result()

    async def send(self, content: Content, *, input_id: str = "") -> str:
        """Put words into the queue; they are read at the next safe point. Returns the id of the input.

        An ``input_id`` of your own makes it safe to send the same words again.
        """
        return await self._sessions.send(self.id, content, input_id=input_id)

    async def take_back(self, input_id: str) -> bool:
        """Take words out of the queue. False when they have been read."""
        return await self._sessions.take_back(self.id, input_id)

    async def stream(
        self, task: Content = "", *, after: int | None = None, until_quiet: bool = True
    ) -> AsyncGenerator[Record]:
        """Say something and yield every event that comes of it, with words while they are said.

        Without a task it begins behind entry ``after`` of the log, or with the first one, and goes on with
        what comes. Ends when nobody works on the session or its agents any more, or with
        ``until_quiet=False`` never. Questions are put to the engine's ``approve`` while this goes on; what
        that raises is raised here.
        """
        sessions = self._sessions
        if task:
            after = (await self.state()).head if after is None else after
            await self.send(task)
        asking = Asking(sessions, self.id, self._engine.approve)
        records = sessions.follow(self.id, after=after or 0, until=asking if until_quiet else None)
        try:
            if self._engine.approve is not None:
                asking.see((await self.state()).questions)
            async for record in records:
                yield record
                asking.see([record.event])
            asking.check()
        finally:
            await asking.close()
            await records.aclose()

    async def wake(self) -> None:
        """Let a session go on that a dead process left, or that failed."""
        await self._sessions.wake(self.id)

    async def quiet(self) -> RunResult:
        """Return once nobody works on the session or its agents any more."""
        return result_of(await self._sessions.quiet(self.id))

    # --- answering ------------------------------------------------------------------------------

    @overload
    async def answer(self, question: ApprovalRequest, *, allow: bool, message: str = "") -> bool: ...

    @overload
    async def answer(self, question: ApprovalAnswer) -> bool: ...

    async def answer(
        self, question: ApprovalRequest | ApprovalAnswer, *, allow: bool = False, message: str = ""
    ) -> bool:
        """Answer a question, or give a whole answer. The first one counts; False for a later one.

        The model reads the ``message`` of a refusal. NotPossible for a question that was never put.
        """
        if isinstance(question, ApprovalRequest):
            question = answered(question, allow=allow, message=message)
        return await self._sessions.answer(self.id, question)

    async def deliver(self, call_id: str, content: Content, *, is_error: bool = False) -> bool:
        """Hand over the result of a call that the client makes itself. The first one counts; False for a
        later one. NotPossible for a call that does not wait for a client."""
        return await self._sessions.deliver(self.id, call_id, content, is_error=is_error)

    async def interrupt(self, reason: str = "Interrupted by the user") -> bool:
        """Stop what the session and its agents do, or what they wait for. False when they do nothing."""
        return await self._sessions.interrupt(self.id, reason)

    async def change_permissions(self, *changes: RuleChange) -> None:
        """Change rules, mode or folders for the rest of the session."""
        await self._sessions.change_permissions(self.id, changes)

    async def choose_model(self, model: str) -> None:
        """Ask another model from the next request on. Raises SettingsError for one that nobody knows."""
        self._engine.works.lookup(model)
        await self._sessions.choose_model(self.id, model)

    # --- the session as a whole -----------------------------------------------------------------

    async def retitle(self, title: str) -> None:
        """Give the session another title."""
        await self._sessions.retitle(self.id, title)

    async def compact(self) -> bool:
        """Put a summary in place of the older part of the conversation. False when it is short already."""
        return await self._sessions.compact(self.id)

    async def fork(self, *, at: int | None = None) -> "Session":
        """Return a new session that goes on from a point of this one: its end, or entry ``at`` of its log."""
        return Session(self._engine, await self._sessions.fork(self.id, at=at))

    async def end(self, reason: str = "") -> None:
        """Let nothing more happen here. The log stays and can be forked."""
        await self._sessions.end(self.id, reason)

    async def children(self) -> Sequence[SessionCard]:
        """Return the sessions of the agents that it has started, the last used first; for ``Engine.open``."""
        return await self._engine.works.store.cards(parent_id=self.id)

    async def state(self) -> "SessionState":
        """Return all that is known of the session; for reading only."""
        return await self._sessions.state(self.id)

    async def result(self) -> RunResult:
        """Return where the session stands."""
        return result_of(await self.state(), busy=self._sessions.is_busy(self.id))


def result_of(state: "SessionState", *, busy: bool = False) -> RunResult:
    """Return what came of the last task of a session."""
    talk, end = state.conversation, state.last_end
    was_given_up = state.run is None and end is not None and end.end == "failed"  # and why is known
    broke_off = state.has_work and not busy and not was_given_up
    spent = talk.spent
    return RunResult(
        session_id=state.session_id,
        end="failed" if broke_off else end.end if end is not None else "idle",
        text=talk.last.text if talk.last is not None and spent.rounds else "",
        message=_UNFINISHED if broke_off else end.message if end is not None else "",
        questions=tuple(state.questions),
        rounds=spent.rounds,
        calls=spent.calls,
        usage=spent.usage,
        cost=spent.cost,
    )
