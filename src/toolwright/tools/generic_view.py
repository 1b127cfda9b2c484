"""How a call looks when its tool says nothing about it. Takes partial input; never fails."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import CallState, Done, Failed, ToolSpec
from toolwright.contracts.view import (
    Badge,
    Code,
    Collapsible,
    KeyValue,
    Line,
    Node,
    Output,
    Stack,
    Text,
    View,
)
from toolwright.tools.naming import words_of

_SUMMARY = 80
_VALUE = 60
_LOOKED_AT = 1_000
"""Characters of a value that are looked at; arguments may be long while they stream."""
_FIRST_LINES = 10
_KEY_ARGUMENTS = 3


def generic_view(spec: ToolSpec, call: CallState, *, before: View | None = None) -> View:
    """The standard view: title and activity from the name, key arguments, first lines of the result.

    ``before`` is what this function gave for the same input, to be used again.
    """
    if before is None:
        title = spec.display_name or words_of(spec.name)
        activity, use = f"Running {title}", use_node(spec, call.input)
    else:
        title, activity, use = before.title, before.activity, before.use or use_node(spec, call.input)
    outcome = call.outcome
    if outcome is None:
        rejected = _rejected(None) if call.phase == "rejected" else None
        return View(title=title, activity=activity, use=use, progress=_progress(call), rejected=rejected)
    if isinstance(outcome, Done):
        text = text_of(outcome.content)
        result = outcome.view or _result(text)
        return View(title=title, activity=activity, use=use, result=result, summary=first_line(text))
    if not isinstance(outcome, Failed):
        return View(title=title, activity=activity, use=use)
    view = View(title=title, activity=activity, use=use, summary=_summary(outcome))
    if call.phase == "rejected":
        return replace(view, rejected=_rejected(outcome))
    return replace(view, error=_error(outcome))


def use_node(spec: ToolSpec, input: Mapping[str, Any]) -> Node:
    """Name and key arguments: the required ones first, short values only."""
    title = Text(spec.display_name or words_of(spec.name), "bold")
    if spec.mcp is not None:
        items = tuple((name, Text(_short(value))) for name, value in input.items())
        head = Line((Badge(spec.mcp.server), title))
        return Stack((head, KeyValue(items))) if items else head
    shown = _key_arguments(spec.input_schema.get("required", ()), input)
    return Line((title, Text(" " + shown, "dim"))) if shown else Line((title,))


def first_line(text: str, limit: int = _SUMMARY) -> str:
    """The first line that says something, no longer than ``limit``."""
    if text.isprintable():  # so it holds no end of a line
        line = text.strip()
    else:
        line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _key_arguments(required: Collection[str], input: Mapping[str, Any]) -> str:
    if len(input) == 1:
        return "".join(map(_short, input.values()))
    names = [name for name in input if name in required]
    if len(names) < min(len(input), _KEY_ARGUMENTS):
        names += [name for name in input if name not in required]
    return ", ".join([f"{name}: {_short(input[name])}" for name in names[:_KEY_ARGUMENTS]])


def _short(value: Any) -> str:
    if type(value) is int:
        return first_line(str(value), _VALUE)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return first_line(text[:_LOOKED_AT], _VALUE)


def _progress(call: CallState) -> Node | None:
    news = call.progress
    if news is None:
        return None
    if news.node is not None:
        return news.node
    return Text(news.text, "dim") if news.text else None


def _result(text: str) -> Node | None:
    lines = text.splitlines()
    if not lines:
        return None
    head = Output("\n".join(lines[:_FIRST_LINES]))
    if len(lines) <= _FIRST_LINES:
        return head
    return Collapsible(head, Output(text), hidden_lines=len(lines) - _FIRST_LINES)


def _error(failed: Failed) -> Node:
    first, _, more = failed.message.partition("\n")
    head = Line((Badge(failed.code, "error"), Text(" " + first, "error")))
    rest: list[Node] = [Text(more, "error")] if more else []
    if failed.hint:
        rest.append(Text(failed.hint, "dim"))
    if failed.content is not None and text_of(failed.content) != failed.message:
        rest.append(Code(text_of(failed.content)))
    return Stack((head, *rest)) if rest else head


def _rejected(failed: Failed | None) -> Node:
    reason = failed.message if failed else ""
    return Line((Text("rejected", "warn"), *((Text(f": {reason}", "dim"),) if reason else ())))


def _summary(failed: Failed) -> str:
    return first_line(f"{failed.code}: {failed.message}")
