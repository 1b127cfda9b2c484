"""What is said to handlers outside this process, and how their answers are understood."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from toolwright.contracts.hooks import HookEvent, HookHandler, HookInput, HookOutput, HookReply, HookTransport
from toolwright.contracts.permissions import RuleChange

BLOCK_EXIT_CODE = 2

_TEXT = str
_FLAG = bool
_OBJECT = dict
_LIST = list
_ANYTHING = object
_Shape = Mapping[str, type | frozenset[str]]

_TOP: _Shape = {
    "continue": _FLAG,
    "stopReason": _TEXT,
    "systemMessage": _TEXT,
    "suppressOutput": _FLAG,
    "decision": frozenset({"approve", "block"}),
    "reason": _TEXT,
    "hookSpecificOutput": _OBJECT,
}
_CONTEXT: _Shape = {"hookEventName": _TEXT, "additionalContext": _TEXT}
_BEFORE: _Shape = {
    **_CONTEXT,
    "permissionDecision": frozenset({"allow", "deny", "ask", "defer"}),
    "permissionDecisionReason": _TEXT,
    "updatedInput": _OBJECT,
}
_SPECIFIC: Mapping[HookEvent, _Shape] = {
    "PreToolUse": _BEFORE,
    "PreToolExecute": _BEFORE,
    "PermissionRequest": {**_CONTEXT, "decision": _OBJECT},
    "PostToolUse": {**_CONTEXT, "updatedToolOutput": _ANYTHING, "classifierContext": _TEXT},
    "PermissionDenied": {**_CONTEXT, "retry": _FLAG},
}
_ANSWER: _Shape = {
    "behavior": frozenset({"allow", "deny"}),
    "updatedInput": _OBJECT,
    "updatedPermissions": _LIST,
    "message": _TEXT,
    "interrupt": _FLAG,
}
_CHANGE: _Shape = {
    "type": frozenset(
        {"addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"}
    ),
    "rules": _LIST,
    "behavior": frozenset({"allow", "ask", "deny"}),
    "mode": frozenset({"default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"}),
    "directories": _LIST,
    "destination": frozenset({"session", "local", "project", "user"}),
}
_LONGEST_CLASSIFIER_CONTEXT = 2_000
_DESTINATIONS = {"localSettings": "local", "projectSettings": "project", "userSettings": "user"}


class _WrongShape(ValueError):
    """An answer that is JSON but not what the event may answer."""


def through(transport: HookTransport) -> HookHandler:
    """Return a handler that speaks JSON with something outside this process."""

    async def handler(input: HookInput) -> HookOutput:
        return understood(await transport(input, request_body(input)), input.event)

    return handler


# --- what is said -----------------------------------------------------------------------------


def request_body(input: HookInput) -> bytes:
    """Return the JSON object that a handler reads."""
    told: dict[str, Any] = {
        "session_id": input.session_id,
        "prompt_id": "",
        "transcript_path": "",
        "cwd": input.cwd,
        "permission_mode": input.permission_mode,
    }
    if input.tool:
        told["tool_name"] = input.tool_names[0] if input.tool_names else input.tool
    told.update(input.payload)
    told["hook_event_name"] = input.event
    return json.dumps(told, default=_plain).encode()


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return str(value)


# --- how an answer is understood --------------------------------------------------------------


def understood(reply: HookReply, event: HookEvent) -> HookOutput:
    """Return what an answer means for this event. Never raises."""
    if reply.problem:
        return HookOutput(problem=reply.problem)
    if reply.exit_code == BLOCK_EXIT_CODE:
        return _blocking(reply, event)
    if not reply.stdout.lstrip().startswith("{"):
        return HookOutput() if reply.exit_code in {0, None} else _failed(reply)
    try:
        return _answer(reply.stdout, event)
    except (_WrongShape, ValueError, RecursionError) as error:
        if reply.exit_code in {0, None}:
            return HookOutput(problem=f"the answer is not valid: {error}")
        return _failed(reply)


def _failed(reply: HookReply) -> HookOutput:
    first_line = reply.stderr.strip().partition("\n")[0]
    return HookOutput(problem=first_line or f"ended with exit code {reply.exit_code}")


def _blocking(reply: HookReply, event: HookEvent) -> HookOutput:
    """Exit code 2: the answer may explain the block and add to it, never lift it."""
    try:
        said = _answer(reply.stdout, event) if reply.stdout.lstrip().startswith("{") else HookOutput()
    except (_WrongShape, ValueError, RecursionError):
        said = HookOutput()
    return dataclasses.replace(
        said,
        decision="deny" if said.decision == "deny" else None,
        reason=said.reason or reply.stderr.strip(),
        updated_input=None,
        changes=(),
        blocked=True,
    )


def _answer(text: str, event: HookEvent) -> HookOutput:
    answer = _checked(json.loads(text, parse_constant=_refuse), _TOP, "the answer")
    specific = _checked(
        answer.get("hookSpecificOutput", {}), _SPECIFIC.get(event, _CONTEXT), "hookSpecificOutput"
    )
    named = specific.get("hookEventName", event)
    if named != event:
        raise _WrongShape(f"hookSpecificOutput is for {named}, not for {event}")
    output = HookOutput(
        reason=answer.get("reason", ""),
        context=specific.get("additionalContext", ""),
        stop=answer.get("continue") is False,
        stop_reason=answer.get("stopReason", ""),
        system_message=answer.get("systemMessage", ""),
        blocked=answer.get("decision") == "block",
    )
    reader = _READERS.get(event)
    return output if reader is None else reader(output, answer, specific)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _checked(value: object, shape: _Shape, where: str) -> dict[str, Any]:
    """Return the known members that are not null. Unknown members belong to other versions."""
    if not isinstance(value, dict):
        raise _WrongShape(f"{where} is no object")
    known = {key: value[key] for key in shape if value.get(key) is not None}
    for key, member in known.items():
        wanted = shape[key]
        fits = member in wanted if isinstance(wanted, frozenset) and isinstance(member, str) else False
        if not isinstance(wanted, frozenset):
            fits = isinstance(member, wanted)
        if not fits:
            raise _WrongShape(f"{where}: {key} has no valid value")
    return known


def _read_before(output: HookOutput, answer: Mapping[str, Any], specific: Mapping[str, Any]) -> HookOutput:
    decision = specific.get("permissionDecision")
    if decision is None and answer.get("decision") == "approve":
        decision = "allow"
    return dataclasses.replace(
        output,
        decision=decision,
        reason=specific.get("permissionDecisionReason", output.reason),
        updated_input=specific.get("updatedInput"),
    )


def _read_execute(output: HookOutput, _: Mapping[str, Any], specific: Mapping[str, Any]) -> HookOutput:
    """What was approved is what runs: a refusal counts, anything else does not."""
    return dataclasses.replace(
        output,
        reason=specific.get("permissionDecisionReason", output.reason),
        blocked=output.blocked or specific.get("permissionDecision") == "deny",
    )


def _read_request(output: HookOutput, _: Mapping[str, Any], specific: Mapping[str, Any]) -> HookOutput:
    if "decision" not in specific:
        return output
    decision = _checked(specific["decision"], _ANSWER, "decision")
    if "behavior" not in decision:
        raise _WrongShape("decision has no behavior")
    return dataclasses.replace(
        output,
        decision=decision["behavior"],
        reason=decision.get("message", output.reason),
        updated_input=decision.get("updatedInput"),
        changes=tuple(_change(change) for change in decision.get("updatedPermissions", [])),
        interrupt=decision.get("interrupt", False),
    )


def _read_after(output: HookOutput, _: Mapping[str, Any], specific: Mapping[str, Any]) -> HookOutput:
    if len(specific.get("classifierContext", "")) > _LONGEST_CLASSIFIER_CONTEXT:
        raise _WrongShape(f"classifierContext is longer than {_LONGEST_CLASSIFIER_CONTEXT} characters")
    return dataclasses.replace(
        output,
        updated_output=specific.get("updatedToolOutput"),
        has_updated_output="updatedToolOutput" in specific,
    )


def _read_denied(output: HookOutput, _: Mapping[str, Any], specific: Mapping[str, Any]) -> HookOutput:
    return dataclasses.replace(output, retry=specific.get("retry", False))


_READERS: Mapping[HookEvent, Callable[[HookOutput, Mapping[str, Any], Mapping[str, Any]], HookOutput]] = {
    "PreToolUse": _read_before,
    "PreToolExecute": _read_execute,
    "PermissionRequest": _read_request,
    "PostToolUse": _read_after,
    "PermissionDenied": _read_denied,
}


def _change(value: object) -> RuleChange:
    if isinstance(value, dict) and value.get("destination") in _DESTINATIONS:
        value = {**value, "destination": _DESTINATIONS[value["destination"]]}
    change = _checked(value, _CHANGE, "updatedPermissions")
    if "type" not in change:
        raise _WrongShape("a change in updatedPermissions has no type")
    directories = change.get("directories", [])
    if not all(isinstance(directory, str) for directory in directories):
        raise _WrongShape("directories are no texts")
    return RuleChange(
        kind=change["type"],
        behavior=change.get("behavior", "allow"),
        rules=tuple(_rule(rule) for rule in change.get("rules", [])),
        mode=change.get("mode"),
        directories=tuple(directories),
        destination=change.get("destination", "session"),
    )


def _rule(value: object) -> str:
    """A rule as text, or as an object with the tool's name and the content apart."""
    if isinstance(value, str):
        return value
    rule = _checked(value, {"toolName": _TEXT, "ruleContent": _TEXT}, "a rule")
    if "toolName" not in rule:
        raise _WrongShape("a rule has no toolName")
    content = rule.get("ruleContent")
    return rule["toolName"] if content is None else f"{rule['toolName']}({content})"
