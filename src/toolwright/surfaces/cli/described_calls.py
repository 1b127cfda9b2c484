"""A call that somebody describes by name and input, as permission rules see it. Nothing is started."""

import os.path
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from toolwright.contracts.errors import RuleError
from toolwright.contracts.tool import McpOrigin, Tool, ToolSpec, Touch, Traits
from toolwright.tool_calls.permissions.families import SHELLS, canonical
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath


class DescribedCalls:
    """Makes subjects of judgement from descriptions, with the promises of the real tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        aliases = {alias: name for name, tool in self._tools.items() for alias in tool.spec.aliases}
        self.names: Mapping[str, str] = aliases | {name: name for name in self._tools}
        """Every name a rule may use → its canonical name."""

    def subject(self, name: str, input: Mapping[str, Any], policy: Policy) -> Subject:
        """Return what the rules judge. Raises RuleError for an input that the tool could not take."""
        known = canonical(name, self.names)
        tool = self._tools.get(known)
        try:
            traits = _promises(tool, known, input)
            touches = traits.touches or ()
            paths = tuple(_followed(touch, policy) for touch in touches if touch.kind == "path")
        except KeyError as missing:
            raise RuleError(f"the input of {known} lacks {missing}") from None
        except (TypeError, AttributeError, ValueError) as problem:
            raise RuleError(f"the input of {known} is none it takes: {problem}") from None
        return Subject(
            spec=tool.spec if tool else _unknown_spec(known),
            offered_name=name,
            input=input,
            raw_input=input,
            traits=traits,
            paths=paths,
            hosts=tuple(touch.name for touch in touches if touch.kind == "host"),
        )

    def written_input(self, name: str, text: str) -> Mapping[str, Any]:
        """Return the input that a person means by one text: JSON, or the main field of the tool."""
        known = canonical(name, self.names)
        if known not in SHELLS and text.lstrip().startswith("{"):
            return _object(text)
        tool = self._tools.get(known)
        return {_main_field(tool.spec) if tool else "text": text}


def _promises(tool: Tool | None, name: str, input: Mapping[str, Any]) -> Traits:
    if name in SHELLS:
        # All else that a shell promises is worked out from the command, which the rules do anyway.
        return Traits(command=_text(input["command"]))
    if tool is None:
        return Traits(subject=next((value for value in input.values() if isinstance(value, str)), None))
    return tool.traits(input)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("'command' must be a text")
    return value


def _followed(touch: Touch, policy: Policy) -> TouchedPath:
    path = os.path.normpath(os.path.join(policy.cwd, os.path.expanduser(touch.name)))
    return TouchedPath(path, touch.access, tuple(place for place in policy.resolve(path) if place != path))


def _main_field(spec: ToolSpec) -> str:
    properties: Mapping[str, Any] = spec.input_schema.get("properties", {})
    required = spec.input_schema.get("required", ())
    texts = [name for name in (*required, *properties) if properties[name].get("type") == "string"]
    return texts[0] if texts else "text"


def _object(text: str) -> Mapping[str, Any]:
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise RuleError(f"the input is not valid JSON: {problem}") from None
    return dict(data)


@lru_cache(maxsize=1024)
def _unknown_spec(name: str) -> ToolSpec:
    parts = name.split("__", 2)
    origin = McpOrigin(parts[1], parts[2]) if len(parts) == 3 and parts[0] == "mcp" else None
    return ToolSpec(name=name, description="", input_schema={}, mcp=origin)
