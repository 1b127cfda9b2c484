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
MOST_TOOLS: Final = 60
USUAL_SHARE: Final = 10
LONGEST_LISTING: Final = 16_000
_CHARS_OF_A_TOKEN: Final = 4
_WRITTEN: Final = re.compile(r"(?:(auto|count):)?(\d{1,6})|auto|always|never|true|false")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")


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
    more: bool = False,
) -> str:
    """Return the names of deferred tools as a model reads them.

    ``about`` says of servers what they are for, ``failed`` why others are not there; ``more`` says that these
    have come later than those listed before.
    """
    head = (
        f"These tools exist{' now, too' if more else ''}, but their parameters are not loaded. "
        f"Load them with {search} before calling them."
    )
    lines = [head, *_own(tools)]
    for server, named in _by_server(tools).items():
        lines += _of_server(server, named, (about or {}).get(server, ""), room=LONGEST_LISTING - _size(lines))
    lines += [f"failed: {server} ({reason})" for server, reason in (failed or {}).items()]
    return "\n".join(("<deferred-tools>", *lines, "</deferred-tools>"))


def gone(names: Sequence[str]) -> str:
    """Return what a model is told of tools that it knows by name and that are there no more."""
    return f"<deferred-tools>\nNo longer available: {', '.join(names)}\n</deferred-tools>"


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
    title = f"mcp__{server}: ({said})" if said else f"mcp__{server}:"
    shown: list[str] = []
    size = len(title) + 60
    for name in names:
        size += len(name) + 2
        if size > room:
            return [title, f"  {', '.join(shown)} … and {len(names) - len(shown)} more; search by keyword"]
        shown.append(name)
    return [title, f"  {', '.join(shown)}"]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line and not too long."""
    line = " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)
