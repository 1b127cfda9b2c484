"""Which events of a stream are new, and when a turn is over (pure).

Every event has a stamp that only grows. After a line broke, what came is asked for behind the last stamp;
whatever stands at or before it is a repetition, and what belongs to another turn is nobody's business here.
"""

from collections.abc import Mapping
from typing import Any

from toolwright.client.problems import WireFault

Event = dict[str, Any]
HEARTBEAT = "heartbeat"


class TurnCursor:
    """One turn of one task, as far as it was seen."""

    def __init__(self, task_id: str, *, after: int = 0, turn_id: str = "") -> None:
        self.task_id = task_id
        self.turn_id = turn_id
        """Empty until its first event, or its answer's head, said so."""
        self.last = after
        """The stamp behind which nothing was seen yet."""
        self.is_over = False
        self._since = 0
        self.has_failed = False
        """It ended with an error whose event, the very last one, may still come."""

    def take(self, event: Event) -> Event | None:
        """Return the event if it is one of this turn and new, else None. May raise WireFault."""
        if self.is_over or not self._is_new(event):
            return None
        if not self._is_mine(event):
            return None
        if event["type"] == HEARTBEAT:
            return None
        self._note(event)
        return event

    def learn(self, *, turn_id: str, since: int) -> None:
        """Note what is known of a turn whose first event did not come: its id, or when it began at first."""
        self.turn_id = self.turn_id or turn_id
        self._since = since

    def _is_new(self, event: Event) -> bool:
        stamp = event.get("ts")
        if stamp is None:
            return True
        if stamp <= self.last:
            return False
        self.last = stamp
        return True

    def _is_mine(self, event: Event) -> bool:
        if event.get("task_id", self.task_id) != self.task_id:
            return False
        turn = event.get("turn_id")
        if turn is None:
            return True
        if not isinstance(turn, str):
            raise WireFault(f"the turn of an event {event['type']!r} is no text.")
        if not self.turn_id:
            if not _begins(event) or event.get("ts", self._since) < self._since:
                return False  # of an earlier turn
            self.turn_id = turn
        return turn == self.turn_id

    def _note(self, event: Event) -> None:
        if event["type"] == "error":
            self.is_over = True
        elif event["type"] == "thread_lifecycle":
            self.is_over = event.get("phase") == "completed"
            self.has_failed = event.get("phase") == "errored"


class ReplayCursor:
    """Events of one task or of all, as far as they were seen."""

    def __init__(self, after: int) -> None:
        self.last = after

    def take(self, event: Event) -> Event | None:
        """Return the event if it is new, else None."""
        stamp = event.get("ts")
        if stamp is not None:
            if stamp <= self.last:
                return None
            self.last = stamp
        return None if event["type"] == HEARTBEAT else event


def _begins(event: Mapping[str, Any]) -> bool:
    return event["type"] == "thread_lifecycle" and event.get("phase") == "started"
