"""A shortened form of large JSON that is still JSON."""

import json
from typing import Any, NoReturn

from toolwright.tool_calls.result_text import Preview, cleaned

_MOST_PARSED = 16 * 1024 * 1024
_LEAST_ROOM = 40
"""Below this nothing of an element is worth showing; a note on what is missing fits into it."""


def json_preview(text: str, room: int) -> Preview | None:
    """Return the first elements of a JSON array or object that fit, or None for any other text."""
    value = _container(text)
    if value is None:
        return None
    kind = "elements" if isinstance(value, list) else "members"
    try:
        shown = _first_that_fit(value, room)
    except RecursionError:
        return None
    count = len(shown)
    return Preview(
        cleaned(_dumped(shown)),
        before=f"--- first {count} of {len(value)} {kind}, still valid JSON ---",
        after=f"--- {len(value) - count} more {kind} ---",
    )


def _container(text: str) -> list[Any] | dict[str, Any] | None:
    if len(text) > _MOST_PARSED or text.lstrip()[:1] not in {"[", "{"}:
        return None
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _first_that_fit(value: list[Any] | dict[str, Any], room: int) -> list[Any] | dict[str, Any]:
    """Whole elements from the start; the first one that does not fit is shortened if room is left."""
    room -= 2
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            element, room = _element(item, room - 1)
            if element is _NOTHING:
                break
            items.append(element)
        return items
    members: dict[str, Any] = {}
    for key, item in value.items():
        element, room = _element(item, room - len(_dumped(key)) - 2)
        if element is _NOTHING:
            break
        members[key] = element
    return members


_NOTHING = object()


def _element(item: Any, room: int) -> tuple[Any, int]:
    """Return the element to show and the room left; a shortened one uses up all room."""
    used = len(_dumped(item))
    if used <= room:
        return item, room - used
    if room < _LEAST_ROOM:
        return _NOTHING, 0
    return _shortened(item, room - _LEAST_ROOM), 0


def _shortened(item: Any, room: int) -> Any:
    """Return as much of an element as fits, with a note on the rest; a number cannot be shortened."""
    if isinstance(item, str):
        kept = _start_that_fits(item, room)
        return f"{kept}[… {len(item) - len(kept)} more characters]"
    if isinstance(item, list):
        items = list(_first_that_fit(item, room))
        left_out = len(item) - len(items)
        return [*items, f"[… {left_out} more elements]"] if left_out else items
    if isinstance(item, dict):
        members = dict(_first_that_fit(item, room))
        left_out = len(item) - len(members)
        return {**members, "…": f"{left_out} more members"} if left_out else members
    return _NOTHING


def _start_that_fits(text: str, room: int) -> str:
    """Escapes make a text longer than it looks."""
    kept = text[: max(room, 0)]
    while len(_dumped(kept)) > room and kept:
        kept = kept[: len(kept) * 3 // 4]
    return kept
