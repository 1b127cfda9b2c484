"""Finding tools by names and words (pure).

``select:a,b`` names tools; other queries are words; those with a ``+`` must stand in the name of a tool.
"""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwright.contracts.tool import OfferedTool
from toolwright.tools.ranking import Field, Hit, Index, words

FIELDS: Final[Mapping[str, Field]] = {
    "name": Field(10.0, inside=5.0),
    "server": Field(6.0),
    "hint": Field(4.0),
    "title": Field(4.0),
    "arguments": Field(2.0),
    "description": Field(1.0),
    "argument texts": Field(0.5),
}
GOOD_SCORE: Final = 8.0
"""From here on a match is taken to be what was meant."""
_SELECT: Final = "select:"
_MCP_NAME: Final = re.compile(r"mcp__[A-Za-z0-9_-]+?__[A-Za-z0-9_-]+")
_NEAR: Final = 3
_COMPARED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Match:
    """A tool that a query found, by its canonical name."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that a query asked for and no tool has, with names that are near."""

    name: str
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a query."""

    matches: tuple[Match, ...]
    unknown: tuple[Unknown, ...] = ()
    by_name: bool = False
    """Tools were named, not searched for."""

    @property
    def is_good(self) -> bool:
        """Whether something was found that is likely meant."""
        if self.by_name:
            return not self.unknown
        return any(match.score >= GOOD_SCORE for match in self.matches)


class ToolIndex:
    """Tools that can be found, loaded ones too."""

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self.tools = {tool.tool.spec.name: tool for tool in tools}
        self._names = {name.casefold(): key for key, tool in self.tools.items() for name in names_of(tool)}
        self._index = Index(FIELDS, ((key, _texts(tool)) for key, tool in self.tools.items()))
        self._stems = {key: set(words(f"{key} {tool.name}")) for key, tool in self.tools.items()}

    def find(self, query: str, limit: int) -> Found:
        """Return what a query finds, the best first; named tools all, others up to ``limit``."""
        query = query.strip()
        if query.lower().startswith(_SELECT):
            return self._selected(query[len(_SELECT) :].split(","))
        if query.casefold() in self._names:
            return self._selected([query])
        pasted = [name for name in _MCP_NAME.findall(query) if name.casefold() in self._names]
        named = self._selected(pasted).matches if pasted else ()
        rest = _MCP_NAME.sub(" ", query) if pasted else query
        taken = {match.key for match in named}
        hits = [hit for hit in self._search(rest, limit) if hit.key not in taken]
        return Found((*named, *(Match(hit.key, hit.score) for hit in hits))[: max(limit, len(named))])

    def near(self, query: str) -> tuple[str, ...]:
        """Return offered names that look like a query in which nothing was found."""
        return self._near(query)

    def _search(self, query: str, limit: int) -> list[Hit]:
        terms = query.split()
        required = {stem for term in terms if term.startswith("+") for stem in words(term)}
        stems = words(query.replace("+", " "))
        if not required:
            return self._index.search(stems, limit)
        return self._index.search(stems, limit, accepts=lambda key: self._has(key, required))

    def _has(self, key: str, required: set[str]) -> bool:
        stems = self._stems[key]
        return all(stem in stems or any(stem in other for other in stems) for stem in required)

    def _selected(self, wanted: Sequence[str]) -> Found:
        matches: dict[str, Match] = {}
        unknown = []
        for name in filter(None, (one.strip() for one in wanted)):
            key = self._names.get(name.casefold())
            if key is None:
                unknown.append(Unknown(name, self._near(name)))
            else:
                matches.setdefault(key, Match(key, 0.0))
        return Found(tuple(matches.values()), tuple(unknown), by_name=True)

    def _near(self, name: str) -> tuple[str, ...]:
        letters = set(name.casefold())
        plausible = [known for known in self._names if 2 * len(letters & set(known)) >= len(letters)][
            :_COMPARED
        ]
        close = difflib.get_close_matches(name.casefold(), plausible, n=_NEAR * 2, cutoff=0.5)
        return tuple(dict.fromkeys(self.tools[self._names[one]].name for one in close))[:_NEAR]


def names_of(tool: OfferedTool) -> tuple[str, ...]:
    """Return every name a tool can be asked for by."""
    spec = tool.tool.spec
    original = (f"{spec.mcp.server}.{spec.mcp.tool}",) if spec.mcp is not None else ()
    return (tool.name, tool.wire_name, spec.name, *spec.aliases, *original)


def _texts(tool: OfferedTool) -> dict[str, str]:
    spec = tool.tool.spec
    properties: Mapping[str, Any] = spec.input_schema.get("properties", {})
    told = [str(one.get("description", "")) for one in properties.values() if isinstance(one, Mapping)]
    return {
        "name": spec.mcp.tool if spec.mcp is not None else f"{spec.name} {' '.join(spec.aliases)}",
        "server": spec.mcp.server if spec.mcp is not None else "",
        "hint": spec.search_hint,
        "title": spec.display_name,
        "arguments": " ".join(properties),
        "description": tool.description,
        "argument texts": " ".join(told),
    }
