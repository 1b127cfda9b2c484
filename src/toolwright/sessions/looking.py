"""Parents that look at their children: ends and questions on their way up, answers on their way down.

A log is written only by whoever works on its session. So a parent learns of its children by looking into
their logs. All of it is safe to repeat: what stands in the parent's log already is not written twice.
"""

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from toolwright.contracts.children import Worktrees
from toolwright.contracts.dispatch import Dispatcher
from toolwright.contracts.errors import EngineFault, NotPossible
from toolwright.contracts.events import (
    CallAnswered,
    CallProgressed,
    CallWaiting,
    ChildCallAnswered,
    ChildCallsLeft,
    ChildEnded,
    InputAccepted,
    LeftCall,
    PermissionDecided,
)
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.contracts.storage import DamagedLog, SessionBusy
from toolwright.contracts.tool import Progress
from toolwright.sessions import child_words
from toolwright.sessions.live import LiveSession
from toolwright.sessions.state import Child, SessionState

if TYPE_CHECKING:
    from toolwright.sessions.families import Families
    from toolwright.sessions.service import Sessions

log = logging.getLogger(__name__)
_TOOL = "agent"


class Looking:
    """Brings the logs of parents up to date."""

    def __init__(
        self,
        sessions: "Sessions",
        families: "Families",
        dispatcher: Dispatcher,
        worktrees: Worktrees | None,
    ) -> None:
        self._sessions = sessions
        self._families = families
        self._dispatcher = dispatcher
        self._worktrees = worktrees
        self._at_it: dict[str, asyncio.Lock] = {}
        self._news: dict[str, anyio.Event] = {}

    def news(self, session_id: str) -> anyio.Event:
        """Return what is set when the next child of a session ends."""
        return self._news.setdefault(session_id, anyio.Event())

    def forget(self, session_id: str) -> None:
        """Let go of what is kept of a session that was closed."""
        self._at_it.pop(session_id, None)

    async def look(self, live: LiveSession) -> None:
        """Bring the log of a parent up to date with its children. May raise EngineFault."""
        if not live.state.children or live.state.ended is not None:
            return
        async with self._at_it.setdefault(live.state.session_id, asyncio.Lock()):
            await live.journal.acknowledged()
            before = live.journal.head
            for child_id, child in live.state.running_children.items():
                await self._look_at(live, child_id, child)
            self._hand_over(live)
            if live.journal.head > before:
                await live.journal.durable()
        if live.state.has_work:
            self._dispatcher.wake(live.state.session_id)

    async def _look_at(self, live: LiveSession, child_id: str, child: Child) -> None:
        try:
            state = await self._families.known(child_id)
        except DamagedLog as damaged:
            lost = ChildEnded(child_id=child_id, end="failed", message=str(damaged))
            await self._end(live, child_id, child, lost)
            return
        except EngineFault as fault:
            log.warning("what became of child %s cannot be read now: %s", child_id, fault)
            return
        if state is None:
            if not _will_begin(live.state, child):
                gone = ChildEnded(child_id=child_id, end="failed", message=child_words.GONE)
                await self._end(live, child_id, child, gone)
        elif child_words.is_over(child, state):
            ended = await self._ended(child_id, child, state)
            if child_words.is_over(child, state):  # nobody has given it more to do meanwhile
                await self._end(live, child_id, child, ended)
        elif why := _why_stop(live.state, child):
            await self._stop(live, child_id, child, state, why)
        else:
            await self._ask(live, child_id, child, state)
            await self._leave(live, child_id, child, state)

    # --- ends ------------------------------------------------------------------------------------

    async def _ended(self, child_id: str, child: Child, state: SessionState) -> ChildEnded:
        tree, stays = state.created.worktree, False
        if tree is not None and self._worktrees is not None and await self._is_own(state):
            stays = await self._worktrees.given_back(state.created.project, tree)
        return child_words.ended(
            child_id, child, state, worktree=tree.path if tree is not None and stays else ""
        )

    async def _is_own(self, state: SessionState) -> bool:
        """Whether a child's work tree is not that of its parent."""
        above = await self._families.lineage(state)
        return above[-1].created.worktree != state.created.worktree

    async def _end(self, live: LiveSession, child_id: str, child: Child, event: ChildEnded) -> None:
        started = child.started
        if not child.runs:
            return
        live.journal.record(event)
        live.count_reserved(event)
        self._hand_over(live)
        if started.background and started.notify:
            live.journal.record(
                InputAccepted(
                    input_id=child_words.notification_id(child_id, child),
                    content=child_words.notification(child_id, started, event),
                    source="notification",
                    quiet=event.end == "interrupted",  # whoever stopped it knows
                )
            )
        news = self._news.pop(live.state.session_id, None)
        if news is not None:
            news.set()
        await self._sessions.rest(child_id)

    async def _stop(
        self, live: LiveSession, child_id: str, child: Child, state: SessionState, why: str
    ) -> None:
        if state.status == "idle" and not state.has_work and not self._dispatcher.is_busy(child_id):
            never = replace(await self._ended(child_id, child, state), end="interrupted", message=why)
            await self._end(live, child_id, child, never)
        elif state.interrupted is None:
            await self._families.stop(child_id, why)

    def _hand_over(self, live: LiveSession) -> None:
        """Give calls that wait for a child that has ended their result."""
        block = live.state.conversation.block
        for call in block.open_calls if block is not None else ():
            call_id = call.block.call_id
            child_id = live.state.child_of_call(call_id) if call.awaits_child else ""
            child = live.state.children.get(child_id)
            end = child.ends.get(call_id) if child is not None else None
            if child is None or end is None or call.waiting is None:
                continue
            code = child_words.failure(end)
            event = CallAnswered(
                call_id=call_id,
                tool=call.waiting.tool,
                content=child_words.result_text(child_id, child.started, end),
                is_error=code is not None,
                code=code,
                data=child_words.result_data(child_id, child.started, end),
            )
            live.journal.record(event)
            live.take_answer(event)

    async def _ask(self, live: LiveSession, child_id: str, child: Child, state: SessionState) -> None:
        """Put the question of a child in its parent's session, take it back, or bring it its answer."""
        open_one = next((asks.request for asks in state.questions if asks.request is not None), None)
        put = child.asks.request if child.asks is not None else None
        is_put = (put and put.request_id) == (open_one and open_one.request_id)
        answered = child.answer.answer if child.answer is not None else None
        if open_one is not None and answered is not None and answered.request_id == open_one.request_id:
            await self._bring(child_id, answered)
        elif not is_put:
            label = _labelled(open_one, child)
            live.journal.record(CallWaiting(call_id=child.key, tool=_TOOL, kind="child", request=label))

    async def _leave(self, live: LiveSession, child_id: str, child: Child, state: SessionState) -> None:
        """Tell the client of calls that a resting child left to it; pass down what came of those it made."""
        block = state.conversation.block
        new: list[LeftCall] = []
        for waiting in block.questions if block is not None and state.run is None else ():
            made = child.delivered.get(waiting.call_id)
            if made is not None:
                await self._pass_down(made)
            elif waiting.kind == "client_result" and waiting.call_id not in child.left:
                new.append(LeftCall(call_id=waiting.call_id, tool=waiting.tool, input=waiting.input))
        if new:
            live.journal.record(ChildCallsLeft(child_id=child_id, calls=tuple(new)))

    async def delivered(self, live: LiveSession, made: ChildCallAnswered) -> bool:
        """Take what the client made of a call that a child left to it, and pass it down.

        False when it comes too late. May raise NotPossible for a call that no child left to it.
        """
        child = live.state.children.get(made.child_id)
        if child is None or made.call_id not in child.left:
            if child is None or made.call_id not in child.delivered:
                raise NotPossible(f"No call with the id {made.call_id} waits for a result.")
            return False
        live.journal.record(made, by_client=True)
        await live.journal.durable()
        await self._pass_down(made)
        return True

    async def _pass_down(self, made: ChildCallAnswered) -> None:
        try:
            await self._sessions.deliver(made.child_id, made.call_id, made.content, is_error=made.is_error)
        except (NotPossible, SessionBusy) as problem:
            log.info("a result was not taken by child %s: %s", made.child_id, problem)

    async def _bring(self, child_id: str, answer: ApprovalAnswer) -> None:
        """Pass an answer down. What it grants was granted where it was given, and holds here from there."""
        try:
            await self._sessions.answer(child_id, replace(answer, changes=()))
        except (NotPossible, SessionBusy) as problem:
            log.info("an answer was not taken by child %s: %s", child_id, problem)

    async def answered(self, live: LiveSession, asked: CallWaiting, answer: ApprovalAnswer) -> None:
        """Take the answer to a question of a child, put what it grants in force, and pass it down."""
        event = CallAnswered(call_id=asked.call_id, tool=asked.tool, answer=answer)
        live.journal.record(event, by_client=True)
        await live.journal.durable()
        if answer.changes:
            await self._sessions.change_permissions(live.state.session_id, answer.changes)
        await self.look(live)
        self._dispatcher.wake(live.state.session_id)

    def show(self, state: SessionState, event: PermissionDecided, now: float) -> None:
        """Show with the call that waits for a child what the child is about to do."""
        created = state.created
        parent = self._sessions.at_hand(created.parent_id or "")
        child = parent.state.children.get(created.session_id) if parent is not None else None
        if parent is None or child is None or child.started.background or not child.started.call_id:
            return
        parent.journal.observe(
            CallProgressed(
                call_id=child.started.call_id,
                tool=_TOOL,
                progress=Progress(text=event.tool),
                elapsed=max(now - state.created_at, 0.0),
            )
        )


def _will_begin(parent: SessionState, child: Child) -> bool:
    """Whether the call that starts a child is still to do so."""
    block = parent.conversation.block
    call = block.calls.get(child.started.call_id or "") if block is not None else None
    return call is not None and call.ended is None and not call.awaits_child


def _why_stop(parent: SessionState, child: Child) -> str:
    """Return why a child shall not go on: its parent was stopped, or no call waits for it any more."""
    if child.stopping or child.started.background:
        return child.stopping
    block = parent.conversation.block
    call = block.calls.get(child.started.call_id or "") if block is not None else None
    return "" if call is not None and call.ended is None else "Nobody waits for it any more."


def _labelled(request: ApprovalRequest | None, child: Child) -> ApprovalRequest | None:
    """Return a question with the name of the child it comes from, through however many others."""
    if request is None:
        return None
    name = child_words.named(child.started)
    return replace(request, asked_by=f"{name} › {request.asked_by}" if request.asked_by else name)
