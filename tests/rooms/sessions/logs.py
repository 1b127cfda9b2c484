"""Logs for tests: events in their places, and stores that count what is asked of them."""

from collections.abc import Awaitable, Sequence

from toolwright.backends.storage.memory import Fail, MemoryEvents
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallEnded,
    CallEndState,
    CallStarted,
    CallWaiting,
    Event,
    ModelAnswered,
    Record,
    SessionCreated,
)
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.permissions import ApprovalRequest, Reason
from toolwright.contracts.storage import Entry, SessionCard

SESSION = "session_1"
CREATED = SessionCreated(session_id=SESSION, agent=AgentDefinition())


def log_of(*events: Event, created: SessionCreated = CREATED) -> list[Record]:
    """Return the log of a session in which these events came after its creation, one each second."""
    return [
        Record(created.session_id, seq, float(seq), event) for seq, event in enumerate((created, *events), 1)
    ]


def answer(*call_ids: str, tool: str = "post") -> ModelAnswered:
    """Return an answer that makes these calls."""
    blocks = tuple(CallBlock(call_id, tool, "{}") for call_id in call_ids)
    return ModelAnswered(turn_id="turn_1", blocks=blocks, stop="calls" if blocks else "end_turn")


def started(call_id: str, *, repeatable: bool = False) -> CallStarted:
    """Return the start of a call."""
    return CallStarted(call_id=call_id, tool="post", idempotency_key=f"key/{call_id}", repeatable=repeatable)


def ended(call_id: str, state: CallEndState = "done", *, new_cwd: str | None = None) -> CallEnded:
    """Return the end of a call."""
    return CallEnded(
        call_id=call_id, tool="post", offered_name="post", state=state, content="It is done.", new_cwd=new_cwd
    )


def question(call_id: str, request_id: str = "req_1") -> ApprovalRequest:
    """Return the question of a call."""
    return ApprovalRequest(
        request_id=request_id,
        call_id=call_id,
        tool="post",
        offered_name="post",
        title="Post",
        description="",
        input={},
        fingerprint="print",
        reason=Reason("default"),
    )


def waiting(call_id: str, request_id: str = "req_1") -> CallWaiting:
    """Return how a call comes to wait for a person."""
    return CallWaiting(call_id=call_id, tool="post", kind="permission", request=question(call_id, request_id))


class CountingEvents(MemoryEvents):
    """A store that remembers which entries came together."""

    def __init__(self, *, fail: Fail | None = None) -> None:
        super().__init__(fail=fail)
        self.groups: list[int] = []
        self.cards_given: list[SessionCard] = []

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        self.groups.append(len(entries))
        if card is not None:
            self.cards_given.append(card)
        return super().append(session_id, entries, epoch=epoch, card=card)
