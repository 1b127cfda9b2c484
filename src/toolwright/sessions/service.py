"""The verbs of sessions: create, send, answer, interrupt, follow, fork, end.

A verb returns once what it did is durable. Whoever reads gets it from the log, here or in another process.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from toolwright.contracts.children import Worktrees
from toolwright.contracts.content import Content, text_of
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.dispatch import Dispatcher
from toolwright.contracts.errors import EngineFault, NotPossible
from toolwright.contracts.events import (
    AgentChanged,
    CallAnswered,
    ChildCallAnswered,
    ClientNoted,
    Event,
    InputAccepted,
    InputDropped,
    InputSource,
    InterruptRequested,
    LoggedEvent,
    ModelChosen,
    PermissionDecided,
    Record,
    SessionCreated,
    SessionEnded,
    SessionTitled,
    TaskChanged,
)
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalAnswer, RuleChange
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import (
    EventStore,
    StoreUnavailable,
)
from toolwright.sessions.families import Families
from toolwright.sessions.following import Following, Until
from toolwright.sessions.forking import forked_events
from toolwright.sessions.journal import Journal
from toolwright.sessions.live import Furnish, LiveSession
from toolwright.sessions.opening import OpenSessions
from toolwright.sessions.promised import Promised
from toolwright.sessions.questions import delivery_for, question_for
from toolwright.sessions.starting import GoOn
from toolwright.sessions.state import SessionState
from toolwright.turns.parts import RunEnd, TurnParts

log = logging.getLogger(__name__)
_KEPT_OPEN = 64
_TITLE = 60
_MOST_CHILDREN = 100_000


class Sessions:
    """All sessions of one store, as one process works on them."""

    def __init__(
        self,
        store: EventStore,
        dispatcher: Dispatcher,
        *,
        clock: Clock,
        furnish: Furnish,
        owner: str,
        kept_open: int = _KEPT_OPEN,
        worktrees: Worktrees | None = None,
    ) -> None:
        """``owner`` names this process to the store; ``kept_open`` sessions stay in memory while idle."""
        self.store = store
        self._dispatcher = dispatcher
        self._promised = Promised()
        self._following = Following(store, clock)
        self._open = OpenSessions(
            store,
            clock=clock,
            furnish=furnish,
            owner=owner,
            kept_open=kept_open,
            watch=_Watch(self, dispatcher, self._following, clock),
            go_on=self.wake,
        )
        self.families = Families(self, dispatcher, worktrees=worktrees)
        dispatcher.open(self._work)

    # --- beginning and ending -------------------------------------------------------------------

    async def create(
        self,
        agent: AgentDefinition,
        *,
        project: str = "",
        title: str = "",
        session_id: str = "",
        about: Callable[[SessionCreated], SessionCreated] | None = None,
    ) -> str:
        """Create a session and return its id. ``about`` adds what only some sessions have."""
        created = SessionCreated(
            session_id=session_id or new_id("session"), agent=agent, project=project, title=title
        )
        live = await self._open.begun(about(created) if about is not None else created)
        await live.journal.durable()
        return live.state.session_id

    async def fork(self, session_id: str, *, at: int | None = None, title: str = "") -> str:
        """Create a session that goes on from a point of another one; return its id."""
        records = await self._open.records(session_id, views=True)
        new = new_id("session")
        created, events = forked_events(records, new_id=new, at=at, title=title)
        live = await self._open.begun(created)
        for event in events:
            live.journal.record(event, by_client=True)
        await live.journal.durable()
        return new

    async def end(self, session_id: str, reason: str = "") -> None:
        """Let nothing more happen in a session; what runs is stopped first."""
        await self.interrupt(session_id, reason or "The session was ended.")
        await self.idle(session_id)
        await self._record(session_id, SessionEnded(reason=reason))

    async def remove(self, session_id: str) -> None:
        """Delete a session and its children. May raise NotPossible or SessionBusy while one of them runs."""
        family = await self.family(session_id)
        busy = any(self._dispatcher.is_busy(member) for member in family)
        if busy or await self.families.is_awaited(session_id):
            raise NotPossible("The session is running; interrupt it first.")
        for member in family:
            await self._open.forget(member)
        await self.store.remove(session_id)

    async def family(self, session_id: str) -> Sequence[str]:
        """Return the ids of a session and of all its children. May raise UnknownSession."""
        await self.store.card(session_id)
        family = [session_id]
        for parent_id in family:
            children = await self.store.cards(parent_id=parent_id, limit=_MOST_CHILDREN)
            family += [card.session_id for card in children if card.session_id not in family]
        return family

    # --- what comes from outside ----------------------------------------------------------------

    async def send(
        self,
        session_id: str,
        content: Content,
        *,
        source: InputSource = "user",
        input_id: str = "",
        go_on: GoOn | None = None,
    ) -> str:
        """Put an input into the queue and see that it is worked on; return its id.

        An ``input_id`` that was accepted before is not accepted twice. A child that has ended goes on, on its
        parent's account; ``go_on`` sees to that, and what it raises takes the input back.
        """
        live = await self._open.open(session_id)
        self._refuse_ended(live)
        accepted = InputAccepted(input_id=input_id or new_id("input"), content=content, source=source)
        with self._promised.soon(session_id):
            await self._accepted(live, accepted)
            if live.state.created.parent_id is not None:
                await self.families.starting.accepted(live, accepted.input_id, go_on)
            self._dispatcher.wake(session_id)
        return accepted.input_id

    async def _accepted(self, live: LiveSession, event: InputAccepted) -> None:
        if event.input_id in live.state.conversation.input_ids:
            await live.journal.durable()
            return
        if event.source == "user" and not live.state.title:
            live.journal.record(SessionTitled(title=_title_of(event.content)), by_client=True)
        await self._record(live.state.session_id, event)

    async def take_back(self, session_id: str, input_id: str) -> bool:
        """Drop an input that was not read yet; False when it was."""
        live = await self._open.open(session_id)
        if input_id not in live.state.conversation.queue:
            return await self._too_late(live)
        await self._record(session_id, InputDropped(input_id=input_id))
        return True

    async def answer(self, session_id: str, answer: ApprovalAnswer) -> bool:
        """Answer a question. The first answer counts; False for one that comes too late.

        May raise NotPossible for a question that this session never put, and for an answer that does not fit
        its question; the question stays then.
        """
        live = await self._open.open(session_id)
        asked = question_for(live.state, answer)
        if asked is None or (asked.kind == "permission" and not await live.expects(asked.call_id)):
            return await self._too_late(live)
        if asked.kind == "child":
            await self.families.looking.answered(live, asked, answer)
            return True
        if question_for(live.state, answer) is None:  # somebody else was quicker
            return await self._too_late(live)
        await self._answered(live, CallAnswered(call_id=asked.call_id, tool=asked.tool, answer=answer))
        self.families.wake_parent(live.state)
        return True

    async def deliver(
        self, session_id: str, call_id: str, content: Content, *, is_error: bool = False, child_id: str = ""
    ) -> bool:
        """Hand over the result of a call that the client makes. The first counts; False for a later one.

        ``child_id`` is that of a child that left the call to this session's client. May raise NotPossible
        for a call that was never left to the client.
        """
        live = await self._open.open(session_id)
        if child_id:
            made = ChildCallAnswered(child_id=child_id, call_id=call_id, content=content, is_error=is_error)
            return await self.families.looking.delivered(live, made)
        delivered = delivery_for(live.state, call_id, content, is_error=is_error)
        if delivered is None:
            return await self._too_late(live)
        await self._answered(live, delivered)
        return True

    @staticmethod
    async def _too_late(live: LiveSession) -> bool:
        """Say so only once what came before can be taken back no more. May raise EngineFault."""
        await live.journal.durable()
        return False

    async def _answered(self, live: LiveSession, event: CallAnswered) -> None:
        session_id = live.state.session_id
        with self._promised.soon(session_id):
            await self._record(session_id, event)
            if not live.take_answer(event):
                self._dispatcher.wake(session_id)

    async def interrupt(
        self,
        session_id: str,
        reason: str = "Interrupted by the user",
        *,
        interrupt_id: str = "",
        alone: bool = False,
    ) -> bool:
        """Stop what a session does, what it waits for, and its children. False when there is nothing to stop.

        ``alone`` lets its children go on. One with an ``interrupt_id`` is noted even where nothing is to be
        stopped. A child that is stopped forgets what it was still to do. Also stops what runs while its log
        cannot be written: StoreUnavailable says that, and the interrupt is noted once that is possible.
        """
        asked = InterruptRequested(reason=reason, interrupt_id=interrupt_id, alone=alone)
        stuck = self._open.get(session_id)
        if stuck is not None and stuck.running and stuck.journal.broken is not None:
            stuck.stop(RunEnd("interrupted", reason))
            stuck.journal.record(asked)
        live = await self._open.open(session_id)
        state = live.state
        at_work = state.status in {"running", "waiting"} or self._dispatcher.is_busy(session_id)
        if not at_work and (alone or not state.running_children):
            if interrupt_id and state.ended is None:
                await self._record(session_id, asked)
            return False
        with self._promised.soon(session_id):
            live.journal.record(asked)
            live.stop(RunEnd("interrupted", reason))
            for input_id in tuple(state.conversation.queue) if state.created.parent_id is not None else ():
                live.journal.record(InputDropped(input_id=input_id))
            try:
                await live.journal.durable()
            finally:
                if not alone:
                    await self.families.stop_children(live, reason)
            self._dispatcher.wake(session_id)
        return True

    async def change_permissions(self, session_id: str, changes: Sequence[RuleChange]) -> None:
        """Change rules, mode or folders for the rest of the session; questions are judged anew."""
        live = await self._open.open(session_id)
        self._refuse_ended(live)
        with self._promised.soon(session_id):
            await live.change_permissions(changes)
            await self.families.permissions_changed(live)
            if live.state.has_work:
                self._dispatcher.wake(session_id)

    async def choose_model(self, session_id: str, model: str) -> None:
        """Ask another model from the next request on."""
        await self._record(session_id, ModelChosen(model=model))

    async def change_agent(self, session_id: str, agent: AgentDefinition) -> None:
        """Give the session's agent other tools, servers or rules. May raise NotPossible while it runs."""
        live = await self._open.open(session_id)
        self._refuse_ended(live)
        if live.running:
            raise NotPossible("The session is running; its agent can be changed once it rests.")
        await self._record(session_id, AgentChanged(agent=agent))
        await live.close()  # furnished anew when it runs next

    async def note(self, session_id: str, note: Mapping[str, Any]) -> None:
        """Keep something in the log that only the session's client makes sense of."""
        await self._record(session_id, ClientNoted(note=note))

    async def retitle(self, session_id: str, title: str) -> None:
        """Give the session another title."""
        await self._record(session_id, SessionTitled(title=title))

    async def compact(self, session_id: str) -> bool:
        """Put a summary in place of the older part of a conversation. False when it is short already.

        May raise NotPossible while the session is at work, and what asking a model may raise.
        """
        live = await self._open.open(session_id)
        self._refuse_ended(live)
        if self._dispatcher.is_busy(session_id):
            raise NotPossible("The session is at work; interrupt it first.")
        done = await live.compact()
        await live.journal.durable()
        return done

    async def parts(self, session_id: str) -> TurnParts:
        """Return what a session works with here: what is offered, the rules in force. For reading only.

        Built when it is first needed. May raise ToolwrightError: its definition or settings are wrong.
        """
        return await (await self._open.open(session_id)).parts()

    async def wake(self, session_id: str) -> None:
        """Go on with a session that a dead process left, or that failed, and with its children."""
        live = await self._open.open(session_id)
        await self.families.revived(live)
        await self.families.looking.look(live)
        live.again = live.again or live.state.may_be_tried_again
        if live.state.has_work or live.again:
            self._dispatcher.wake(session_id)
        else:
            await self.families.tell_parent(live.state)

    # --- looking --------------------------------------------------------------------------------

    async def state(self, session_id: str) -> SessionState:
        """Return what is known of a session; for reading only."""
        live = self._open.get(session_id)
        return live.state if live is not None else await self._open.read(session_id)

    def follow(
        self,
        session_id: str,
        *,
        after: int = 0,
        deltas: bool = True,
        views: bool = True,
        until: Until | None = None,
    ) -> AsyncGenerator[Record]:
        """Yield every entry behind ``after``, then what comes; words of answers in between."""
        return self._following.follow(session_id, after=after, deltas=deltas, views=views, until=until)

    async def quiet(self, session_id: str) -> SessionState:
        """Return the state once nobody works on the session or a child of it any more."""
        with self._open.kept(session_id):
            while True:
                await self.idle(session_id)
                state = await self.state(session_id)
                if not self.is_busy(session_id):
                    return state

    async def idle(self, session_id: str) -> None:
        """Return once nobody works on the session or a child of it any more."""
        while self.is_busy(session_id):
            await self.families.idle(session_id)
            await self._promised.kept(session_id)

    def is_busy(self, session_id: str) -> bool:
        """Whether somebody works on a session or a child of it, or soon will."""
        return session_id in self._promised or bool(self.families.at_work(session_id))

    # --- for the families of sessions -----------------------------------------------------------

    async def opened(self, session_id: str) -> LiveSession:
        """Return a session opened for writing. May raise UnknownSession, SessionBusy, StoreUnavailable."""
        return await self._open.open(session_id)

    def at_hand(self, session_id: str) -> LiveSession | None:
        """Return a session if it is open in this process and can be written."""
        return self._open.at_hand(session_id)

    async def rest(self, session_id: str) -> None:
        """End what the calls of a child have started: it outlives none of its runs."""
        live = self._open.get(session_id)
        if live is not None and not live.running:
            await live.close()

    async def set_aside(self, session_id: str) -> None:
        """Take a session whose log could not be written out of use until it can."""
        await self._open.set_aside(session_id)

    # --- working --------------------------------------------------------------------------------

    async def _work(self, session_id: str) -> None:
        try:
            live = await self._open.open(session_id)
            if await self.families.before_work(live):
                await live.run()
            await self.families.after_work(live)
        except EngineFault as fault:
            log.error("session %s stopped: %s", session_id, fault)
            await self._open.set_aside(session_id)
            if isinstance(fault, StoreUnavailable):
                self._open.take_up_later(session_id)
        await self._open.put_away()

    async def _record(self, session_id: str, event: LoggedEvent) -> None:
        """Record what a client asked for and wait until it is durable. May raise EngineFault."""
        live = await self._open.open(session_id)
        self._refuse_ended(live)
        live.journal.record(event, by_client=True)
        await live.journal.durable()

    @staticmethod
    def _refuse_ended(live: LiveSession) -> None:
        if live.state.ended is not None:
            raise NotPossible("The session has ended; fork it to go on.")

    async def close(self, *, grace: float = 5.0) -> None:
        """Let runs end, or stop them, and let go of every session. The store stays open."""
        await self._dispatcher.close(grace=grace)
        await self._open.close()


