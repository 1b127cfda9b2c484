"""The question put to a person: everything, in full, with every odd character visible."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolwright.contracts.permissions import ApprovalRequest, Destination, Reason, RuleChange
from toolwright.contracts.view import Badge, Code, Command, Items, KeyValue, Line, Node, Path, Stack, Text
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.surfaces.rendering.safety import APPROVAL
from toolwright.surfaces.rendering.session_notes import change_text

if TYPE_CHECKING:
    from rich.console import Console

_COMMANDS = frozenset({"command", "script", "code"})
_PATHS = frozenset({"path", "file_path", "notebook_path", "cwd", "directory"})
_COUNTED_ABOVE = 10
_LASTING: Mapping[Destination, str] = {
    "session": "until this session ends",
    "local": "in this project, for you",
    "project": "in this project, for all",
    "user": "in all your projects",
}


def draw_approval(request: ApprovalRequest, console: "Console", *, screen_reader: bool = False) -> None:
    """Print a question. Nothing of the input is masked, cut or folded away."""
    from toolwright.surfaces.rendering.terminal import render_terminal

    render_terminal(approval_node(request), console, safety=APPROVAL, screen_reader=screen_reader)


def approval_text(request: ApprovalRequest) -> str:
    """Return a question as plain text, with the same care."""
    return render_plain(approval_node(request), safety=APPROVAL)


def approval_node(request: ApprovalRequest, *, with_offers: bool = True) -> Node:
    """Return a question as a node; to be drawn with the safety of approvals only.

    ``with_offers=False`` is for who shows what could be remembered together with the answers.
    """
    parts: list[Node] = [_head(request)]
    if request.description and request.description != _reason(request.reason):
        parts.append(Text(request.description))
    parts.append(_input(request))
    if request.preview is not None and not _says_the_same(request.preview, request):
        parts.append(Stack((Text("What it would do:", "bold"), request.preview)))
    parts.append(KeyValue(_facts(request)))
    if with_offers and request.suggestions and not request.one_time_only:
        parts.append(Stack((Text("Could be remembered:", "bold"), _suggestions(request.suggestions))))
    return Stack(tuple(parts))


def _head(request: ApprovalRequest) -> Line:
    names = request.offered_name
    if request.tool != request.offered_name:
        names = f"{request.offered_name} ({request.tool})"
    parts: list[Text | Badge] = [Badge("approval", "warn"), Text(" ")]
    if request.title.casefold() != names.casefold():
        parts.append(Text(f"{names}: "))
    parts.append(Text(request.title, "bold"))
    if request.destructive:
        parts += [Text(" "), Badge("cannot be undone", "error")]
    return Line(tuple(parts))


def _says_the_same(preview: Node, request: ApprovalRequest) -> bool:
    """Whether a preview is only the command of the input once more."""
    return isinstance(preview, Command) and preview.text == request.input.get("command")


def _input(request: ApprovalRequest) -> Node:
    return KeyValue(tuple(item for name, value in request.input.items() for item in _argument(name, value)))


def _argument(name: str, value: Any) -> tuple[tuple[str, Node], ...]:
    if name in _COMMANDS and isinstance(value, str):
        return ((name, Command(value)), *_counted(name, value))
    if name in _PATHS and isinstance(value, str):
        return ((name, Path(value)),)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return ((name, Code(text)), *_counted(name, text))


def _counted(name: str, text: str) -> tuple[tuple[str, Node], ...]:
    """Says how long a long text is, so that nothing can hide below the screen."""
    lines = text.count("\n") + 1
    if lines <= _COUNTED_ABOVE:
        return ()
    return ((f"length of {name}", Text(f"{lines:,} lines, {len(text):,} characters", "warn")),)


def _facts(request: ApprovalRequest) -> tuple[tuple[str, Node], ...]:
    facts: list[tuple[str, Node]] = [("why asked", Text(_reason(request.reason)))]
    if isinstance(request.preview, Command) and request.preview.cwd and "cwd" not in request.input:
        facts.insert(0, ("runs in", Path(request.preview.cwd)))
    if request.blocked_path is not None:
        facts.append(("path in question", Path(request.blocked_path)))
    if request.asked_by:
        facts.append(("asked by the agent", Text(request.asked_by)))
    elif request.agent_id is not None:
        facts.append(("asked by", Text(request.agent_id)))
    if request.one_time_only:
        facts.append(("counts for", Text("this call only", "warn")))
    return tuple(facts)


def _reason(reason: Reason) -> str:
    if reason.rule is not None:
        rule = f"rule {reason.rule.written} ({reason.rule.source})"
        return f"{rule}: {reason.detail}" if reason.detail else rule
    return reason.detail or reason.kind.replace("_", " ")


def _suggestions(changes: tuple[RuleChange, ...]) -> Node:
    return Items(tuple(Text(offer_text(change)) for change in changes), ordered=True)


def offer_text(change: RuleChange) -> str:
    """Return what could be remembered, and for how long, in words."""
    what = f"enter {change_text(change)}" if change.kind == "setMode" else change_text(change)
    return f"{what}, {_LASTING[change.destination]}"
