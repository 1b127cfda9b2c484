"""Which platform functions there are: ours, found by a table, and those that users add with a decorator.

::

    @platform_tool("find_recent_commits", read_only=True)
    def find_recent_commits(limit: int = 10) -> list[dict]:
        ...
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar, Unpack

from toolwright.contracts.definitions import ToolEntry
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Tool
from toolwright.tools.define import ToolClass, build_tool, checked_schema
from toolwright.tools.manifest import MANIFEST
from toolwright.tools.members import Members, refuse_unknown
from toolwright.tools.naming import check_name
from toolwright.tools.services import Services
from toolwright.tools.signature import signature_of

_HERE: Final = "toolwright.tools.platform."
_OWN_FORM: Final = (
    "read_file", "write_file", "bash", "grep", "web_search", "web_fetch", "memory_search",
    "memory_episode_write", "ask_user", "delegate_to_agent",
)  # fmt: skip
"""Those that take and return something else than the built-in tool of the same work."""
_NOT_OFFERED: Final = frozenset({"agent_task", "mcp", "planning"})
OURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        entry.name: entry.module
        for entry in MANIFEST
        if entry.category not in _NOT_OFFERED and entry.name != "tool_search"
    }
    | {name: f"{_HERE}{name}" for name in _OWN_FORM}
)
"""Name of a function → module that holds ``build``."""
_NO_FUNCTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PlatformFunction:
    """A function that a user has added."""

    name: str
    function: Callable[..., Any]
    members: Mapping[str, Any]


class PlatformFunctions:
    """Functions that can be referred to. They are added while modules are imported."""

    def __init__(self) -> None:
        self._added: dict[str, PlatformFunction] = {}

    def add(self, function: PlatformFunction) -> None:
        """Add a function. Raises DefinitionError for a name that another one has."""
        check_name(function.name)
        holder = self._added.get(function.name)
        if holder is not None and holder.function is not function.function:
            raise DefinitionError(f"there is a platform function {function.name!r} already")
        self._added[function.name] = function

    def names(self) -> Iterable[str]:
        """Every name that an entry may refer to."""
        return sorted({*OURS, *self._added})

    def problem_of(self, entry: ToolEntry) -> str:
        """Say why an entry does not fit the function it refers to; empty when it does."""
        known = self._parameters(entry.ref)
        if known is None:
            return ""
        offered = {*entry.input_schema.get("properties", {}), *entry.fixed}
        unknown = sorted(offered - set(known))
        if unknown:
            return f"{entry.ref} takes no {unknown[0]!r}; it takes {', '.join(sorted(known)) or 'nothing'}"
        missing = sorted(name for name, needed in known.items() if needed and name not in offered)
        return f"{entry.ref} needs {missing[0]!r}, which the schema does not have" if missing else ""

    def built(self, entry: ToolEntry, services: Services) -> Tool | None:
        """Return the tool that does the work of an entry; None when there is no such function.

        May raise ImportError for what is not installed, and DefinitionError.
        """
        added = self._added.get(entry.ref)
        if added is not None:
            members: dict[str, Any] = {"description": entry.description, **added.members, "name": entry.name}
            members |= {"call": added.function, "input_schema": checked_schema(entry.input_schema)}
            return build_tool(**members)
        module = OURS.get(entry.ref)
        if module is None:
            return None
        tool: Tool = importlib.import_module(module).build(services, {})
        return tool

    def _parameters(self, ref: str) -> Mapping[str, bool] | None:
        """By name: whether a parameter must be given. None where anything is taken."""
        added = self._added.get(ref)
        if added is None:
            return _parameters_of_ours(OURS[ref]) if ref in OURS else None
        try:
            signature = signature_of(added.function)
        except DefinitionError:
            return None  # it takes the whole input, or is described by nothing but the schema
        needed = set(signature.schema.get("required", ()))
        return {name: name in needed for name in signature.schema["properties"]}


def _parameters_of_ours(module: str) -> Mapping[str, bool] | None:
    """What the tool class of a module takes; None where there is none."""
    for found in vars(importlib.import_module(module)).values():
        is_own = isinstance(found, type) and issubclass(found, ToolClass) and found.__module__ == module
        if is_own and hasattr(found, "spec"):
            schema = found.spec.input_schema
            needed = set(schema.get("required", ()))
            return {name: name in needed for name in schema["properties"]}
    return None


FUNCTIONS: Final = PlatformFunctions()
"""Where the decorator adds to."""


def platform_tool(name: str, /, **members: Unpack[Members]) -> Callable[[Function], Function]:
    """Let entries of a catalog refer to a function by this name. The function stays what it was.

    ``members`` are promises as ``tool`` takes them (``read_only``, ``timeout`` ...); texts and schema come
    from the entry. Whatever the function returns is the result; an object with ``error`` and ``message`` is a
    failure.
    """
    refuse_unknown(members)
    given: Mapping[str, Any] = {**_NO_FUNCTIONS, **members}

    def add(function: Function) -> Function:
        FUNCTIONS.add(PlatformFunction(name, function, given))
        return function

    return add
