"""A question about a call as a form that a client shows to its person, and what the person said (pure)."""

from typing import Any, Final

import orjson
from mcp_types import ClientCapabilities, ElicitRequestFormParams, ElicitResult

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest

_MOST_SHOWN: Final = 2_000
_DECLINED: Final = "The person said no."
_ALWAYS: Final = "allow_for_session"


def can_show_forms(capabilities: ClientCapabilities | None) -> bool:
    """Whether a client can put a form to its person; one that says nothing of kinds shows forms."""
    if capabilities is None or capabilities.elicitation is None:
        return False
    kinds = capabilities.elicitation
    return kinds.form is not None or kinds.url is None


def form_of(request: ApprovalRequest) -> ElicitRequestFormParams:
    """Return the form that puts a question."""
    choices = ["allow", *([_ALWAYS] if _rules(request) else []), "deny"]
    properties: dict[str, Any] = {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": _meaning(request),
            "enum": choices,
        },
        "reason": {"type": "string", "title": "Reason", "description": "Why not; told to the model."},
    }
    return ElicitRequestFormParams(
        message=_message(request),
        requested_schema={"type": "object", "properties": properties, "required": ["decision"]},
    )


def answer_of(request: ApprovalRequest, said: ElicitResult) -> ApprovalAnswer:
    """Return what a person meant. Whatever is not a clear yes is a no."""
    content = said.content or {}
    decision = content.get("decision") if said.action == "accept" else "deny"
    if decision == "allow":
        return request.allowed()
    if decision == _ALWAYS and _rules(request):
        return ApprovalAnswer(
            request_id=request.request_id,
            fingerprint=request.fingerprint,
            behavior="allow",
            changes=_rules(request)[:1],
        )
    reason = content.get("reason")
    return request.denied(reason if isinstance(reason, str) and reason else _DECLINED)


def _rules(request: ApprovalRequest) -> tuple[Any, ...]:
    if request.one_time_only or request.destructive:
        return ()
    return tuple(change for change in request.suggestions if change.destination == "session")


def _meaning(request: ApprovalRequest) -> str:
    text = "allow: once. deny: not at all."
    rules = _rules(request)
    if not rules:
        return text
    kept = ", ".join(rules[0].rules) or str(rules[0].mode or ", ".join(rules[0].directories))
    return f"{text} {_ALWAYS}: until this client leaves ({kept})."


def _message(request: ApprovalRequest) -> str:
    written = orjson.dumps(dict(request.input), option=orjson.OPT_INDENT_2, default=str).decode()
    if len(written) > _MOST_SHOWN:
        written = f"{written[:_MOST_SHOWN]}\n… ({len(written):,} characters)"
    who = f"{request.asked_by}: " if request.asked_by else ""
    lines = [f"{who}{request.title}", request.description, written]
    return "\n\n".join(line for line in lines if line)
