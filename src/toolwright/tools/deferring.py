"""Which tools a model is only told the names of, and from when on (pure)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import OfferedTool, ToolSpec
from toolwright.tools.outcomes import json_text

SEARCH: Final = "tool_search"
"""The tool that loads the others; without it nothing is deferred."""
CALLER: Final = "call_tool"
"""The tool that calls others by their names, where the list of tools must never change."""
WAITING: Final = "wait_for_mcp_servers"
"""Of use only without a search, which waits for servers itself."""
OWN: Final = frozenset({SEARCH, CALLER})
"""Tools that are there for the others: offered when they are of use, whatever else is."""
MOST_ASIDE: Final = 10_000
"""More definitions than this no provider keeps aside."""
MOST_TOOLS: Final = 60
USUAL_SHARE: Final = 10
LONGEST_LISTING: Final = 16_000
_CHARS_OF_A_TOKEN: Final = 4
_FRAME: Final = 40
_COUNTED: Final = 64
"""Characters that a name of a server, or a line that counts what is not shown, takes besides its words."""
_FOR_FAILED: Final = 2_000
_MOST_SERVERS: Final = 100
_WRITTEN: Final = re.compile(r"(?:(auto|count):)?(\d{1,6})|auto|always|never|true|false")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")


Way = Literal["append", "native", "dispatch"]


@dataclass(frozen=True, slots=True)
class When:
    """From when on tools are deferred. None: that does not count."""

    kind: Literal["always", "never", "auto"] = "auto"
    tools: int | None = MOST_TOOLS
    """More tools than this."""
    share: int | None = USUAL_SHARE
    """Definitions that would fill so many percent of the model's window."""


def read_when(written: str) -> When:
    """Read ``auto``, ``auto:N`` (percent), ``count:N``, ``always`` or ``never``. May raise SettingsError."""
    text = written.strip().lower()
    match = _WRITTEN.fullmatch(text)
    if match is None or (match.group(2) and not match.group(1)):
        raise SettingsError(
            f"tool_search.mode {written[:40]!r} is none of auto, auto:N, count:N, always and never."
        )
    if match.group(1) == "auto":
        return When(tools=None, share=int(match.group(2)))
    if match.group(1) == "count":
        return When(tools=int(match.group(2)), share=None)
    if text in {"always", "true"}:
        return When("always")
    return When("never") if text in {"never", "false"} else When()


def deferrable(spec: ToolSpec) -> bool:
    """Whether a tool may be told of by its name alone."""
    return (spec.defer or spec.source == "mcp") and not spec.always_load


def tokens(tool: OfferedTool) -> int:
    """Return about how many tokens a definition costs."""
    definition = [tool.wire_name, tool.description, tool.tool.spec.input_schema]
    return ceil(len(json_text(definition)) / _CHARS_OF_A_TOKEN)


def is_time(when: When, tools: Sequence[OfferedTool], *, window: int) -> bool:
    """Whether tools are deferred, with these on offer and so many tokens of window."""
    if not any(tool.tool.spec.name == SEARCH for tool in tools) or when.kind == "never":
        return False
    if when.kind == "always":
        return True
    if when.tools is not None and len(tools) > when.tools:
        return True
    if when.share is None:
        return False
    bound, sum_of_tokens = window * when.share / 100, 0
    for tool in tools:
        if deferrable(tool.tool.spec):
            sum_of_tokens += tokens(tool)
            if sum_of_tokens >= bound:
                return True
    return False


def way(
    wanted: Literal["auto", "append", "native", "dispatch"], tools: Sequence[OfferedTool], *, native: bool
) -> Way:
    """Return how definitions come to the model: as it is wanted, where provider and offer allow that.

    ``append``: at the end of the list of tools. ``native``: kept aside at the provider, which shows what a
    result names. ``dispatch``: told in words only, and called by way of one tool that is always there.
    """
    if wanted == "dispatch" and any(tool.tool.spec.name == CALLER for tool in tools):
        return "dispatch"
    aside = sum(deferrable(tool.tool.spec) for tool in tools)
    return "native" if native and wanted in {"auto", "native"} and aside <= MOST_ASIDE else "append"


