"""Parts of a session as nodes: what stands for good, and what is going on right now (pure)."""

from collections.abc import Mapping, Sequence

from toolwright.contracts.events import InputAccepted
from toolwright.contracts.view import Badge, Line, Node, Output, Para, Phase, Stack, Text
from toolwright.surfaces.rendering.calls import ELAPSED_SHOWN_AFTER, Verbosity, draw_call
from toolwright.surfaces.rendering.generic import first_line
from toolwright.surfaces.rendering.session_notes import Note
from toolwright.surfaces.rendering.transcript import (
    CallOver,
    Item,
    OpenCall,
    Spoken,
    Transcript,
    Words,
    in_the_queue,
    spoken,
)

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_PER_SECOND = 10
_SIGNS: Mapping[Phase, Text] = {"waiting_permission": Text("?", "warn")}
_LAST_LINES = 3
_LAST_WORDS = 8
_LONGEST_LINE = 160
_MOST_SAID = 480
"""Characters that are shown of a line that is being said."""


def drawn(item: Item, mode: Verbosity = "normal") -> Node:
    """Return what stands for good as a node."""
    match item:
        case Words(text):
            return Para(text, markdown=True)
        case CallOver(view, state):
            return draw_call(view, state, mode)
        case Note(text, tone):
            return Line((Badge("note", tone), Text(f" {text}", "dim" if tone == "neutral" else "plain")))
        case Spoken(text, source, more):
            return _spoken(text, source, more)


def _spoken(text: str, source: str, more: int) -> Node:
    if source != "user":
        return Line((Badge(source, "neutral"), Text(f" {first_line(text)}", "dim")))
    attached = f" [{more} attached]" if more else ""
    lines = f"{text}{attached}".split("\n")
    return Text(
        "\n".join(f"{'> ' if number == 0 else '  '}{line}" for number, line in enumerate(lines)), "accent"
    )


def set_apart(before: object | None, item: object) -> bool:
    """Whether an empty line stands between two parts."""
    return before is not None and not (isinstance(before, Note) and isinstance(item, Note))


# --- what is going on -------------------------------------------------------------------------


def activity(transcript: Transcript) -> str:
    """Return in a few words what the session is doing; empty when it does nothing."""
    if transcript.interrupting:
        return "Interrupting"
    running = [call for call in transcript.calls.values() if call.phase == "running"]
    if len(running) == 1:
        return _activity(running[0])
    if running:
        return f"Running {len(running)} calls"
    if transcript.questions:
        return "Waiting for your answer"
    writing = [call for call in transcript.calls.values() if call.phase == "streaming"]
    if writing:
        return f"Writing a call of {writing[-1].name}"
    if transcript.words:
        return "Answering"
    if transcript.thought:
        return "Thinking"
    if transcript.running:
        return "Working"
    agents = len(transcript.agents)
    return f"{agents} agent{'' if agents == 1 else 's'} at work" if agents else ""


def going_on(transcript: Transcript, now: float, *, spinning: bool = True, without: str = "") -> Node | None:
    """Return what is going on: words that are being said, calls at work, what waits in the queue.

    ``without`` names a call that is shown in another way.
    """
    parts: list[Node] = []
    if transcript.words:
        parts.append(Text(_end(transcript.words, _LAST_WORDS)))
    elif transcript.thought:
        parts.append(Text(_end(transcript.thought, _LAST_LINES), "dim"))
    frame = frame_at(now) if spinning else "·"
    parts += [_card(call, now, frame) for call in transcript.calls.values() if call.call_id != without]
    parts += [
        Line((Badge("queued", "neutral"), Text(f" {_cut(first_line(_queued(accepted)))}", "dim")))
        for accepted in in_the_queue(transcript)
    ]
    return Stack(tuple(parts)) if parts else None


def _queued(accepted: InputAccepted) -> str:
    said = spoken(accepted.content, accepted.source)
    return f"{said.text} [{said.more} attached]" if said.more else said.text


def frame_at(now: float) -> str:
    """Return the sign that turns while something works."""
    return FRAMES[int(now * FRAMES_PER_SECOND) % len(FRAMES)]


def waited(transcript: Transcript, now: float) -> str:
    """Return for how long the model has been asked, once that is worth saying."""
    since = transcript.asking_since
    return _elapsed(now - since) if since is not None and not transcript.calls else ""


def _card(call: OpenCall, now: float, frame: str) -> Node:
    sign = _SIGNS.get(call.phase, Text("·", "dim"))
    text = _activity(call) if call.phase in {"running", "streaming"} else _title(call)
    parts = [Text(frame, "accent") if call.phase == "running" else sign, Text(f" {_cut(text)}")]
    if call.phase in {"queued", "waiting_permission"}:
        parts.append(Text(" · asks" if call.phase == "waiting_permission" else " · queued", "dim"))
    if call.began is not None and call.phase == "running" and (elapsed := _elapsed(now - call.began)):
        parts.append(Text(f" · {elapsed}", "dim"))
    lines: list[Node] = [Line(tuple(parts))]
    if call.phase == "running":
        lines += _progress(call)
    return Stack(tuple(lines))


def _progress(call: OpenCall) -> Sequence[Node]:
    if call.progress is None:
        return ()
    if call.progress.node is not None:
        return (call.progress.node,)
    if call.output:
        return (Output(_indented(_tail(call.output, _LAST_LINES))),)
    return (Text(f"  {_cut(call.progress.text)}", "dim"),) if call.progress.text else ()


def _activity(call: OpenCall) -> str:
    if call.view is not None:
        return first_line(call.view.activity or call.view.title)
    return call.name


def _title(call: OpenCall) -> str:
    return first_line(call.view.title) if call.view is not None else call.name


def _tail(text: str, lines: int) -> str:
    return "\n".join(_cut(line) for line in text.rstrip("\n").split("\n")[-lines:])


def _end(text: str, lines: int) -> str:
    """The last lines of what is being said; of a long one its end, where it grows."""
    said = text.rstrip("\n").split("\n")[-lines:]
    return "\n".join(line if len(line) <= _MOST_SAID else f"…{line[-_MOST_SAID:]}" for line in said)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"


def _elapsed(seconds: float) -> str:
    if seconds < ELAPSED_SHOWN_AFTER:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
