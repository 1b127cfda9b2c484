"""A session as Markdown, to be read, sent and kept (pure)."""

import re
import time
from collections.abc import Sequence

from toolwright.contracts.events import Record
from toolwright.sessions.state import folded
from toolwright.surfaces.rendering.calls import draw_call
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.surfaces.rendering.safety import EVERYDAY
from toolwright.surfaces.rendering.session_notes import Note
from toolwright.surfaces.rendering.transcript import CallOver, Item, Spoken, Transcript, Words

_TICKS = re.compile(r"`+")
_SPEAKERS = {"user": "You", "notification": "Notice", "agent": "Agent", "system": "System"}


def transcript_as_markdown(records: Sequence[Record]) -> str:
    """Return a whole session. May raise EngineFault for a log without a beginning."""
    state, transcript = folded(records), Transcript()
    created, total = state.created, state.conversation.total
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.created_at))
    facts = {
        "Session": state.session_id,
        "Child of": created.parent_id,
        "Agent": created.agent.name,
        "Model": state.conversation.model or created.agent.model,
        "Folder": created.project,
        "Began": began,
        "Used": f"rounds {total.rounds}, calls {total.calls}, tokens {total.tokens:,}",
        "Cost": f"${total.cost:.4f}" if total.cost else None,
    }
    head = [f"# {EVERYDAY.line(state.title) or 'Session'}"]
    head.append("\n".join(f"- {name}: {EVERYDAY.line(value)}" for name, value in facts.items() if value))
    parts = [_part(item) for record in records for item in transcript.apply(record)]
    return "\n\n".join([*head, *parts]) + "\n\n"


def _part(item: Item) -> str:
    match item:
        case Words(text):
            return EVERYDAY.text(text)
        case Note(text):
            return f"*{EVERYDAY.line(text)}*"
        case Spoken(text, source, more):
            attached = f" ({more} attached)" if more else ""
            return f"## {_SPEAKERS.get(source, source)}{attached}\n\n{_fenced(EVERYDAY.text(text))}"
        case CallOver(view, state):
            return _fenced(render_plain(draw_call(view, state, "full")))


def _fenced(text: str) -> str:
    """A block in which nothing is markup, whatever it holds."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
