"""Load tools that are known only by their names."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.tool_search import ToolsFound, ToolShelf
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services

_MOST_SERVERS = 50


class ToolSearch(ToolClass):
    spec = described(
        __file__,
        name="tool_search",
        aliases=("ToolSearch",),
        source="builtin",
        category="discovery",
        always_load=True,
        result_limit=None,
        search_hint="find and load tools that are known by name",
    )

    def __init__(self, shelf: ToolShelf | None) -> None:
        self._shelf = shelf
        if shelf is None:
            self.spec = replace(type(self).spec, unavailable="all tools are loaded here")

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, touches=(), pre_approved=True)

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=1, max_length=500)],
        max_results: Annotated[int, Field(ge=1, le=50)] | None = None,
    ) -> Outcome:
        del ctx
        if self._shelf is None:
            raise ToolFailure("tool_unavailable", "All tools are loaded here.")
        found = await self._shelf.search(query, max_results)
        if not found.tools:
            raise ToolFailure("no_match", _nothing(found), hint=_hint(found))
        return Done(
            "\n".join(_told(found)),
            data=_data(found),
            notes=tuple(_unknown(found)),
            loads=tuple(str(tool.definition.get("name", tool.name)) for tool in found.tools),
        )

    def view(self, call: CallState) -> View:
        looking = f"Looking for tools: {call.input.get('query', '')}"
        view = replace(generic_view(self.spec, call), activity=looking, folds=True)
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data["matches"])
        return replace(view, summary="1 tool loaded" if count == 1 else f"{count} tools loaded")


def _told(found: ToolsFound) -> Iterator[str]:
    count = len(found.tools)
    if found.call_with:
        told = f"{'it is' if count == 1 else 'they are'} called with {found.call_with}"
    else:
        told = f"{'it' if count == 1 else 'they'} can be called now"
    yield f"Found {count} tool{'' if count == 1 else 's'}; {told}."
    yield "<functions>"
    for tool in found.tools:
        yield f"<function>{json_text(dict(tool.definition))}</function>"
    yield "</functions>"


def _unknown(found: ToolsFound) -> Iterator[str]:
    for name in found.unknown:
        near = f" Near: {', '.join(name.near)}." if name.near else ""
        yield f"There is no tool {name.name}.{near}"


def _nothing(found: ToolsFound) -> str:
    if found.unknown:
        return f"There is no tool named {', '.join(name.name for name in found.unknown)}."
    return "No tool fits these words."


def _hint(found: ToolsFound) -> str:
    near = dict.fromkeys((*found.near, *(name for one in found.unknown for name in one.near)))
    parts = [f"Near: {', '.join(near)}."] if near else ["Try other words, or fewer."]
    if found.servers:
        parts.append(f"Servers: {', '.join(found.servers[:_MOST_SERVERS])}.")
    if found.pending:
        parts.append(f"Still connecting: {', '.join(found.pending)}.")
    parts += [f"{server} is not there: {reason}." for server, reason in found.failed.items()]
    return " ".join(parts)


def _data(found: ToolsFound) -> dict[str, Any]:
    return {
        "matches": [
            {"name": tool.name, "score": round(tool.score, 3), "loaded_before": tool.loaded_before}
            for tool in found.tools
        ],
        "total_deferred": found.deferred,
        "pending_servers": list(found.pending),
        "failed_servers": dict(found.failed),
    }


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool on the session's shelf."""
    return ToolSearch(services.shelf)
