"""The events with which a fork of a session begins (pure)."""

from collections.abc import Sequence
from dataclasses import replace

from toolwright.contracts.errors import EngineFault, NotPossible
from toolwright.contracts.events import (
    CallEnded,
    ChildCallAnswered,
    ChildCallsLeft,
    ChildClosed,
    ChildEnded,
    ChildStarted,
    InterruptRequested,
    LoggedEvent,
    Record,
    ResultsSettled,
    RunEnded,
    SessionCreated,
    SessionEnded,
    SessionTitled,
)
from toolwright.contracts.tool import Failed
from toolwright.sessions.state import SessionState
from toolwright.turns.results import not_run, unstarted

_NOT_TAKEN = (
    SessionCreated, SessionEnded, ChildStarted, ChildEnded, ChildCallsLeft, ChildCallAnswered, ChildClosed,
    InterruptRequested,
)  # fmt: skip
_FORKED = "The session was forked here."
_AT_WORK = Failed(
    "interrupted",
    "The session was forked while this call was running. Whether it took effect is not known, and it was not "
    "run here.",
    hint="Look at what is there before you decide whether to make the call again.",
    synthetic=True,
)


def forked_events(
    records: Sequence[Record], *, new_id: str, at: int | None, title: str
) -> tuple[SessionCreated, list[LoggedEvent]]:
    """Return how the new session is created and what is copied into its log.

    The copy is whole: calls that have no result at ``at`` are answered, a run that was under way is over.
    Raises NotPossible for an entry that there is not.
    """
    if at is not None and not 1 <= at <= len(records):
        raise NotPossible(f"There is no entry {at}: the log has entries 1 to {len(records)}.")
    first, *rest = records if at is None else records[:at]
    if not isinstance(first.event, SessionCreated):
        raise EngineFault(f"the log of {first.session_id} does not begin with its creation")
    created = replace(
        first.event,
        session_id=new_id,
        title=title or first.event.title,
        parent_id=None,
        parent_call_id=None,
        depth=0,
        forked_from=first.session_id,
        forked_at=rest[-1].seq if rest else first.seq,
    )
    not_taken = (*_NOT_TAKEN, SessionTitled) if title else _NOT_TAKEN
    state = SessionState(created, first.at)
    events: list[LoggedEvent] = []
    for record in rest:
        event = record.event
        if isinstance(event, LoggedEvent) and not isinstance(event, not_taken):
            events.append(event)
            state.apply(event, record.at)
    return created, [*events, *_closing(state)]


def _closing(state: SessionState) -> list[LoggedEvent]:
    block = state.conversation.block
    closing: list[LoggedEvent] = []
    if block is not None:
        ends: list[CallEnded] = [
            not_run(call, unstarted(_FORKED) if call.started is None else _AT_WORK)
            for call in block.open_calls
        ]
        closing += [*ends, ResultsSettled(turn_id=block.turn_id)]
    if state.run is not None:
        closing.append(RunEnded(run_id=state.run.run_id, end="interrupted", message=_FORKED))
    return closing
