"""How a session and its threads stand, as this dialect says it (pure)."""

from typing import Literal

from toolwright.sessions.state import SessionState

Status = Literal["rescheduling", "running", "idle", "terminated"]


def children_at_work(state: SessionState) -> bool:
    """Whether a child of a session works, and does not wait for the client."""
    return any(not child.waits for child in state.running_children.values())


def own_status(state: SessionState, *, busy: bool) -> Status:
    """Return how a session stands without its children. ``busy``: somebody works on it, or soon will."""
    if state.ended is not None:
        return "terminated"
    if state.retrying:
        return "rescheduling"
    if state.run is not None:
        return "running" if busy else "rescheduling"  # what a dead process left is taken up again
    failed = state.last_end is not None and state.last_end.end == "failed"
    return "running" if state.has_work and (busy or not failed) else "idle"


def whole_status(state: SessionState, *, busy: bool) -> Status:
    """Return how a session stands: it runs while any of its threads does."""
    own = own_status(state, busy=busy)
    return "running" if own == "idle" and children_at_work(state) else own


def thread_status(parent: SessionState, child_id: str, state: SessionState | None, *, busy: bool) -> Status:
    """Return how a child stands as a thread; ``state`` is None while it is being made."""
    child = parent.children[child_id]
    lost = child.ended is not None and child.ended.end == "failed"
    if child.closed or lost or parent.ended is not None:
        return "terminated"
    return "running" if state is None else own_status(state, busy=busy)
