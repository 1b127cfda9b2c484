"""A view that can always be drawn: made of nothing but the call."""

import json
from typing import Any

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import CallState, Done, Failed
from toolwright.contracts.view import Badge, KeyValue, Line, Node, Output, Stack, Text, View

_LONGEST_VALUE = 200


def generic_view(state: CallState) -> View:
    """Return a view made of nothing but the call itself."""
    return View(
        title=state.offered_name,
        activity=f"Running {state.offered_name}",
        use=_use(state),
        progress=Text(state.progress.text) if state.progress and state.progress.text else None,
        result=_result(state.outcome) if isinstance(state.outcome, Done) else None,
        error=error_node(state.outcome) if isinstance(state.outcome, Failed) else None,
        rejected=Text(state.outcome.message) if isinstance(state.outcome, Failed) else None,
        summary=_summary(state.outcome),
    )


def error_node(failed: Failed) -> Node:
    """Code, message and what may help."""
    first, _, more = failed.message.partition("\n")
    parts: list[Node] = [Line((Badge(failed.code, "error"), Text(" "), Text(first, "error")))]
    if more:
        parts.append(Text(more, "error"))
    if failed.hint:
        parts.append(Text(failed.hint, "dim"))
    return Stack(tuple(parts)) if len(parts) > 1 else parts[0]


def first_line(text: str) -> str:
    """Return the first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _use(state: CallState) -> Node | None:
    items = tuple((name, Text(_short(value))) for name, value in state.input.items())
    return KeyValue(items) if items else None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _result(done: Done) -> Node | None:
    if done.view is not None:
        return done.view
    text = text_of(done.content)
    return Output(text) if text else None


def _summary(outcome: object) -> str:
    if isinstance(outcome, Done):
        return first_line(text_of(outcome.content))
    if isinstance(outcome, Failed):
        return f"{outcome.code}: {first_line(outcome.message)}"
    return ""
