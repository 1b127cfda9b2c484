"""What an answer or a delivery is for (pure)."""

from toolwright.contracts.content import Content
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallAnswered, CallWaiting
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.sessions.state import SessionState
from toolwright.tool_calls.permissions.fingerprint import accepts
from toolwright.turns.conversation import CallProgress


def question_for(state: SessionState, answer: ApprovalAnswer) -> CallWaiting | None:
    """Return the question that an answer fits, of a call or of a child; None when it comes too late.

    Raises NotPossible for a question that was never put, and for an answer that does not fit its question.
    """
    wanted = answer.request_id
    of_child = next(
        (asked for asked in state.questions if asked.kind == "child" and _is(asked, wanted)), None
    )
    call = _asked(state, wanted)
    asked = of_child or (call.waiting if call is not None else None)
    if asked is None:
        if wanted in state.conversation.put:
            return None
        raise NotPossible(f"No call waits for an answer to {wanted}.")
    _refuse_unfit(asked.request, answer)
    is_open = of_child is not None or (call is not None and call.answered is None and call.ended is None)
    return asked if is_open else None


def delivery_for(
    state: SessionState, call_id: str, content: Content, *, is_error: bool
) -> CallAnswered | None:
    """Return the result of a call that its client makes; None when it comes too late.

    Raises NotPossible for a call that was never left to the client.
    """
    block = state.conversation.block
    call = block.calls.get(call_id) if block is not None else None
    if call is None and call_id in state.conversation.put:
        return None
    if call is None or call.waiting is None or call.waiting.kind != "client_result":
        raise NotPossible(f"No call with the id {call_id} waits for a result.")
    if call.answered is not None or call.ended is not None:
        return None
    return CallAnswered(call_id=call_id, tool=call.waiting.tool, content=content, is_error=is_error)


def _asked(state: SessionState, request_id: str) -> CallProgress | None:
    block = state.conversation.block
    calls = block.calls.values() if block is not None else ()
    return next((call for call in calls if call.waiting is not None and _is(call.waiting, request_id)), None)


def _is(asked: CallWaiting, request_id: str) -> bool:
    return asked.request is not None and asked.request.request_id == request_id


def _refuse_unfit(request: ApprovalRequest | None, answer: ApprovalAnswer) -> None:
    unfit = accepts(request, answer) if request is not None else "Nothing is asked."
    if unfit is not None:
        raise NotPossible(unfit)
