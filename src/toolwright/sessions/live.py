"""One session while this process works on it: its journal, and the run that may be under way."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.contracts.errors import EngineFault, NotPossible, ToolwrightError
from toolwright.contracts.events import CallAnswered, ChildEnded, RunEnded, RunStarted
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import RuleChange
from toolwright.sessions.budgets import left, less, over_budget
from toolwright.sessions.journal import Journal
from toolwright.sessions.recovery import settled_after_death
from toolwright.sessions.state import SessionState
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.turns import loop
from toolwright.turns.compaction import shortened
from toolwright.turns.limits import call_quotas, calls_made, more_calls, time_is_over
from toolwright.turns.parts import RunEnd, TurnParts
from toolwright.turns.settling import take_answer

log = logging.getLogger(__name__)
RETURNED = RunEnd("returned")


class Furnished(Protocol):
    """What a session works with in this process: tools, model, prompt."""

    @property
    def parts(self) -> TurnParts: ...

    @property
    def pinned(self) -> bool:
        """Whether something of it must not end though no run is under way: a background task."""
        ...

    async def change_permissions(self, changes: Sequence[RuleChange]) -> None:
        """Put changes in force and, as what a client asked for, into the log; return once they are durable.

        May raise SettingsError or RuleError, and EngineFault: they are not kept then.
        """
        ...

    def stand_under(self, policy: Policy) -> None:
        """Take over what is in force now for the session that started this one. Must not raise."""
        ...

    async def close(self) -> None:
        """End what calls have started. Safe to repeat."""
        ...


Furnish = Callable[[Journal], Awaitable[Furnished]]
"""Builds what a session works with. May raise ToolwrightError: its definition or its settings are wrong."""


@dataclass(slots=True)
class LiveSession:
    """A session opened for writing."""

    journal: Journal
    furnish: Furnish
    furnished: Furnished | None = None
    running: bool = False
    allowance: RunLimits = NO_LIMITS
    """What the parent of a child has set aside for it: the limits of all its runs together."""
    fresh: bool = False
    """Just opened: children may have been left in the middle."""
    again: bool = False
    """Somebody wants a run that failed to be tried again."""
    _own_limits: RunLimits | None = None
    _furnishing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _at_work: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a run, and by whoever shortens the conversation between runs."""

    @property
    def state(self) -> SessionState:
        return self.journal.state

    @property
    def can_be_put_away(self) -> bool:
        """Whether nothing is lost when this object goes."""
        return not self.running and (self.furnished is None or not self.furnished.pinned)

    @property
    def at_work(self) -> bool:
        """Whether something goes on that will record what comes of it."""
        return self._at_work.locked()

    async def run(self) -> None:
        """Work until there is nothing to do. May raise EngineFault, with the log as it was kept."""
        async with self._at_work:
            self.running = True
            try:
                while self.state.has_work or self.again:
                    self.again = False
                    end = await self._one_run()
                    if end.end == "failed":
                        return  # what failed would fail again; whoever sends something new tries again
            finally:
                self.running = False

    async def compact(self) -> bool:
        """Put a summary in place of the older part of the conversation. False when it is short already.

        Runs that begin meanwhile wait. May raise NotPossible while a run is under way, and ToolwrightError.
        """
        if self._at_work.locked():
            raise NotPossible("The session is at work; its conversation can be shortened when it is not.")
        async with self._at_work:
            parts = await self.parts()
            parts.start_over()
            return await shortened(parts, parts.chosen_model())

    async def _one_run(self) -> RunEnd:
        journal = self.journal
        run_id = new_id("run")
        journal.record(RunStarted(run_id=run_id, epoch=journal.epoch))
        for result in settled_after_death(journal.conversation):
            journal.record(result)
        end = await self._worked()
        journal.record(RunEnded(run_id=run_id, end=end.end, message=end.message))
        await journal.durable()
        return end

    async def _worked(self) -> RunEnd:
        """Run the loop. What is wrong with a definition, or with the code of others, ends only this run."""
        try:
            parts = await self.parts()
            self._begin(parts)
            async with _time_limit(parts):
                return await loop.run(parts)
        except EngineFault as fault:
            if self.journal.broken is not None:
                raise
            log.exception("a run of session %s failed", self.state.session_id)
            return RunEnd("failed", f"The engine failed: {fault}")
        except ToolwrightError as problem:
            return RunEnd("failed", str(problem))
        except Exception as problem:
            log.exception("a run of session %s failed", self.state.session_id)
            return RunEnd("failed", f"The engine failed: {type(problem).__name__}: {problem}")

    async def parts(self) -> TurnParts:
        """Return what the session works with, built when it is first needed. May raise ToolwrightError."""
        async with self._furnishing:
            if self.furnished is None:
                self.furnished = await self.furnish(self.journal)
                self._own_limits = self.furnished.parts.limits
            return self.furnished.parts

    def _begin(self, parts: TurnParts) -> None:
        """Set what a run begins with."""
        parts.start_over()
        is_child = self.state.created.parent_id is not None
        parts.limits = self.allowance if is_child else self._own_limits or NO_LIMITS
        parts.over_budget = self._over_budget
        parts.pipeline.usage = calls_made(self.journal.conversation.spent)
        self.count_reserved()
        if self.state.returning:
            parts.stopper.after_block = RETURNED
        if self.state.interrupted is not None:
            parts.stopper.stop(RunEnd("interrupted", self.state.interrupted))

    def _over_budget(self) -> str:
        if self.furnished is None or not self.state.children:
            return ""
        parts, talk = self.furnished.parts, self.journal.conversation
        seconds = talk.running_seconds(parts.clock.now())
        return over_budget(parts.limits, talk.spent, self.state.reserved, seconds=seconds)

    async def left(self) -> RunLimits:
        """Return what may still be used or set aside, calls that are at work counted. May raise
        ToolwrightError, as ``parts`` does."""
        parts, talk = await self.parts(), self.journal.conversation
        made = parts.pipeline.usage
        tools = {**made.by_tool, **talk.spent.calls_by_tool}
        spent = replace(
            talk.spent,
            calls=max(talk.spent.calls, made.calls),
            calls_by_tool={tool: max(calls, made.by_tool.get(tool, 0)) for tool, calls in tools.items()},
            seconds=talk.running_seconds(parts.clock.now()),
        )
        return left(parts.limits, spent, self.state.reserved)

    def count_reserved(self, ended: ChildEnded | None = None) -> None:
        """Let calls know what is set aside for children, and what one that has ended has used of them."""
        if self.furnished is None:
            return
        parts = self.furnished.parts
        parts.pipeline.limit_calls(call_quotas(less(parts.limits, self.state.reserved)))
        if ended is not None:
            parts.pipeline.usage = more_calls(parts.pipeline.usage, ended.calls, ended.calls_by_tool)

    # --- what comes from outside while it may be at work ---

    async def change_permissions(self, changes: Sequence[RuleChange]) -> None:
        """Put changes in force; returns once they are durable. May raise ToolwrightError."""
        await self.parts()
        if self.furnished is not None:
            await self.furnished.change_permissions(changes)

    def return_to_parent(self) -> None:
        """End the run under way once the calls of the present answer have their results."""
        if self.furnished is not None:
            self.furnished.parts.stopper.after_block = RETURNED

    def stop(self, end: RunEnd) -> None:
        """End the run under way, at once."""
        if self.running and self.furnished is not None:
            self.furnished.parts.stopper.stop(end)

    async def expects(self, call_id: str) -> bool:
        """Whether a call that waits will take its answer: no change of the rules has settled it meanwhile."""
        batch = self.furnished.parts.batch if self.furnished is not None else None
        return batch is None or await batch.expects(call_id)

    def take_answer(self, event: CallAnswered) -> bool:
        """Hand a recorded answer to the calls at work; False when a new run has to see to it."""
        return self.furnished is not None and take_answer(self.furnished.parts, event)

    async def close(self) -> None:
        """End what the session has started here."""
        furnished, self.furnished = self.furnished, None
        if furnished is not None:
            await furnished.close()


@asynccontextmanager
async def _time_limit(parts: TurnParts) -> AsyncIterator[None]:
    """Stop the run when its time is over; what was used since a person spoke last counts."""
    limit = parts.limits.seconds
    if limit is None:
        yield
        return
    talk = parts.log.conversation
    heard = not talk.counts_on and any(waiting.source == "user" for waiting in talk.queue.values())
    left = limit if heard else limit - talk.spent.seconds
    watch = asyncio.create_task(_stop_in(parts, left, limit))
    try:
        yield
    finally:
        watch.cancel()


async def _stop_in(parts: TurnParts, left: float, limit: float) -> None:
    """Stop after so many seconds, or later where a person speaks in between."""
    while left > 0:
        await parts.clock.sleep(left)
        left = limit - parts.log.conversation.running_seconds(parts.clock.now())
    parts.stopper.stop(RunEnd("limit", time_is_over(limit)))
