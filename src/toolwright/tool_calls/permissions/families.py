"""Which tools one rule speaks for: ``Read`` for everything that reads files, ``Edit`` for all that writes."""

import re
from collections.abc import Mapping
from functools import lru_cache

READ = "read"
EDIT = "edit"
SHELL = "bash"
FETCH = "web_fetch"

READERS = frozenset({"read", "glob", "grep", "list_dir", "lsp", "notebook_read", "find", "file_search"})
WRITERS = frozenset({"edit", "write", "multi_edit", "notebook_edit", "apply_patch"})
SHELLS = frozenset({"bash", "monitor"})
WITHOUT_CONTENT = frozenset({"web_search", "enter_worktree", "exit_worktree"})
_GRAMMAR = READERS | WRITERS | SHELLS | WITHOUT_CONTENT | {FETCH, "http_request", "agent", "skill"}


def canonical(name: str, names: Mapping[str, str]) -> str:
    """Return the canonical name a person means, or the name as it is when no tool has it.

    The names of the grammar itself are known even while their tools are not.
    """
    known = names.get(name)
    if known is not None:
        return known
    plain = snake(name)
    return names.get(plain, plain if plain in _GRAMMAR else name)


def family(tool: str) -> str:
    """Return ``read`` or ``edit`` for tools whose content rules are paths, else the tool itself."""
    if tool in READERS:
        return READ
    return EDIT if tool in WRITERS else tool


@lru_cache(maxsize=1024)
def snake(name: str) -> str:
    """Return ``MultiEdit`` as ``multi_edit``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@lru_cache(maxsize=1024)
def pascal(name: str) -> str:
    """Return ``multi_edit`` as ``MultiEdit``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_.\-\s]+", name))
