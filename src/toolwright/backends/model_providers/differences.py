"""Where two plain values first differ, in words (pure)."""

from typing import Any

import orjson

_LONGEST_SHOWN = 120


def first_difference(recorded: Any, asked: Any, place: str = "") -> str:
    """Say where two requests first differ and how; empty when they do not."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in [*recorded, *(key for key in asked if key not in recorded)]:
            inner = f"{place}.{key}" if place else key
            found = first_difference(recorded.get(key, _NOTHING), asked.get(key, _NOTHING), inner)
            if found:
                return found
        return ""
    if isinstance(recorded, list) and isinstance(asked, list):
        for number in range(max(len(recorded), len(asked))):
            both = (_at(recorded, number), _at(asked, number))
            found = first_difference(*both, f"{place}[{number}]")
            if found:
                return found
        return ""
    if recorded == asked and type(recorded) is type(asked):
        return ""
    return f"{place}: recorded {_shown(recorded, asked)}, asked {_shown(asked, recorded)}"


class _Nothing:
    """Stands for what is not there."""


_NOTHING = _Nothing()


def _at(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else _NOTHING


def _shown(value: Any, other: Any) -> str:
    if isinstance(value, _Nothing):
        return "nothing"
    if not isinstance(value, str) or not isinstance(other, str):
        text = orjson.dumps(value).decode()
        return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    same = next((at for at, pair in enumerate(zip(value, other, strict=False)) if pair[0] != pair[1]), None)
    start = max(0, (min(len(value), len(other)) if same is None else same) - _LONGEST_SHOWN // 3)
    part = value[start : start + _LONGEST_SHOWN]
    before, after = "…" if start else "", "…" if start + _LONGEST_SHOWN < len(value) else ""
    return before + orjson.dumps(part).decode() + after