class _Watch:
    """Tells a program's sessions, families and followers of what happens to those that are open."""

    def __init__(
        self, sessions: Sessions, dispatcher: Dispatcher, following: Following, clock: Clock
    ) -> None:
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._clock = clock
        self.shown = following.show

    def is_busy(self, session_id: str) -> bool:
        return self._dispatcher.is_busy(session_id)

    def opened(self, live: LiveSession) -> None:
        self._sessions.families.opened(live)

    def closed(self, live: LiveSession) -> None:
        self._sessions.families.closed(live)

    def observed(self, journal: Journal, event: Event) -> None:
        """What a background task has to say becomes an input, read at the next safe point."""
        state = journal.state
        is_child = state.created.parent_id is not None
        if isinstance(event, TaskChanged) and event.text and journal.broken is None:
            quiet = is_child and state.run is None  # its tasks end with it
            news = InputAccepted(
                input_id=new_id("input"), content=event.text, source="notification", quiet=quiet
            )
            journal.record(news)
            self._dispatcher.wake(state.session_id)
        elif isinstance(event, PermissionDecided) and is_child and event.decision.behavior == "allow":
            self._sessions.families.looking.show(state, event, self._clock.now())


def _title_of(content: Content) -> str:
    lines = text_of(content).strip().splitlines()
    first = lines[0].strip() if lines else ""
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
