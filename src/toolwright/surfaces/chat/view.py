"""The parts of the screen that change, as nodes (pure)."""

from collections.abc import Iterable, Sequence

from toolwright.contracts.view import Line, Node, Stack, Style, Text
from toolwright.surfaces.chat.fitting import fitted, joined, side_by_side, wrapped
from toolwright.surfaces.chat.leaving import Leaving
from toolwright.surfaces.chat.picking import Picker
from toolwright.surfaces.chat.questions import Choice, Question
from toolwright.surfaces.chat.state import ChatState
from toolwright.surfaces.cli.session_lists import counted, dollars
from toolwright.surfaces.rendering.safety import APPROVAL, EVERYDAY
from toolwright.surfaces.rendering.session_items import activity, frame_at, going_on, waited

MARK = "❯"
FIND, INSTEAD = "  find: ", "  instead: "
"""What stands before a second place to type."""
_WARNINGS = {
    "c-c": "Ctrl-C again leaves",
    "c-d": "Ctrl-D again stops what is at work and leaves",
}


def live(state: ChatState, now: float, *, spinning: bool = True) -> Node | None:
    """Return what is going on, above the place where a person types."""
    parts: list[Node] = []
    asked = state.question.request.call_id if state.question is not None else ""
    going = going_on(state.transcript, now, spinning=spinning, without=asked)
    if going is not None:
        parts.append(going)
    line = _activity(state, now, spinning=spinning)
    if line is not None:
        parts.append(line)
    return Stack(tuple(parts)) if parts else None


def _activity(state: ChatState, now: float, *, spinning: bool) -> Node | None:
    """What is done, in one line; calls that run say it themselves."""
    transcript = state.transcript
    runs = any(call.phase == "running" for call in transcript.calls.values())
    doing = state.doing or activity(transcript)
    if not doing or (runs and not transcript.interrupting) or transcript.questions:
        return None
    sign = frame_at(now) if spinning else "·"
    parts = [Text(sign, "accent"), Text(f" {doing}…")]
    if so_long := waited(transcript, now):
        parts.append(Text(f" · {so_long}", "dim"))
    return Line(tuple(parts))


# --- a question -------------------------------------------------------------------------------


def question(asked: Question, *, now: float, has_keys: bool, waiting: int, width: int) -> Node:
    """Return what can be answered, the marked answer and what keys do."""
    if asked.explaining:
        return Text("What instead? The model reads it and goes on. Enter sends, Esc goes back.", "dim")
    marked = has_keys and asked.is_open(now)
    rows = [
        line
        for number, choice in enumerate(asked.choices, 1)
        for line in _choice(number, choice, width, is_marked=marked and number - 1 == asked.at)
    ]
    return Stack((*rows, Text(joined(_question_hints(waiting, has_keys=has_keys), width), "dim")))


def _choice(number: int, choice: Choice, width: int, *, is_marked: bool) -> Iterable[Node]:
    """One answer; what has no room on its line goes on below its words."""
    sign = f"{MARK if is_marked else ' '} {number}  "
    key = f"  ({choice.letter})" if choice.letter else ""
    first, *rest = wrapped(APPROVAL.line(choice.text), max(width - len(sign) - len(key), 1))
    style: Style = "bold" if is_marked else "plain"
    yield Line((Text(sign, "accent" if is_marked else "plain"), Text(first, style), Text(key, "dim")))
    for line in rest:
        yield Text(" " * len(sign) + line, style)


def _question_hints(waiting: int, *, has_keys: bool) -> Sequence[str]:
    more = f"{waiting - 1} more to answer" if waiting > 1 else ""
    if not has_keys:
        return ("Tab to answer", more)
    return ("Enter, number or letter", more, "Ctrl-C interrupts", "Esc back to writing")


# --- a list to choose from --------------------------------------------------------------------


def picker(shown: Picker, *, width: int, height: int) -> Node:
    """Return the rows that fit around the marked one."""
    first, rows = shown.in_sight(height - 2)
    lines: list[Node] = [Text(fitted(shown.heading, width), "bold")]
    places = {row.key: place for place, row in enumerate(shown.rows, 1)}
    digits = len(str(len(places)))
    for place, row in enumerate(rows, first):
        is_marked = place == shown.at
        facts = " · ".join(EVERYDAY.line(fact) for fact in row.facts)
        left = f"{MARK if is_marked else ' '} {places[row.key]:>{digits}}  {EVERYDAY.line(row.title)}"
        lines.append(Text(side_by_side(left, facts, width), "accent" if is_marked else "plain"))
    if not rows:
        lines.append(Text("  nothing has these words", "dim"))
    lines.append(Text(joined(("↑↓ and Enter, or a number", "type to search", "Esc goes back"), width), "dim"))
    return Stack(tuple(lines))


# --- the last line ----------------------------------------------------------------------------


def status(state: ChatState, *, now: float, width: int) -> tuple[str, Style]:
    """Return the line below everything else, and how it looks."""
    if state.leaving.is_warned(now):
        return fitted(_warning(state.leaving), width), "warn"
    if state.hint:
        return fitted(EVERYDAY.line(state.hint), width), "warn"
    return joined(tuple(_facts(state)), width), "dim"


def _warning(leaving: Leaving) -> str:
    return _WARNINGS[leaving.key]


def _facts(state: ChatState) -> Iterable[str]:
    transcript = state.transcript
    if state.mode != "default":
        yield f"mode {state.mode}"
    yield EVERYDAY.line(transcript.model)
    yield context_text(transcript.used.context, state.window)
    yield dollars(transcript.used.cost)
    if state.is_working:
        yield "Ctrl-C interrupts"
    if state.queued:
        yield "↑ takes back"


def context_text(used: int, window: int) -> str:
    """Say how full the window is, in a few words."""
    if not used:
        return ""
    share = f" ({round(100 * used / window)} %)" if window else ""
    return f"{counted(used)} tokens{share}"