def deferred(tools: Iterable[OfferedTool], loaded: Iterable[str]) -> frozenset[str]:
    """Return the canonical names of tools that are told of by their names alone."""
    known = frozenset(loaded)
    return frozenset(
        tool.tool.spec.name
        for tool in tools
        if deferrable(tool.tool.spec) and tool.tool.spec.name not in known
    )


# --- what a model is told of them -------------------------------------------------------------


def listing(
    tools: Sequence[OfferedTool],
    *,
    search: str,
    about: Mapping[str, str] | None = None,
    failed: Mapping[str, str] | None = None,
    call_with: str = "",
    more: bool = False,
) -> str:
    """Return the names of deferred tools as a model reads them.

    ``about`` says of servers what they are for, ``failed`` why others are not there; ``call_with`` is the
    tool to call them with, where that is not themselves; ``more`` says that these have come later than those
    listed before. What does not fit into ``LONGEST_LISTING`` characters is counted.
    """
    there = " now, too" if more else ""
    head = f"These tools exist{there}, but their parameters are not loaded. Load them with {search} "
    head += f"and call them with {call_with}." if call_with else "before calling them."
    last = _fitting([f"failed: mcp__{name} ({why})" for name, why in (failed or {}).items()], _FOR_FAILED)
    servers = _by_server(tools)
    least = {server: len(server) + _COUNTED for server in list(servers)[:_MOST_SERVERS]}
    if len(servers) > len(least):
        last.insert(0, f"… and {len(servers) - len(least)} more servers; search by keyword")
    room = LONGEST_LISTING - len(head) - _size(last) - _FRAME - sum(least.values())
    lines = [head, *_fitting(list(_own(tools)), room)]
    room -= _size(lines[1:])
    for server, kept_free in least.items():
        shown = _of_server(server, servers[server], (about or {}).get(server, ""), room=room + kept_free)
        room += kept_free - _size(shown)
        lines += shown
    return "\n".join(("<deferred-tools>", *lines, *last, "</deferred-tools>"))


def gone(names: Sequence[str]) -> str:
    """Return what a model is told of tools that it knows by name and that are there no more."""
    return f"<deferred-tools>\nNo longer available: {', '.join(names)}\n</deferred-tools>"


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """As many of the lines as fit, and how many do not."""
    shown: list[str] = []
    room -= _COUNTED
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return [*shown, f"… and {len(lines) - len(shown)} more; search by keyword"]
        shown.append(line)
    return shown


def _own(tools: Iterable[OfferedTool]) -> Iterable[str]:
    for tool in tools:
        spec = tool.tool.spec
        if spec.mcp is None:
            said = spec.search_hint or first_sentence(tool.description)
            yield f"{tool.name} — {said}" if said else tool.name


def _by_server(tools: Iterable[OfferedTool]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tool in tools:
        origin = tool.tool.spec.mcp
        if origin is not None:
            found.setdefault(origin.server, []).append(origin.tool)
    return found


def _of_server(server: str, names: Sequence[str], about: str, *, room: int) -> list[str]:
    said = first_sentence(about)
    plain = f"mcp__{server}:"
    title = f"{plain} ({said})" if said and len(plain) + len(said) + _COUNTED < room else plain
    shown: list[str] = []
    size = len(title) + _COUNTED
    for name in names:
        size += len(name) + 2
        if size > room:
            before = f"{', '.join(shown)}, " if shown else ""
            return [title, f"  {before}… and {len(names) - len(shown)} more; search by keyword"]
        shown.append(name)
    return [title, f"  {', '.join(shown)}"]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line and not too long."""
    line = " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)
