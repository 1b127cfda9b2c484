"""Where the value of a setting comes from. Pure."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from toolwright.contracts.errors import SettingsError
from toolwright.settings.layers import Loaded
from toolwright.settings.sections import Settings

UNITED = frozenset({
    "permissions.allow", "permissions.ask", "permissions.deny", "permissions.additional_directories",
    "trusted_projects", "hooks",
})  # fmt: skip
"""Settings of which every layer counts; of all others the strongest one does."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one source says about a setting."""

    source: str
    """A layer, ``environment`` or ``default``."""
    where: str
    """A file, a variable, or ``command line``."""
    value: Any
    counts: bool = True
    """Off where a stronger source says something else."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A setting in force and all that was said about it, the strongest first."""

    key: str
    value: Any
    said: tuple[Said, ...]

    @property
    def sources(self) -> tuple[Said, ...]:
        """Those that count; a default only where nobody said anything."""
        return tuple(one for one in self.said if one.counts)

    @property
    def overridden(self) -> tuple[Said, ...]:
        """What others said in vain."""
        return tuple(one for one in self.said if not one.counts)


def every_origin(loaded: Loaded) -> tuple[Origin, ...]:
    """Return every setting in force, in the order of the sections."""
    return tuple(_origin(loaded, key) for key in setting_keys(Settings()))


def origin_of(loaded: Loaded, key: str) -> Origin:
    """Return where one setting comes from, by its dotted key. Raises SettingsError for an unknown key."""
    keys = tuple(setting_keys(Settings()))
    if key not in keys:
        near = difflib.get_close_matches(key, keys, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "See: toolwright config show."
        raise SettingsError(f"there is no setting {key!r}. {hint}")
    return _origin(loaded, key)


def setting_keys(section: BaseModel, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of all settings."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from setting_keys(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _origin(loaded: Loaded, key: str) -> Origin:
    said = list(_said(loaded, key))
    value = _in_force(loaded, key)
    if key in UNITED:
        only_managed = loaded.settings.permissions.managed_rules_only and key == "permissions.allow"
        said = [
            Said(one.source, one.where, one.value, not only_managed or one.source == "managed")
            for one in said
        ]
        value = _united([one.value for one in said if one.counts], value)
    elif not isinstance(value, Mapping):  # entries of a mapping are put together, those of a list are not
        said = [
            Said(one.source, one.where, one.value, number == 0 or _stands_beside(one))
            for number, one in enumerate(said)
        ]
    if not said:
        said = [Said("default", "default", value)]
    return Origin(key, value, tuple(said))


def _said(loaded: Loaded, key: str) -> Iterator[Said]:
    for layer in loaded.layers:
        value: Any = layer.data
        for part in key.split("."):
            value = value.get(part, _NOTHING) if isinstance(value, Mapping) else _NOTHING
        if value is not _NOTHING:
            yield Said(layer.source, layer.origin, value)
    for variable in loaded.environment:
        if variable.key == key:
            yield Said("environment", variable.name, variable.value)


def _stands_beside(one: Said) -> bool:
    """A list in a variable counts whatever else is said."""
    return one.source == "environment" and isinstance(one.value, tuple)


def _in_force(loaded: Loaded, key: str) -> Any:
    *sections, last = key.split(".")
    section: Any = loaded.settings
    for name in sections:
        section = getattr(section, name)
    return section.model_dump(include={last})[last]  # plain data, also where a value is a section of its own


def _united(values: list[Any], default: Any) -> Any:
    if isinstance(default, Mapping):
        merged: dict[str, Any] = {}
        for value in values:
            for event, entries in value.items():
                merged[event] = [
                    *merged.get(event, ()),
                    *(entries if isinstance(entries, list) else [entries]),
                ]
        return merged
    return tuple(dict.fromkeys(entry for value in values for entry in value))


_NOTHING = object()
