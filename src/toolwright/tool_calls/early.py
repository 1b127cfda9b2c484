"""Calls that begin while the model still speaks: only those that change nothing and are in nobody's way.

Nothing of an answer counts before it is complete. When a stream breaks and the model is asked again, the
work of a call that is made again in the same words is kept and not done twice; the rest is given up.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Self

import anyio

from toolwright.contracts.tool import Failed, Outcome, ToolCall
from toolwright.tool_calls.gates import Slots
from toolwright.tool_calls.live import LiveCall, Turn
from toolwright.tool_calls.order import Order
from toolwright.tool_calls.pipeline import Pipeline


class EarlyCall:
    """An opened call, perhaps under way; ``outcome`` is awaited by the batch it becomes part of."""

    def __init__(self, pipeline: Pipeline, live: LiveCall, slots: Slots) -> None:
        self.live = live
        self.slots = slots
        """The places in which it runs, and in which the batch runs the calls beside it."""
        self.taken_over = False
        """A batch has made it one of its own."""
        self._pipeline = pipeline
        self._beginning: asyncio.Handle | None = None
        self._order: _EarlyOrder | None = None
        self._task: asyncio.Task[Outcome] | None = None

    def begin(self) -> None:
        """Set to work before the message is complete, unless it is by the time others have had their turn.

        Safe to repeat.
        """
        if self._beginning is None:
            self._beginning = asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        self._order = _EarlyOrder(self.slots)
        self._task = asyncio.create_task(self._pipeline.carry_out(self.live, self._order))

    async def outcome(self, order: Order) -> Outcome:
        """Go on in the order of a complete message and return what the call ends in."""
        self.taken_over = True
        if self._order is None or self._task is None:
            return await self._pipeline.carry_out(self.live, order)
        self._order.join(order)
        return await self._task

    def begin_no_more(self) -> None:
        """Leave the beginning to the batch, where it has not come to it yet."""
        if self._beginning is not None:
            self._beginning.cancel()

    async def give_up(self) -> None:
        """End it, whatever it is doing. Safe to repeat."""
        self._pipeline.take_back(self.live)
        self.begin_no_more()
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # looked at, so that nobody is told of a failure that nobody needs


class EarlyCalls:
    """The early calls of one answer, over all attempts to get it. A context manager: it leaves nothing."""

    def __init__(self, pipeline: Pipeline, *, most: int) -> None:
        self._pipeline = pipeline
        self.frame: Turn | None = None
        """What the calls of the answer share; set before the first one comes."""
        self._slots = Slots(most)
        self._opened: dict[str, EarlyCall] = {}
        self._orphans: list[EarlyCall] = []
        self._kept: list[EarlyCall] = []
        self._held_up = False

    def offer(self, call: ToolCall) -> None:
        """A call of the answer is complete: begin it if it may begin already."""
        if call.id in self._opened or self.frame is None:
            return
        early = self._adopted(call) or self._fresh(call, self.frame)
        if self._may_begin(early.live):
            early.begin()
        self._opened[call.id] = early

    def start_over(self) -> None:
        """The answer broke off and the model will be asked again."""
        for early in self._opened.values():
            self._pipeline.uncount(early.live)
            self._orphans.append(early)
        self._opened = {}
        self._held_up = False

    async def kept(self) -> dict[str, EarlyCall]:
        """The answer is complete: give up what it does not ask for, return its opened calls by id."""
        for orphan in self._orphans:
            await self._discard(orphan)
        self._orphans = []
        opened, self._opened = self._opened, {}
        for early in opened.values():
            early.begin_no_more()
        self._kept += opened.values()
        return opened

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._opened or self._orphans:
            self.start_over()
            await self.kept()
        for early in self._kept:
            if not early.taken_over:  # whoever was to do so did not come to it
                await early.give_up()

    def _fresh(self, call: ToolCall, frame: Turn) -> EarlyCall:
        return EarlyCall(self._pipeline, self._pipeline.open(call, frame), self._slots)

    def _may_begin(self, live: LiveCall) -> bool:
        """What comes behind a call that may change something waits for it."""
        harmless = live.changes_nothing and live.traits.concurrency_safe
        self._held_up = self._held_up or not (harmless or live.failure is not None)
        return harmless and live.failure is None and not self._held_up

    def _adopted(self, call: ToolCall) -> EarlyCall | None:
        """Take over the work of an equal call of an answer that broke off."""
        for orphan in self._orphans:
            written = orphan.live.written
            equal = (written.name, written.input) == (call.name, call.input)
            if not equal or orphan.live.failure is not None:
                continue
            if self._pipeline.count(orphan.live) is None:
                self._orphans.remove(orphan)
                self._say_discarded(orphan.live)
                orphan.live.becomes(call)
                return orphan
        return None

    async def _discard(self, early: EarlyCall) -> None:
        await early.give_up()
        self._say_discarded(early.live)

    def _say_discarded(self, live: LiveCall) -> None:
        journal = self._pipeline.parts.journal
        if journal is not None and live.began:
            journal.discarded(live.id, live.tool_name)


class _EarlyOrder:
    """The order of a call whose message is not complete: it may run, but not ask."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._joined = anyio.Event()
        self._order: Order | None = None
        self._permitted: LiveCall | None = None
        """The call, when it was permitted before it joined the others."""

    def join(self, order: Order) -> None:
        self._order = order
        self._joined.set()
        if self._permitted is not None:
            order.permitted(self._permitted)

    async def _whole(self) -> Order:
        while self._order is None:
            await self._joined.wait()
        return self._order

    async def reach(self, live: LiveCall) -> Outcome | None:
        return live.failure or live.stopped

    async def before_asking(self, live: LiveCall) -> Outcome | None:
        return await (await self._whole()).before_asking(live)

    def ask_no_more(self) -> None:
        if self._order is not None:
            self._order.ask_no_more()

    def permitted(self, live: LiveCall) -> None:
        if self._order is None:
            self._permitted = live
        else:
            self._order.permitted(live)

    def slot(self) -> AbstractAsyncContextManager[None]:
        return self._slots

    async def reconsider(self, live: LiveCall) -> Outcome | None:
        """What a hook changed may not be harmless any more: it waits for the others."""
        return await (await self._whole()).reconsider(live)

    async def admitted(self, live: LiveCall) -> Failed | None:
        return live.stopped if self._order is None else await self._order.admitted(live)
