"""Sessions that have started one another: who of them is at work, who wakes and who stops whom.

A parent looks at its children before and after its own work, and whenever somebody who has worked on a child
wakes it. What stands in the logs is enough to go on with a family in another process.
"""

import logging
from typing import TYPE_CHECKING

from toolwright.contracts.children import Worktrees
from toolwright.contracts.dispatch import Dispatcher
from toolwright.contracts.errors import EngineFault, NotPossible
from toolwright.contracts.events import ChildClosed, InterruptRequested
from toolwright.contracts.storage import DamagedLog, SessionBusy, UnknownSession
from toolwright.sessions.budgets import allowance
from toolwright.sessions.live import LiveSession
from toolwright.sessions.looking import Looking
from toolwright.sessions.starting import Starting
from toolwright.sessions.state import Child, SessionState
from toolwright.tool_calls.permissions.subject import Policy

if TYPE_CHECKING:
    from toolwright.sessions.service import Sessions

log = logging.getLogger(__name__)


class Families:
    """The families of sessions, as one process sees to them."""

    def __init__(
        self, sessions: "Sessions", dispatcher: Dispatcher, *, worktrees: Worktrees | None = None
    ) -> None:
        self.looking = Looking(sessions, self, dispatcher, worktrees)
        self.starting = Starting(sessions, self, worktrees)
        self._sessions = sessions
        self._dispatcher = dispatcher
        self._here: dict[str, set[str]] = {}

    # --- who is at work in this process ---------------------------------------------------------

    def opened(self, live: LiveSession) -> None:
        """Take note of a session that was opened here."""
        created = live.state.created
        if created.parent_id is not None:
            self._here.setdefault(created.parent_id, set()).add(created.session_id)

    def closed(self, live: LiveSession) -> None:
        """Forget a session that was closed."""
        created = live.state.created
        siblings = self._here.get(created.parent_id or "", set())
        siblings.discard(created.session_id)
        if not siblings:
            self._here.pop(created.parent_id or "", None)
        self.looking.forget(created.session_id)

    def at_work(self, session_id: str) -> str:
        """Return the first of a session and its descendants that somebody works on; empty for nobody."""
        if self._dispatcher.is_busy(session_id):
            return session_id
        return next(filter(None, map(self.at_work, self._here.get(session_id, ()))), "")

    async def idle(self, session_id: str) -> None:
        """Return once nobody works on a session or a descendant of it."""
        while busy := self.at_work(session_id):
            await self._dispatcher.idle(busy)

    async def lineage(self, state: SessionState) -> list[SessionState]:
        """Return the sessions above one, the first of all first."""
        above: list[SessionState] = []
        while state.created.parent_id is not None:
            state = await self._sessions.state(state.created.parent_id)
            above.insert(0, state)
        return above

    async def running(self, state: SessionState) -> int:
        """Return how many children run in the whole family of a session."""
        first = next(iter(await self.lineage(state)), state)
        waiting, count = [first], 0
        while waiting:
            for child_id in waiting.pop().running_children:
                count += 1
                known = await self.known(child_id)
                if known is not None:
                    waiting.append(known)
        return count

    async def known(self, session_id: str) -> SessionState | None:
        """Return what is durably known of a session, None for one that is not there."""
        live = self._sessions.at_hand(session_id)
        try:
            if live is None:
                return await self._sessions.state(session_id)
            await live.journal.durable()
        except UnknownSession:
            return None
        return live.state

    # --- around the work on a session -----------------------------------------------------------

    async def before_work(self, live: LiveSession) -> bool:
        """See to children; return whether the session may run: a child only as long as its parent wants."""
        await self.revived(live)
        await self.looking.look(live)
        parent_id = live.state.created.parent_id
        if parent_id is None:
            return True
        parent = await self.known(parent_id)
        child = parent.children.get(live.state.session_id) if parent is not None else None
        if child is None or not child.runs:
            return False
        live.allowance = allowance(child.used, child.started.reserved)
        return True

    async def after_work(self, live: LiveSession) -> None:
        """See to children once more, and tell the parent that there may be something to see."""
        await self.looking.look(live)
        await self.tell_parent(live.state)

    async def tell_parent(self, state: SessionState) -> None:
        """Have a child's parent look at it. What goes wrong there is the parent's own trouble."""
        parent_id = state.created.parent_id
        if parent_id is None:
            return
        try:
            parent = self._sessions.at_hand(parent_id)
            if parent is not None:
                await self.looking.look(parent)
        except EngineFault as fault:
            log.error("session %s cannot take what its child ended in: %s", parent_id, fault)
            await self._sessions.set_aside(parent_id)
        self._dispatcher.wake(parent_id)

    def wake_parent(self, state: SessionState) -> None:
        """Have a child's parent look at it soon."""
        if state.created.parent_id is not None:
            self._dispatcher.wake(state.created.parent_id)

    async def revived(self, live: LiveSession) -> None:
        """Wake the children that another process left in the middle. Once for each opening."""
        fresh, live.fresh = live.fresh, False
        for child_id in live.state.running_children if fresh else ():
            try:
                await self._sessions.wake(child_id)
            except UnknownSession:
                continue  # the call that starts it is made again, or it is noted as gone
            except SessionBusy:
                log.info("child %s is at work in another process", child_id)
            except DamagedLog as damaged:
                log.error("child %s cannot go on: %s", child_id, damaged)

    async def is_awaited(self, session_id: str) -> bool:
        """Whether the parent of a session counts on it: it was started and has not ended."""
        parent_id = (await self._sessions.store.card(session_id)).parent_id
        parent = await self.known(parent_id) if parent_id is not None else None
        return parent is not None and session_id in parent.running_children

    # --- down: stops and rights -----------------------------------------------------------------

    async def stop_children(self, live: LiveSession, reason: str) -> None:
        """Interrupt the children of a session, and theirs."""
        for child_id in live.state.running_children:
            await self.stop(child_id, reason)

    async def stop(self, child_id: str, reason: str) -> None:
        """Interrupt one child and its children."""
        try:
            await self._sessions.interrupt(child_id, reason)
        except UnknownSession:
            log.info("child %s was to be stopped before it was there", child_id)
        except SessionBusy:
            log.warning("child %s is at work in another process and cannot be stopped from here", child_id)

    async def stop_one(self, session_id: str, child_id: str, *, reason: str, interrupt_id: str = "") -> None:
        """Stop one child because a client wants it; its parent goes on.

        May raise UnknownSession, EngineFault.
        """
        live = await self._sessions.opened(session_id)
        runs = _child_of(live, child_id).runs
        event = InterruptRequested(reason=reason, interrupt_id=interrupt_id, child_id=child_id)
        live.journal.record(event, by_client=True)
        await live.journal.durable()
        if runs:
            await self.stop(child_id, reason)

    async def put_away(self, session_id: str, child_id: str, *, reason: str = "") -> None:
        """End a child that is not at work: it is given nothing more. Safe to repeat.

        May raise NotPossible while it works, UnknownSession and EngineFault.
        """
        live = await self._sessions.opened(session_id)
        if _child_of(live, child_id).closed:
            return
        if (await self._sessions.state(child_id)).status == "running":
            raise NotPossible("It is at work; interrupt it first.")
        await self._sessions.end(child_id, reason)
        await self.looking.look(live)
        live.journal.record(ChildClosed(child_id=child_id, reason=reason), by_client=True)
        await live.journal.durable()

    def policy_changed(self, session_id: str, policy: Policy) -> None:
        """Put what is in force for a session above its children that are at work here."""
        for child_id in tuple(self._here.get(session_id, ())):
            live = self._sessions.at_hand(child_id)
            if live is not None and live.furnished is not None:
                live.furnished.stand_under(policy)

    async def permissions_changed(self, live: LiveSession) -> None:
        """Have questions of children judged anew."""
        for child_id in tuple(live.state.running_children):
            state = await self.known(child_id)
            if state is not None and state.status == "waiting" and state.questions:
                try:
                    await self._sessions.change_permissions(child_id, ())
                except SessionBusy:
                    log.info("child %s is at work in another process", child_id)


def _child_of(live: LiveSession, child_id: str) -> Child:
    child = live.state.children.get(child_id)
    if child is None:
        raise UnknownSession(f"{child_id!r} is no child of this session.")
    return child
