"""Reading an answer that was forced into a form: a text that holds a text, or calls (pure).

The text is given while it comes; calls are given once they are whole. What is not of the form is taken for
the text that it is, since not every server forces what it was asked to.
"""

import json
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from toolwright.backends.model_providers.constrained import CALLS, TEXT
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import Answer, BlockDone, CallDelta, ModelEvent, TextDelta

_TEXT_BEGINS = re.compile(rf'\s*\{{\s*"{TEXT}"\s*:\s*"')
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_MAY_BE_FORM = re.compile(r"\s*(?:\{|`|\Z)")
_WHOLE_PART = re.compile(
    r'(?:[^"\\]|\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?![dD][89abAB])[0-9a-fA-F]{4})*'
)
"""As much of the inside of a JSON string as can be read without what follows."""
_SPARE = 12
"""Characters that one escaped character takes at most."""


class _NotOfTheForm(Exception):
    """What was written is neither a text nor calls."""


class ConstrainedReader:
    """Takes the events of an answer, and gives those of the answer that its text holds."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._said: list[str] = []
        self._held = ""
        self._state = "beginning"

    def take(self, event: ModelEvent) -> Iterator[ModelEvent]:
        """Give what ``event`` adds."""
        if isinstance(event, TextDelta):
            self._parts.append(event.text)
            text = self._shown(event.text)
            if text:
                self._said.append(text)
                yield TextDelta(text)
        elif isinstance(event, Answer):
            yield from self._answer(event)
        elif not (isinstance(event, BlockDone) and isinstance(event.block, TextBlock)):
            yield event

    def _shown(self, piece: str) -> str:
        """The part of the text inside that can be shown already."""
        if self._state == "held":
            return ""
        if self._state == "plain":
            return piece
        self._held += piece
        if self._state == "beginning":
            self._begin()
        if self._state == "plain":
            text, self._held = self._held, ""
            return text
        return self._inside() if self._state == "inside" else ""

    def _begin(self) -> None:
        found = _TEXT_BEGINS.match(self._held)
        if found is not None:
            self._held = self._held[found.end() :]
            self._state = "inside"
        elif not _MAY_BE_FORM.match(self._held):
            self._state = "plain"
        elif len(self._held) > len(TEXT) + 64:
            self._state = "held"

    def _inside(self) -> str:
        found = _WHOLE_PART.match(self._held)
        end = found.end() if found is not None else 0
        if self._held[end : end + 1] == '"' or len(self._held) - end > _SPARE:
            self._state = "held"  # the text is over, or it is no JSON: the end decides
        whole, self._held = self._held[:end], self._held[end:]
        try:
            text = json.loads(f'"{whole}"', strict=False)
        except json.JSONDecodeError:
            self._state = "held"
            return ""
        return str(text)

    def _answer(self, answer: Answer) -> Iterator[ModelEvent]:
        others = tuple(block for block in answer.blocks if not isinstance(block, TextBlock))
        try:
            meant = list(_meant("".join(self._parts)))
        except _NotOfTheForm:
            said = "".join(self._said) or "".join(self._parts).strip()
            meant = [TextBlock(said)] if said else []
        for block in meant:
            if isinstance(block, CallBlock):
                yield CallDelta(block.call_id, block.name, block.input)
            elif not self._said and isinstance(block, TextBlock):
                yield TextDelta(block.text)
            yield BlockDone(block)
        blocks = (*others, *meant)
        calls = any(isinstance(block, CallBlock) for block in blocks)
        stop = "calls" if calls and answer.stop == "end_turn" else answer.stop
        yield replace(answer, blocks=blocks, stop=stop)


async def unfolded(events: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
    """The events of the answer that lies in the text of another one."""
    reader = ConstrainedReader()
    async for event in events:
        for meant in reader.take(event):
            yield meant


def _meant(raw: str) -> Iterator[SaidBlock]:
    """The blocks that a text holds. Raises _NotOfTheForm."""
    fenced = _FENCE.fullmatch(raw)
    try:
        value = json.loads(fenced[1] if fenced else raw, object_pairs_hook=_without_twins, strict=False)
    except (json.JSONDecodeError, RecursionError):
        raise _NotOfTheForm from None
    if not isinstance(value, dict) or not value or not set(value) <= {TEXT, CALLS}:
        raise _NotOfTheForm
    text = value.get(TEXT, "")
    if not isinstance(text, str):
        raise _NotOfTheForm
    calls = value.get(CALLS, [])
    if not isinstance(calls, list):
        raise _NotOfTheForm
    return iter([*([TextBlock(text)] if text else []), *map(_call, calls)])


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotOfTheForm
    return found


def _call(value: Any) -> CallBlock:
    """A call, its input written anew: the same value, whatever its numbers are."""
    if not isinstance(value, dict) or not set(value) <= {"name", "input"}:
        raise _NotOfTheForm
    name, input = value.get("name"), value.get("input", {})
    if not isinstance(name, str) or not name or not isinstance(input, dict):
        raise _NotOfTheForm
    written = json.dumps(input, ensure_ascii=False, separators=(",", ":"))
    return CallBlock(f"call_{secrets.token_hex(12)}", name, written)
