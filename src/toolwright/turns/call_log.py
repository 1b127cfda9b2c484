"""Writes what happens to calls into the log of their session."""

from toolwright.contracts.events import CallDiscarded, CallStarted
from toolwright.contracts.tool import CallResult, Waiting
from toolwright.turns.parts import Log
from toolwright.turns.results import ended, waiting


class CallLog:
    """The journal of a pipeline whose calls belong to a session."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def starting(self, event: CallStarted) -> None:
        """Record the start. What cannot be repeated begins only once that is durable.

        Nothing begins because of something that a client may still be told to have failed.
        """
        await self._log.acknowledged()
        self._log.record(event)
        if not event.repeatable:
            await self._log.durable()

    def concluded(self, result: CallResult) -> None:
        """Record the one result of a call, or that it waits."""
        if not isinstance(result.outcome, Waiting):
            self._log.record(ended(result))
            return
        block = self._log.conversation.block
        call = block.calls.get(result.call_id) if block is not None else None
        self._log.record(waiting(result, call.waiting if call is not None else None))

    def discarded(self, call_id: str, tool: str) -> None:
        """Record that an early call counts for nothing."""
        self._log.record(CallDiscarded(call_id=call_id, tool=tool))
