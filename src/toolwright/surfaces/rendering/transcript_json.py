"""What a person sees of a session as JSON, for programs (pure)."""

from typing import Any

from toolwright.contracts.content import text_of
from toolwright.contracts.tool import Done, Failed
from toolwright.surfaces.rendering.generic import generic_view
from toolwright.surfaces.rendering.machine import call_to_json
from toolwright.surfaces.rendering.session_notes import Note
from toolwright.surfaces.rendering.transcript import CallOver, Item, Spoken, Words


def item_to_json(item: Item, *, seq: int, at: float) -> dict[str, Any]:
    """Return one part of a transcript; ``seq`` is the entry of the log that made it whole."""
    return {"seq": seq, "at": at, **_members(item, seq)}


def _members(item: Item, seq: int) -> dict[str, Any]:
    match item:
        case Spoken(text, source, more):
            return {"kind": "spoken", "source": source, "text": text, "attached": more}
        case Words(text):
            return {"kind": "words", "text": text}
        case Note(text, tone):
            return {"kind": "note", "text": text, "tone": tone}
        case CallOver(view, state):
            outcome = state.outcome
            return {
                "kind": "call",
                "call_id": state.call_id,
                "tool": state.tool,
                "input": state.input,
                "ok": isinstance(outcome, Done),
                "code": outcome.code if isinstance(outcome, Failed) else None,
                "content": text_of(outcome.content) if isinstance(outcome, Done) else _said(outcome),
                "view": call_to_json(view or generic_view(state), state, seq=seq),
            }


def _said(outcome: object) -> str:
    return outcome.message if isinstance(outcome, Failed) else ""
