"""What is said of children: how they ended, what came of them, where they are (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from toolwright.contracts.children import ChildStatus, ChildView, Returned
from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.events import ChildEnded, ChildStarted, RunEnded
from toolwright.sessions.budgets import used_since
from toolwright.sessions.state import Child, SessionState
from toolwright.turns.accounts import Spent

_CUT = "\n[… {left:,} more characters; ask the agent for the rest.]"
_NEVER_RAN = RunEnded(run_id="", end="failed", message="It ended before it could begin.")
GONE = "There is no such session: it was never made, or was removed."


def is_over(child: Child, state: SessionState) -> bool:
    """Return whether a child that was started has come to an end, and waits for nobody."""
    if state.ended is not None:
        return True
    if state.run is not None or state.last_end is None or state.rested_at <= child.started.after:
        return False
    if state.last_end.end == "failed":
        return True  # what failed would fail again, whatever is still in its queue
    return state.conversation.block is None and not state.has_work


def ended(child_id: str, child: Child, state: SessionState, *, worktree: str = "") -> ChildEnded:
    """Return what a parent's log says of a child that is over."""
    used = used_since(child.used, state.conversation.total)
    end = state.last_end or _NEVER_RAN
    tree = state.created.worktree
    return ChildEnded(
        child_id=child_id,
        end=end.end,
        summary=cut(_last_words(state, used), child.started.most_chars),
        message=end.message,
        rounds=used.rounds,
        calls=used.calls,
        calls_by_tool=used.calls_by_tool,
        usage=used.usage,
        cost=used.cost,
        seconds=used.seconds,
        returned=state.handed_back,
        worktree=worktree,
        branch=tree.branch if tree is not None and worktree else "",
    )


def _last_words(state: SessionState, used: Spent) -> str:
    if state.handed_back is not None:
        return returned_text(state.handed_back)
    last = state.conversation.last
    return last.text.strip() if last is not None and used.rounds else ""


def cut(text: str, most: int) -> str:
    """Return as much of a text as a parent reads."""
    if len(text) <= most:
        return text
    kept = max(most - len(_CUT.format(left=len(text))), 0)
    return text[:kept] + _CUT.format(left=len(text) - kept)


def returned_text(returned: Returned) -> str:
    """Return what a child handed back as its parent reads it."""
    lists: tuple[tuple[str, Sequence[str]], ...] = (
        ("Artifacts", returned.artifacts),
        ("Findings", returned.findings),
        ("Warnings", returned.warnings),
        ("Next actions it suggests", returned.suggested_next_actions),
        ("Questions to you", returned.questions_for_caller),
    )
    parts = [returned.summary.strip()]
    if returned.confidence is not None:
        parts.append(f"Confidence: {returned.confidence:g}")
    parts += ["\n".join([f"{name}:", *(f"- {item}" for item in items)]) for name, items in lists if items]
    return "\n\n".join(parts)


# --- for the parent ---------------------------------------------------------------------------


def status(event: ChildEnded) -> ChildStatus:
    """Return how a child ended, in one word."""
    if event.end == "returned":
        return "completed" if event.returned is None else event.returned.status
    if event.end == "done":
        return "completed"
    return "interrupted" if event.end == "interrupted" else "failed"


def failure(event: ChildEnded) -> ErrorCode | None:
    """Return the code of the failure that the end of a child is to the call that waited for it."""
    match status(event):
        case "completed":
            return None
        case "interrupted":
            return "interrupted"
        case _:
            return "limit_reached" if event.end == "limit" else "command_failed"


def named(started: ChildStarted) -> str:
    """Return how a person knows a child."""
    name = f"{started.agent} {started.name!r}" if started.name else started.agent
    return f"{name} ({started.description})" if started.description else name


def result_text(child_id: str, started: ChildStarted, event: ChildEnded) -> str:
    """Return what a parent reads when a child has ended: its words, then how it came to them."""
    return "\n\n".join(_paragraphs(child_id, started, event))


def _paragraphs(child_id: str, started: ChildStarted, event: ChildEnded) -> Iterator[str]:
    went_well = status(event) == "completed"
    if not went_well:
        why = f": {event.message}" if event.message else "."
        yield f"The agent {_ending(event)}{why}" + (" Its last words:" if event.summary else "")
    if event.summary:
        yield event.summary
    elif went_well:
        yield "The agent said nothing at the end."
    if event.worktree:
        yield f"Its changes are in {event.worktree}, on branch {event.branch}."
    calls = f"{event.calls:,} call{'' if event.calls == 1 else 's'}"
    tokens = f"{event.usage.context_tokens:,} tokens"
    yield f"[agent {started.agent}, id {child_id}: {calls}, {tokens}, {event.seconds:.1f} s]"


def _ending(event: ChildEnded) -> str:
    endings = {
        "returned": "says that it failed",
        "interrupted": "was stopped",
        "limit": "came to a limit",
        "refusal": "ended with a refusal",
        "max_tokens": "broke off",
        "context_full": "ran out of room",
        "stopped": "was stopped",
    }
    return endings.get(event.end, "failed")


def result_data(child_id: str, started: ChildStarted, event: ChildEnded) -> dict[str, Any]:
    """Return the same for programs."""
    data: dict[str, Any] = {
        "status": "completed" if status(event) == "completed" else "failed",
        "agent_id": child_id,
        "agent_type": started.agent,
        "content": event.summary,
        "tool_uses": event.calls,
        "tokens": event.usage.context_tokens,
        "duration_ms": round(event.seconds * 1000),
        "end": event.end,
        "message": event.message,
    }
    if event.worktree:
        data["worktree"] = {"path": event.worktree, "branch": event.branch}
    if event.returned is not None:
        data["returned"] = asdict(event.returned)
    return data


def notification(child_id: str, started: ChildStarted, event: ChildEnded) -> str:
    """Return what a parent is told of a child that no call waits for."""
    verb = "has ended" if status(event) == "completed" else "has ended without success"
    return f"The agent {named(started)} {verb}.\n\n{result_text(child_id, started, event)}"


def notification_id(child_id: str, child: Child) -> str:
    """Return the id of the input that tells of an end: of one end there is one."""
    return f"ended_{child_id}_{child.starts}"


def view(child_id: str, child: Child, state: SessionState | None) -> ChildView:
    """Return a child as its parent sees it; ``state`` is what is known of one that runs."""
    used, event = child.used, child.ended
    if event is None and state is not None:
        used = state.conversation.total
    return ChildView(
        child_id=child_id,
        agent=child.started.agent,
        status=status(event) if event is not None else "waiting" if child.waits else "running",
        name=child.started.name,
        description=child.started.description,
        background=child.started.background,
        summary=event.summary if event is not None else "",
        message=event.message if event is not None else "",
        calls=used.calls,
        rounds=used.rounds,
        usage=used.usage,
        cost=used.cost,
        seconds=used.seconds,
        worktree=event.worktree if event is not None else "",
        is_lost=child.closed or (event is not None and event.end == "failed"),
    )
