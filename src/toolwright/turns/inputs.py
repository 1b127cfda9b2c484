"""Inputs leave their queue at safe points: between a settled answer and the next request."""

from toolwright.contracts.events import InputTaken
from toolwright.turns.parts import Log


def take_inputs(log: Log) -> None:
    """Put everything that waits in the queue into the conversation, in its order."""
    for input_id in tuple(log.conversation.queue):
        log.record(InputTaken(input_id=input_id))
