"""What counts of the settings of a project that nobody trusts: only what makes the engine more careful. Pure.

Whoever wrote the project wrote its files. They may not run hooks, open the sandbox, allow anything, raise a
limit or bring a disabled tool back.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from toolwright.settings.sections import Settings

_LIMITS = ("quotas", "limits")


def careful(written: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of ``written`` that counts over the weaker layers ``below``."""
    kept: dict[str, Any] = {}
    rules = {
        name: written["permissions"][name] for name in ("ask", "deny") if name in _of(written, "permissions")
    }
    if rules:
        kept["permissions"] = rules
    if "disabled" in _of(written, "tools"):
        disabled = (*_of(below, "tools").get("disabled", ()), *written["tools"]["disabled"])
        kept["tools"] = {"disabled": list(dict.fromkeys(disabled))}
    for section in _LIMITS:
        default = getattr(Settings(), section).model_dump()
        lower = _only_lower(_of(written, section), default | _of(below, section))
        if lower:
            kept[section] = lower
    return kept


def leaves(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted key of every value."""
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _of(data: Mapping[str, Any], section: str) -> dict[str, Any]:
    found = data.get(section)
    return dict(found) if isinstance(found, Mapping) else {}


def _only_lower(limits: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    lower: dict[str, Any] = {}
    for key, value in limits.items():
        now = below.get(key)
        if isinstance(value, Mapping):
            inner = _only_lower(value, now or {})
            if inner:
                lower[key] = inner
        elif value is not None and (now is None or value < now):
            lower[key] = value
    return lower
