"""What a call must wait for because of the other calls of its message, as the steps see it."""

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from toolwright.contracts.tool import Failed, Outcome
from toolwright.tool_calls.live import LiveCall


class Queue(Protocol):
    """Who may put a question to the person next."""

    async def before_asking(self, live: LiveCall) -> Outcome | None:
        """Return when it is this call's turn to ask, or with the end of the call."""
        ...

    def ask_no_more(self) -> None:
        """The person said no without a word: nothing more of this message is put to them."""
        ...


class Order(Queue, Protocol):
    """When a call may go on."""

    async def reach(self, live: LiveCall) -> Outcome | None:
        """Return when nothing earlier stands in the way, or with the end of the call."""
        ...

    def permitted(self, live: LiveCall) -> None:
        """The call will ask no more questions."""
        ...

    def slot(self) -> AbstractAsyncContextManager[None]:
        """One of the places in which calls run."""
        ...

    async def reconsider(self, live: LiveCall) -> Outcome | None:
        """Like ``reach``, for a call whose input was changed and that reaches other things now."""
        ...

    async def admitted(self, live: LiveCall) -> Failed | None:
        """Return when the call may start in its slot, or why it may not after all."""
        ...


class Alone:
    """The order of a call that has the message to itself."""

    async def before_asking(self, live: LiveCall) -> Outcome | None:
        return live.stopped

    def ask_no_more(self) -> None:
        """Nobody stands behind it."""

    async def reach(self, live: LiveCall) -> Outcome | None:
        return live.failure or live.stopped

    def permitted(self, live: LiveCall) -> None:
        """Nobody waits for it."""

    def slot(self) -> AbstractAsyncContextManager[None]:
        return _FREE

    async def reconsider(self, live: LiveCall) -> Outcome | None:
        return live.stopped

    async def admitted(self, live: LiveCall) -> Failed | None:
        return live.stopped


_FREE = nullcontext()
ALONE = Alone()
