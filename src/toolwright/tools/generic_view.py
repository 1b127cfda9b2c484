"""How a call looks when its tool says nothing about it. Takes partial input; never fails."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from toolwright.contracts.content import Content, text_of
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


def generic_view(spec: ToolSpec, call: CallState, *, use: Node | None = None) -> View:
    """The standard view: title and activity from the name, key arguments, first lines of the result.

    ``use`` is what this function gave for the same input before, to be used again.
    """
    title = spec.display_name or words_of(spec.name)
    rejected = call.phase == "rejected"
    failed = call.outcome if isinstance(call.outcome, Failed) else None
    done = call.outcome if isinstance(call.outcome, Done) else None
    return View(
        title=title,
        activity=f"Running {title}",
        use=use or use_node(spec, call.input),
        progress=_progress(call),
        result=None if done is None else done.view or _result(done.content),
        error=_error(failed) if failed and not rejected else None,
        rejected=_rejected(failed) if rejected else None,
        summary=_summary(done, failed),
    )


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
    if news is None or call.outcome is not None:
        return None
    if news.node is not None:
        return news.node
    return Text(news.text, "dim") if news.text else None


def _result(content: Content) -> Node | None:
    text = text_of(content)
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


def _summary(done: Done | None, failed: Failed | None) -> str:
    if failed is not None:
        return first_line(f"{failed.code}: {failed.message}")
    return first_line(text_of(done.content)) if done is not None else ""
