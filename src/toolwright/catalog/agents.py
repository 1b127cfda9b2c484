"""Reads agents as people write them: markdown with front matter, TOML and JSON, all with the same keys."""

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolwright.catalog.agent_keys import (
    KEYS,
    LIMIT_KEYS,
    OTHER_NAMES,
    WITHOUT_MEANING,
    Key,
    ToolNames,
    canonical,
)
from toolwright.catalog.values import NAME, Misfit
from toolwright.catalog.written import Place, Problem, Written, WrittenWrongly, read_written
from toolwright.contracts.definitions import AgentDefinition, RunLimits

_LONGEST_KEY = 60
"""Of a key in a message."""
ENDINGS = (".md", ".toml", ".json")


@dataclass(frozen=True, slots=True)
class AgentFile:
    """An agent, and what its author should know about how it was read."""

    definition: AgentDefinition
    notices: tuple[str, ...] = ()


def read_agent(path: str, content: bytes) -> AgentFile:
    """Read one definition. ``path`` names it in messages and gives the default of its name.

    Raises WrittenWrongly with everything that is wrong, each with file, line and remedy.
    """
    try:
        written = read_written(path, content)
        reading = _Reading(written)
        found = reading.values(written.data, KEYS, ())
        definition = _definition(path, written, found, reading)
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=path) from None
    if not definition.description:
        reading.notices.append("there is no description, so nobody can tell when to use it.")
    return AgentFile(definition, tuple(f"{path}: {notice}" for notice in reading.notices))


class _Reading:
    """Collects what is wrong, so that an author is told of everything at once."""

    def __init__(self, written: Written) -> None:
        self._written = written
        self.problems: list[Problem] = []
        self.notices: list[str] = []

    def values(self, data: Mapping[str, Any], keys: Sequence[Key], at: Place) -> dict[str, Any]:
        """Read the keys of one section."""
        known = {key.name: key for key in keys}
        found: dict[str, Any] = {}
        for written, value in data.items():
            name = self._meant(written, known, (*at, written))
            if name in found:
                self.wrong((*at, written), f"says the same as another key; keep one {name!r}.")
            elif name:
                self._read(known[name], value, (*at, written), found)
        return found

    def wrong(self, place: Place, text: str) -> None:
        """Note a problem with the value at a place."""
        where = ".".join(str(part)[:_LONGEST_KEY] for part in place)
        self.problems.append(Problem(f"{where!r} {text}", self._written.line_of(place)))

    def _meant(self, written: str, known: Mapping[str, Key], place: Place) -> str:
        name = canonical(written)
        name = name if name in known else OTHER_NAMES.get(name, name)
        if name in known:
            return name
        if name in WITHOUT_MEANING:
            self.notices.append(f"the key {written!r} has no meaning here and is left out.")
            return ""
        near = difflib.get_close_matches(name, [*known, *OTHER_NAMES], n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(known))}."
        self.wrong(place, f"is no key of an agent. {hint}")
        return ""

    def _read(self, key: Key, value: Any, place: Place, found: dict[str, Any]) -> None:
        if value is None:
            self.wrong(place, "has no value; give it one or take the key out.")
            return
        try:
            found[key.name] = key.read(value)
        except Misfit as misfit:
            self.wrong(place, str(misfit))


def _definition(path: str, written: Written, found: dict[str, Any], reading: _Reading) -> AgentDefinition:
    fields = dict(found)
    if "name" not in fields:
        fields["name"] = _name_of(path, reading)
    fields["limits"] = _limits(fields, reading)
    fields["system"] = _system(fields, written, reading)
    listed = fields.get("tools")
    if isinstance(listed, ToolNames):
        fields["tools"] = listed.tools
        if listed.agents is not None and fields.setdefault("agents", listed.agents) != listed.agents:
            reading.wrong(("agents",), "and Agent(...) under 'tools' name different agents; keep one.")
    if reading.problems:
        raise WrittenWrongly(*sorted(reading.problems, key=lambda problem: problem.line or 0))
    return AgentDefinition(**fields, origin=path)


def _name_of(path: str, reading: _Reading) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    if not NAME.fullmatch(stem) and not reading.problems:
        reading.wrong(("name",), f"is missing, and the file's own name {stem!r} is no name for an agent.")
    return stem


def _limits(fields: dict[str, Any], reading: _Reading) -> RunLimits:
    limits = reading.values(fields.get("limits", {}), LIMIT_KEYS, ("limits",))
    turns = fields.pop("max_turns", None)
    if turns is not None and limits.setdefault("rounds", turns) != turns:
        reading.wrong(("max_turns",), "and 'limits.rounds' differ; keep one.")
    return RunLimits(**limits)


def _system(fields: dict[str, Any], written: Written, reading: _Reading) -> str:
    if written.body and fields.get("system"):
        reading.wrong(("system",), "stands beside a text below the front matter; keep one.")
    return written.body or fields.get("system", "")
