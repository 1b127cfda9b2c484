"""Letting children run: counted, with what they may use set aside."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from toolwright.contracts.children import Worktrees
from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.errors import NotPossible, ToolFailure, ToolwrightError
from toolwright.contracts.events import ChildStarted
from toolwright.sessions.budgets import Refused, granted
from toolwright.sessions.live import LiveSession
from toolwright.sessions.state import SessionState

if TYPE_CHECKING:
    from toolwright.sessions.families import Families
    from toolwright.sessions.service import Sessions

GoOn = Callable[[LiveSession], Awaitable[None]]
"""Lets a child go on that was given something to do. May raise ToolwrightError."""


class Starting:
    """Starts children, and lets those that have ended go on."""

    def __init__(self, sessions: "Sessions", families: "Families", worktrees: Worktrees | None) -> None:
        self.worktrees = worktrees
        self._sessions = sessions
        self._families = families
        self._counting = asyncio.Lock()
        """Held while it is counted how many children run, and another one is noted."""

    async def begin(
        self, live: LiveSession, started: ChildStarted, asked: RunLimits, *, most: int | None = None
    ) -> None:
        """Note that a child begins to run, if it does not, and set aside what it may use of what is left.

        May raise ToolFailure: ``most`` run already, or nothing is left.
        """
        async with self._counting:
            if started.child_id in live.state.running_children:
                return  # somebody else was quicker
            if most is not None and await self._families.running(live.state) >= most:
                many = f"{most} agents are running already, which is the most."
                raise ToolFailure("limit_reached", many, hint="Wait for one of them; do not try again.")
            together = _started_together(live.state, started.call_id or "")
            reserved = granted(await live.left(), asked, among=together)
            if isinstance(reserved, Refused):
                hint = "Finish with what you have."
                raise ToolFailure("budget_exhausted", reserved.message, hint=hint)
            live.journal.record(replace(started, reserved=reserved))
            live.count_reserved()
        await live.journal.durable()

    async def let_run(
        self, live: LiveSession, *, call_id: str = "", notify: bool = True, most: int | None = None
    ) -> None:
        """See that a child that was given something to do may do it, on its parent's account.

        One that has ended goes on in the background. May raise ToolFailure, NotPossible, SessionBusy.
        """
        created = live.state.created
        parent = await self._sessions.opened(created.parent_id or "")
        child = parent.state.children.get(created.session_id)
        if child is None or parent.state.ended is not None:
            raise NotPossible("The session that started this one has ended; fork this one to go on.")
        if child.runs or not live.state.has_work:
            return
        if created.worktree is not None and self.worktrees is not None:
            await self.worktrees.restored(created.project, created.worktree)
        started = replace(
            child.started, call_id=call_id or None, background=True, notify=notify, after=live.journal.head
        )
        await self.begin(parent, started, created.agent.limits, most=most)

    async def accepted(self, live: LiveSession, input_id: str, go_on: GoOn | None) -> None:
        """See that a child may read what was said to it; when it may not, the words are taken back."""
        try:
            await (go_on or self.let_run)(live)
        except ToolwrightError as refused:
            await self._sessions.take_back(live.state.session_id, input_id)
            if go_on is None and isinstance(refused, ToolFailure):
                raise NotPossible(refused.message) from refused
            raise


def _started_together(parent: SessionState, call_id: str) -> int:
    """Return how many calls of the present answer are about to start a child, this one included."""
    block = parent.conversation.block
    this = block.calls.get(call_id) if block is not None else None
    if block is None or this is None:
        return 1
    alike = [call for call in block.open_calls if call.block.name == this.block.name]
    return sum(not parent.child_of_call(call.block.call_id) for call in alike) or 1
