"""How calls stand in a transcript: one line or a few, neighbours folded, each phase with what matters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from toolwright.contracts.tool import CallState, Failed
from toolwright.contracts.view import (
    Badge,
    Code,
    Collapsible,
    Diff,
    Group,
    Hunk,
    Line,
    Link,
    Node,
    Output,
    Para,
    Path,
    Phase,
    Stack,
    Text,
    Tone,
    View,
)
from toolwright.surfaces.rendering.generic import error_node, first_line, generic_view

Verbosity = Literal["compact", "normal", "full"]
Beside = tuple[Text | Path | Link | Badge, ...]

OUTPUT_LINES = 10
DIFF_LINES = 20
ELAPSED_SHOWN_AFTER = 2.0

_SIGNS: Mapping[Phase, tuple[str, Tone]] = {
    "streaming": ("…", "neutral"),
    "queued": ("queued", "neutral"),
    "waiting_permission": ("asks", "warn"),
    "running": ("running", "accent"),
    "done": ("done", "ok"),
    "error": ("failed", "error"),
    "rejected": ("rejected", "warn"),
    "cancelled": ("cancelled", "neutral"),
}
_FOLDED_WORDS: Mapping[str, tuple[str, str, str]] = {
    "read": ("read", "file", "files"),
    "grep": ("searched", "pattern", "patterns"),
    "glob": ("searched", "pattern", "patterns"),
    "find": ("searched", "pattern", "patterns"),
    "file_search": ("searched", "pattern", "patterns"),
    "list_dir": ("listed", "folder", "folders"),
    "web_fetch": ("fetched", "page", "pages"),
    "web_search": ("searched the web for", "query", "queries"),
}


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """A call and its view, ready to stand in a transcript."""

    view: View
    state: CallState


def draw_call(view: View | None, state: CallState, mode: Verbosity = "normal") -> Node:
    """Return one node for a call in its present phase."""
    shown, beside = _title_once(view or generic_view(state), state.phase)
    head = _head(shown, state, beside=beside, with_summary=mode == "compact" or state.phase == "rejected")
    if mode == "compact":
        return head
    parts = [part if mode == "full" else clipped(part) for part in _parts(shown, state) if part is not None]
    return Group(head, tuple(parts)) if parts else head


def draw_calls(calls: Sequence[DrawnCall], mode: Verbosity = "normal") -> Node:
    """Return one node for calls in a row; finished reading and searching is folded in compact mode."""
    if mode != "compact":
        return Stack(tuple(draw_call(call.view, call.state, mode) for call in calls))
    rows: list[Node] = []
    for folds, run in groupby(calls, key=lambda call: call.view.folds and call.state.phase == "done"):
        together = tuple(run)
        if folds and len(together) > 1:
            rows.append(_folded(together))
        else:
            rows.extend(draw_call(call.view, call.state, mode) for call in together)
    return Stack(tuple(rows))


def _folded(calls: Sequence[DrawnCall]) -> Node:
    counts: dict[tuple[str, str, str], int] = {}
    for call in calls:
        words = _FOLDED_WORDS.get(call.state.tool, (f"called {call.state.offered_name}", "time", "times"))
        counts[words] = counts.get(words, 0) + 1
    said = ", ".join(
        f"{verb} {count} {one if count == 1 else many}" for (verb, one, many), count in counts.items()
    )
    return Line((Badge("done", "ok"), Text(f" {said[0].upper()}{said[1:]}")))


def _title_once(view: View, phase: Phase) -> tuple[View, Beside]:
    """Move to the head what stands behind the title on the first line of what was called."""
    if phase not in {"done", "error", "cancelled"}:
        return view, ()
    first, rest = view.use, None
    if isinstance(view.use, Stack) and view.use.children:
        first, rest = view.use.children[0], Stack(view.use.children[1:])
    if not isinstance(first, Line) or first.parts[:1] != (Text(view.title, "bold"),):
        return view, ()
    return replace(view, use=rest), first.parts[1:]


def _head(view: View, state: CallState, *, beside: Beside = (), with_summary: bool) -> Line:
    word, tone = _SIGNS[state.phase]
    running = state.phase in {"streaming", "running"}
    title = view.activity if running and view.activity else view.title
    parts: list[Text | Path | Link | Badge] = [
        Badge(word, tone),
        Text(f" {title}", _title_style(state.phase)),
        *beside,
    ]
    if with_summary and (summary := _summary(view, state)):
        parts.append(Text(f" · {summary}", "error" if state.phase == "error" else "dim"))
    if state.duration is not None and state.duration >= ELAPSED_SHOWN_AFTER:
        parts.append(Text(f" · {state.duration:.0f} s", "dim"))
    return Line(tuple(parts))


def _title_style(phase: Phase) -> Literal["bold", "dim"]:
    return "dim" if phase in {"rejected", "cancelled"} else "bold"


def _summary(view: View, state: CallState) -> str:
    outcome = state.outcome
    if isinstance(outcome, Failed):
        message = first_line(outcome.message)
        return message if state.phase == "rejected" else f"{outcome.code}: {message}".rstrip(": ")
    if state.phase == "running" and state.progress is not None:
        return first_line(state.progress.text)
    return first_line(view.summary) if state.phase == "done" else ""


def _parts(view: View, state: CallState) -> tuple[Node | None, ...]:
    if state.phase == "rejected":
        return (_after_the_word(view.rejected), None if _holds(view.rejected, view.use) else view.use)
    if state.phase in {"error", "cancelled"}:
        failed = error_node(state.outcome) if isinstance(state.outcome, Failed) else None
        return (view.use, view.error or failed)
    if state.phase == "done":
        return (view.use, view.result)
    return (view.use, view.progress)


def _after_the_word(rejected: Node | None) -> Node | None:
    """What a view says of a refusal behind the word for it, which the head has said with the reason."""
    if isinstance(rejected, Stack) and rejected.children and _is_the_word(rejected.children[0]):
        return Stack(rejected.children[1:])
    return None if _is_the_word(rejected) else rejected


def _is_the_word(node: Node | None) -> bool:
    return isinstance(node, Line) and node.parts[:1] == (Text("rejected", "warn"),)


def _holds(node: Node | None, part: Node | None) -> bool:
    """Whether a part stands inside a node already."""
    return node == part or (isinstance(node, Stack | Group) and part in node.children)


# --- clipping ---------------------------------------------------------------------------------


def clipped(node: Node) -> Node:
    """Return a node in which long output, code and diffs are folded behind their first lines."""
    if isinstance(node, Stack):
        return Stack(tuple(clipped(child) for child in node.children))
    if isinstance(node, Diff):
        return _clipped_diff(node)
    if isinstance(node, Output | Code | Para | Text):
        return _clipped_text(node, OUTPUT_LINES if isinstance(node, Output) else DIFF_LINES)
    return node


def _clipped_text(node: Output | Code | Para | Text, limit: int) -> Node:
    lines = node.text.splitlines()
    if len(lines) <= limit:
        return node
    return Collapsible(replace(node, text="\n".join(lines[:limit])), node, hidden_lines=len(lines) - limit)


def _clipped_diff(node: Diff) -> Node:
    hidden = sum(len(hunk.lines) for hunk in node.hunks) - DIFF_LINES
    if hidden <= 0:
        return node
    shown: list[Hunk] = []
    room = DIFF_LINES
    for hunk in node.hunks:
        if room <= 0:
            break
        shown.append(replace(hunk, lines=hunk.lines[:room]))
        room -= len(hunk.lines)
    return Collapsible(replace(node, hunks=tuple(shown)), node, hidden_lines=hidden)
