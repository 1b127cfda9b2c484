"""Names of tools: canonical, as offered to a model, and as providers accept them on the wire."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from toolwright.contracts.errors import DefinitionError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_MCP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GAPS = re.compile(r"[_.\-\s]+")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_OFFERED = 64
_LONGEST_SERVER = 40
_DIGEST = 8


def check_name(name: str, *, mcp: bool = False) -> str:
    """Return ``name`` when it is a legal canonical name. Raises DefinitionError otherwise."""
    if not (_MCP_NAME if mcp else _NAME).fullmatch(name):
        rule = "a letter, then at most 63 letters, digits, '_', '.' or '-'"
        raise DefinitionError(f"{name!r} is no name for a tool: {rule}")
    return name


def wire_name(name: str) -> str:
    """The name as providers accept it: no dots."""
    return name.replace(".", "_")


def mcp_names(server: str, tools: Iterable[str]) -> Mapping[str, str]:
    """Return the canonical names of the tools of an MCP server, by the server's own names.

    Names that would be too long for providers, and such as two tools would share once what names may not
    hold is left out, end in a digest: the same one always, whatever else is there.
    """
    parts = {tool: _part(tool) for tool in tools}
    shared = {part for part, count in Counter(parts.values()).items() if count > 1}
    head = _server_part(server)
    return {
        tool: f"mcp.{head}.{_tool_part(server, tool, head, must_differ=part in shared)}"
        for tool, part in parts.items()
    }


def mcp_name(server: str, tool: str) -> str:
    """Canonical name of a tool of an MCP server, where no other tool of it is in the way."""
    return mcp_names(server, [tool])[tool]


def mcp_offered_name(name: str) -> str:
    """How a tool of an MCP server is offered where names may hold no dots, by its canonical name."""
    return name.replace(".", "__")


def pascal_name(name: str) -> str:
    """``task_create`` as ``TaskCreate``."""
    return "".join(word[:1].upper() + word[1:] for word in _GAPS.split(name) if word)


@lru_cache(4096)
def words_of(name: str) -> str:
    """A name for people: ``task_create``, ``taskCreate`` and ``task.create`` are all "Task create"."""
    words = _GAPS.sub(" ", _HUMP.sub(" ", name)).strip()
    parts = [word if word.isupper() and len(word) > 1 else word.lower() for word in words.split(" ")]
    text = " ".join(parts)
    return text[:1].upper() + text[1:]


def _server_part(server: str) -> str:
    part = _part(server)
    if len(part) <= _LONGEST_SERVER:
        return part
    return f"{part[: _LONGEST_SERVER - _DIGEST - 1]}_{_digest(server)}"


def _tool_part(server: str, tool: str, head: str, *, must_differ: bool) -> str:
    part, room = _part(tool), _LONGEST_OFFERED - len(f"mcp__{head}__")
    if len(part) <= room and not must_differ:
        return part
    whole = f"{server}\0{tool}"
    return f"{part[: room - _DIGEST - 1]}_{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]


def _part(text: str) -> str:
    """One part of an MCP name: what a name may not hold, and the dots that part it, become ``_``."""
    return _NOT_IN_NAMES.sub("_", text) or "_"
