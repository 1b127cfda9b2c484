"""Which tools of a server are taken: those its entry names, under names that can be used (pure)."""

import re
from fnmatch import fnmatchcase

from toolwright.contracts.mcp import ServerDefinition

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def is_wanted(server: ServerDefinition, name: str) -> bool:
    """Whether the entry of a server takes a tool, by the server's own name of it."""
    if server.enabled_tools and not any(fnmatchcase(name, pattern) for pattern in server.enabled_tools):
        return False
    return not any(fnmatchcase(name, pattern) for pattern in server.disabled_tools)


def name_fits(name: str) -> bool:
    """Whether a name is one that tools may have."""
    return _TOOL_NAME.fullmatch(name) is not None
