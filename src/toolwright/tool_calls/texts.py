"""What the model reads when a call is refused or fails. Every such sentence of the calls is here."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.permissions import Decision, Reason
from toolwright.contracts.tool import Failed
from toolwright.tool_calls.json_text import MAX_CHARS, Broken

_SHOWN_TEXT = 200
_SHOWN_DETAILS = 2000
_ALONE = r"(?<!\w)(?<!\d[.,]){}(?!\w)(?![.,]\d)"
"""A text that is no part of a longer word or number."""
_OTHER_WAY = "Try another approach, a narrower call, or ask the user how to go on."


def error_text(failed: Failed) -> Content:
    """Render a failure as the model reads it; a failure with fixed wording brings its own content."""
    if failed.content is not None:
        return failed.content
    lines = [f"Error [{failed.code}]: {failed.message}"]
    if failed.hint:
        lines.append(f"Hint: {failed.hint}")
    if failed.retry_after is not None:
        lines.append(f"Retry after: {failed.retry_after:g} s")
    lines.extend(_detail_lines(failed))
    return "\n".join(lines)


def _detail_lines(failed: Failed) -> list[str]:
    """What a program reads from the details, as far as the sentences do not say it already."""
    said = f"{failed.message} {failed.hint}"
    lines = [
        f"{name}: {_written(value)}" for name, value in failed.details.items() if not _is_in(said, value)
    ]
    return ["\n".join(lines)[:_SHOWN_DETAILS]] if lines else []


def _is_in(said: str, value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_in(said, item) for item in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    spellings = {str(value), f"{value:,}"} if isinstance(value, int) else {value}
    return any(re.search(_ALONE.format(re.escape(text)), said) for text in spellings)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def compact(value: Any) -> str:
    """Return a JSON-like value as short JSON; what JSON does not know is written as text."""
    try:
        return orjson.dumps(value, default=str).decode()
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))


def with_line(failed: Failed, line: str) -> Failed:
    """Return the failure with one more line at the end of what the model reads."""
    content = error_text(failed)
    if isinstance(content, str):
        return replace(failed, content=f"{content}\n{line}")
    return replace(failed, content=(*content, TextBlock(line)))


# --- finding and reading a call -------------------------------------------------------------


def unknown_tool(name: str, near: Sequence[str]) -> Failed:
    """No offered tool has this name."""
    hint = f"Did you mean {', '.join(near)}?" if near else "Call one of the tools you were given."
    return Failed("unknown_tool", f"There is no tool named {name!r}.", hint=hint)


def tool_refused(name: str, why: str) -> Failed:
    """A rule takes the tool away, whatever it is called with."""
    return Failed("permission_denied", f"{name} may not be used here: {why}.", hint=_OTHER_WAY)


def tool_not_loaded(name: str) -> Failed:
    """The tool exists, but its definition was not given to the model yet."""
    return Failed(
        "tool_not_loaded",
        f"{name} is known by name only; its definition is not loaded.",
        hint="Search for the tool to load its definition, then call it with input that fits.",
    )


def dispatched_to_itself(name: str) -> Failed:
    """A call by way of a tool named that tool again."""
    return Failed(
        "invalid_input",
        f"{name} calls other tools and not itself.",
        hint=f"Give {name} the name of the tool that is meant, and its arguments.",
    )


def loaded_now(name: str, failed: Failed, definition: Mapping[str, Any]) -> Failed:
    """The model called a tool that it knew by name only, and its input does not fit."""
    return Failed(
        "tool_not_loaded",
        f"{name} was known by name only, and the input does not fit: {failed.message}",
        hint=f"It is loaded now. Its definition: {compact(dict(definition))}",
        details=failed.details,
    )


def tool_unavailable(name: str, why: str) -> Failed:
    """The tool cannot work here."""
    return Failed(
        "tool_unavailable",
        f"{name} cannot be used here: {why.rstrip('.')}.",
        hint="Use another tool, or tell the user what is missing.",
    )


def invalid_json(raw: str, broken: Broken) -> Failed:
    """The arguments are no JSON object. They are never repaired into a call."""
    if broken.cut:
        hint = "the arguments were cut off; send less in one call"
    elif len(raw) > MAX_CHARS:
        hint = "Send less in one call."
    else:
        hint = "Call again with one JSON object and nothing around it."
    position = f"line {raw.count(chr(10), 0, broken.position) + 1}, character {broken.position}"
    message = f"The arguments are not valid JSON: {broken.problem} at {position}."
    return Failed("invalid_json", message, hint=hint, details={"Arguments": _beginning(raw)})


def _beginning(raw: str) -> str:
    text = raw[:_SHOWN_TEXT].encode("utf-8", "replace").decode()
    return text if len(raw) <= _SHOWN_TEXT else f"{text}… ({len(raw):,} characters)"


def invalid_input(problems: Sequence[str]) -> Failed:
    """The arguments do not fit the schema."""
    return Failed(
        "invalid_input",
        "\n".join(("The input does not fit the schema of the tool.", *problems)),
        hint="Call again with corrected input.",
    )


def unusable_schema(name: str, why: str) -> Failed:
    """The definition of the tool itself is wrong."""
    return tool_unavailable(name, f"its definition is not usable ({why})")


def duplicate_call_id(call_id: str) -> Failed:
    """Two calls of one message claim one id."""
    return Failed(
        "conflict",
        f"Two calls of this message have the id {call_id!r}; only the first was run.",
        hint="Make the call again if it is still needed.",
    )


# --- refusals -------------------------------------------------------------------------------


def denied(tool: str, decision: Decision) -> Failed:
    """A rule, a mode or a safety check said no."""
    reason = decision.reason
    if reason.kind == "rule" and reason.rule is not None:
        message = f"{tool} is denied by rule {reason.rule.written} ({reason.rule.source})."
    elif reason.kind == "mode":
        message = f"{tool} needs approval and this run never asks."
    elif reason.kind == "safety":
        message = f"{tool} {reason.detail}."
    else:
        message = reason.detail or f"{tool} is not permitted here."
    return Failed("permission_denied", message, hint=_OTHER_WAY)


def needs_nobody_there(tool: str, reason: Reason) -> Failed:
    """A person is needed and nobody can be asked."""
    if reason.kind == "safety" and reason.detail:
        return Failed("permission_denied", f"{tool} {reason.detail}.", hint=_OTHER_WAY)
    message = f"{tool} needs approval but nobody can answer here."
    return Failed("approval_unavailable", message, hint=_OTHER_WAY)


def nobody_answered(tool: str, seconds: float) -> Failed:
    """The question stood too long."""
    message = f"{tool} needs approval and got no answer within {seconds:g} s."
    return Failed("approval_unavailable", message, hint=_OTHER_WAY)


def answer_mismatch(tool: str) -> Failed:
    """What came back answers another question, or another input."""
    message = f"{tool} needs approval; the answer that came was given to something else."
    return Failed("approval_unavailable", message, hint=_OTHER_WAY)


def rejected(comment: str) -> Failed:
    """The person said no."""
    if comment:
        content = f"The user rejected this call: {comment}\nTake the comment into account before you go on."
        return Failed("rejected_by_user", comment, content=content)
    content = (
        "The user rejected this call. Wait for instructions.\nYou may tell the user what you wanted to do."
    )
    return Failed("rejected_by_user", "The user rejected this call.", content=content)


def not_asked() -> Failed:
    """The person rejected the call before, so this one was not put to them."""
    content = (
        "The user rejected this call: not asked because the previous call was rejected.\n"
        "Wait for instructions; you may tell the user what you wanted to do."
    )
    return Failed("rejected_by_user", "not asked because the previous call was rejected", content=content)


def blocked_by_hook(label: str, reason: str) -> Failed:
    """A handler of the operator said no."""
    why = reason or "no reason was given"
    content = f"Blocked by hook {label}: {why}\n{_OTHER_WAY}"
    return Failed("hook_blocked", f"Blocked by hook {label}: {why}", content=content)


def blocked_by_reviewer(reason: str) -> Failed:
    """The classifier of the automatic mode said no."""
    message = f"Blocked by the action reviewer. {reason}".rstrip()
    return Failed("classifier_blocked", message, content=f"{message}\n{_OTHER_WAY}")


def not_reviewable() -> Failed:
    """The classifier of the automatic mode gave no verdict."""
    message = "The action could not be reviewed and was blocked."
    return Failed("classifier_blocked", message, content=f"{message}\n{_OTHER_WAY}")


def changed_since_approval(tool: str) -> Failed:
    """The input is not any more the one that was approved."""
    return Failed(
        "conflict",
        f"The input of {tool} changed after it was approved, so it was not run.",
        hint="Make the call again.",
    )


# --- ends without a result of the tool ------------------------------------------------------


def timed_out(seconds: float, partial: str) -> Failed:
    """The call ran longer than it may."""
    return Failed(
        "timeout",
        f"The call took longer than {seconds:g} s and was stopped.",
        hint="Ask for less in one call, or raise the timeout if the tool has one.",
        retryable=True,
        details=_output_so_far(partial),
        synthetic=True,
    )


def interrupted(why: str, partial: str = "") -> Failed:
    """The running call was stopped from outside."""
    return Failed("interrupted", why, details=_output_so_far(partial), synthetic=True)


def not_started(why: str) -> Failed:
    """The call was still waiting when everything was stopped."""
    return Failed("not_started", f"The call was not started: {why}", synthetic=True)


def crashed(error: BaseException) -> Failed:
    """The tool raised something it should not. The model sees type and message, the log has the trace."""
    said = " ".join(str(error)[:1000].split())
    message = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return Failed(
        "internal_error", message, hint="Try another way; the fault is in the tool, not in the input."
    )


def _output_so_far(partial: str) -> Mapping[str, Any]:
    return {"Output up to then": partial} if partial else {}
