"""What to do about calls that were under way when nobody was there any more to see them end (pure)."""

from collections.abc import Iterable

from toolwright.contracts.events import CallEnded
from toolwright.turns.conversation import Conversation
from toolwright.turns.results import not_run, unknown_outcome


def settled_after_death(conversation: Conversation) -> Iterable[CallEnded]:
    """Yield the results of calls that had begun, have no result, and must not be made twice.

    Others that had begun promised to be repeatable; they are made again by whoever runs the session.
    """
    block = conversation.block
    for call in block.open_calls if block is not None else ():
        if call.started is not None and not call.started.repeatable:
            yield not_run(call, unknown_outcome())
