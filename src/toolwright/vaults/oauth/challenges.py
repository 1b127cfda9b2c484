"""What a server says when it lets nobody in: the ``WWW-Authenticate`` of a 401 or 403 (pure)."""

import re
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 4_000
_PART = re.compile(
    r'[\s,]*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^\s,"=]+)|=*(?=[\s,]|$))'
)
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server wants before it lets somebody in."""

    error: str = ""
    scopes: tuple[str, ...] = ()
    resource_metadata: str = ""
    """Where it says who gives out what it wants."""

    @property
    def wants_more(self) -> bool:
        """Whether a token is accepted, and does not permit what was tried."""
        return self.error == "insufficient_scope"


def read_challenge(header: str) -> Challenge:
    """Return what a header says of bearer tokens; an empty challenge where it says nothing of them."""
    found: dict[str, str] = {}
    scheme = ""
    text, place = header[:_LONGEST], 0
    while match := _PART.match(text, place):
        place = match.end()
        name, value = match.group(1).lower(), match.group(2)
        if value is None:
            scheme = name
        elif scheme == "bearer":
            found.setdefault(name, _unquoted(value))
    return Challenge(
        error=found.get("error", ""),
        scopes=tuple(found.get("scope", "").split()),
        resource_metadata=found.get("resource_metadata", ""),
    )


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value
