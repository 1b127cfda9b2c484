"""Results of calls as events of the log, and back (pure)."""

from collections.abc import Mapping
from typing import Any

from toolwright.contracts.content import Content, text_of
from toolwright.contracts.events import CallEnded, CallEndState, CallWaiting
from toolwright.contracts.tool import CallResult, Done, Failed, Outcome, Waiting
from toolwright.tool_calls.batch import Standing
from toolwright.tool_calls.pipeline import Answered
from toolwright.tool_calls.texts import error_text
from toolwright.turns.conversation import CallProgress

_DENIED = frozenset({
    "rejected_by_user", "permission_denied", "hook_blocked", "classifier_blocked", "approval_unavailable",
})  # fmt: skip
_INTERRUPTED = frozenset({"interrupted", "not_started"})
_UNKNOWN = (
    "The engine stopped while this call was running. Whether it took effect is not known, and it was not "
    "run again."
)
_CUT_CALL = "The answer ended at its size limit within this call, so the call was not run."


def ended(result: CallResult) -> CallEnded:
    """Return the event for a call that is over."""
    done = result.outcome if isinstance(result.outcome, Done) else None
    failed = result.outcome if isinstance(result.outcome, Failed) else None
    return CallEnded(
        call_id=result.call_id,
        tool=result.tool,
        offered_name=result.offered_name,
        state=_state(failed),
        content=result.content,
        code=failed.code if failed is not None else None,
        synthetic=failed.synthetic if failed is not None else False,
        input=result.input,
        stored=result.stored,
        spills=result.spills,
        notes=result.notes,
        stop=result.stop,
        new_cwd=done.new_cwd if done is not None else None,
        changed=done.changed if done is not None else (),
        attachments=done.attachments if done is not None else (),
        loads=done.loads if done is not None else (),
        view=result.view,
        duration=result.duration,
        waited=result.waited_for_person,
        error=error_of(failed) if failed is not None else None,
    )


def error_of(failed: Failed) -> Mapping[str, Any]:
    """Return a failure as a program reads it; an object that the tool itself returned stays what it was."""
    own = failed.data
    if isinstance(own, Mapping) and isinstance(own.get("error"), str):
        return own
    said: dict[str, Any] = {"error": failed.code, "message": failed.message}
    if failed.hint:
        said["hint"] = failed.hint
    if failed.retry_after is not None:
        said["retry_after"] = failed.retry_after
    return said


def _state(failed: Failed | None) -> CallEndState:
    if failed is None:
        return "done"
    if failed.code in _DENIED:
        return "denied"
    return "interrupted" if failed.code in _INTERRUPTED else "failed"


def waiting(result: CallResult, before: CallWaiting | None) -> CallWaiting:
    """Return the event for a call that waits. A question that was put before keeps its name."""
    outcome = result.outcome
    request = outcome.request if isinstance(outcome, Waiting) else None
    asked = before.request if before is not None else None
    if request is not None and asked is not None and asked.fingerprint == request.fingerprint:
        request = asked
    if before is not None and before.kind == "child":
        request = asked  # its agent was quick and asks already
    return CallWaiting(
        call_id=result.call_id,
        tool=result.tool,
        kind=outcome.kind if isinstance(outcome, Waiting) else "permission",
        request=request,
        input=result.input or {},
    )


def standing(call: CallProgress) -> Standing | None:
    """Return how a call of an open block stands; None for one that is to be run from the start."""
    if call.ended is not None:
        return _over(call.ended)
    if call.answered is not None and call.waiting is not None:
        return _answered(call)
    if call.waiting is not None and not call.judge_anew:
        return _result(call, Waiting(call.waiting.kind, call.waiting.request), tool=call.waiting.tool)
    return None


def _answered(call: CallProgress) -> Standing | None:
    waits, answered = call.waiting, call.answered
    if waits is None or answered is None:
        return None
    if waits.kind != "permission":
        content: Content = answered.content if answered.content is not None else ""
        if answered.is_error:
            code = answered.code or "command_failed"
            return Failed(code, text_of(content), content=content, data=answered.data)
        return Done(content, data=answered.data)
    if waits.request is None or answered.answer is None:
        return None
    return Answered(waits.request, answered.answer)


def _over(event: CallEnded) -> CallResult:
    outcome: Outcome = Done(event.content, loads=event.loads)
    if event.code is not None:
        outcome = Failed(event.code, text_of(event.content))
    return CallResult(
        call_id=event.call_id,
        tool=event.tool,
        offered_name=event.offered_name,
        outcome=outcome,
        content=event.content,
        stored=event.stored,
        spills=event.spills,
        notes=event.notes,
        stop=event.stop,
        input=event.input,
    )


def _result(call: CallProgress, outcome: Outcome, *, tool: str = "", **more: Any) -> CallResult:
    return CallResult(
        call_id=call.block.call_id,
        tool=tool or call.block.name,
        offered_name=call.block.name,
        outcome=outcome,
        content=more.pop("content", ""),
        **more,
    )


# --- results that the engine writes itself ---------------------------------------------------


def not_run(call: CallProgress, failed: Failed) -> CallEnded:
    """Return the end of a call that the engine answers in place of its tool."""
    tool = call.waiting.tool if call.waiting is not None else call.started.tool if call.started else ""
    return ended(_result(call, failed, tool=tool, content=error_text(failed)))


def unstarted(why: str) -> Failed:
    """The run ended before the call began."""
    return Failed("not_started", f"The call was not started: {why}", synthetic=True)


def cut_short(call: CallProgress, why: str) -> Failed:
    """The run ended before the call did."""
    if call.started is None:
        return unstarted(why)
    return Failed("interrupted", f"The call was stopped: {why}", synthetic=True)


def stopped_agent(why: str) -> Failed:
    """The run ended while the call waited for its agent, which was stopped with it."""
    return Failed("interrupted", f"The agent was stopped: {why}", synthetic=True)


def unknown_outcome() -> Failed:
    """The call had begun when the engine died, and may not be made twice."""
    return Failed(
        "interrupted",
        _UNKNOWN,
        hint="Look at what is there before you decide whether to make the call again.",
        synthetic=True,
    )


def shut_down() -> Failed:
    """The engine was ended while the call was at work."""
    why = "The engine was shut down while this call was running; it was stopped and may have done a part."
    return Failed("interrupted", why, hint="Look at what is there before you go on.", synthetic=True)


def cut_call() -> Failed:
    """The call is the last thing of an answer that was too long."""
    return Failed("invalid_json", _CUT_CALL, hint="Send less in one call.", synthetic=True)
