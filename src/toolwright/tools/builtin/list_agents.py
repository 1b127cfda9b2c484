"""List the agents of a session."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from toolwright.contracts.children import ChildRuns, ChildView
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import child_data, child_line, counted, for_session, known_line, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services


class ListAgents(ToolClass):
    spec = described(
        __file__,
        name="list_agents",
        aliases=("ListAgents",),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=10_000,
        polling=True,
        search_hint="list running agents subagents status kinds",
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        self.spec = for_session(type(self).spec, children)

    def traits(self, input: Input) -> Traits:
        return Traits(read_only=True, concurrency_safe=True, touches=())

    async def run(
        self,
        *,
        query: Annotated[str, Field(max_length=200)] = "",
        status: Literal["running", "waiting", "completed", "failed", "interrupted"] | None = None,
        limit: Annotated[int, Field(ge=1, le=20)] = 8,
    ) -> Outcome:
        children = required(self._children)
        words = query.casefold().split()
        started = [view for view in children.list() if _has(words, _text(view))]
        started = [view for view in started if status in {None, view.status}]
        shown = started[-limit:]
        kinds = [agent for agent in children.agents() if _has(words, f"{agent.name} {agent.description}")]
        data = {
            "agents": [child_data(view) for view in shown],
            "total": len(started),
            "kinds": [{"name": agent.name, "description": agent.description} for agent in kinds],
        }
        return Done("\n".join(_lines(shown, len(started), [] if status else kinds[:limit])), data=data)

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Listing agents")
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, summary=counted(call.outcome.data["agents"]))


def _text(view: ChildView) -> str:
    return f"{view.child_id} {view.name} {view.agent} {view.description}"


def _has(words: list[str], text: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _lines(shown: list[ChildView], total: int, kinds: list[AgentDefinition]) -> list[str]:
    lines = ["Started here, the last one last:", *map(child_line, shown)] if shown else ["None was started."]
    if total > len(shown):
        lines.append(f"{total - len(shown)} more were started before; narrow the search or raise the limit.")
    if kinds:
        lines += ["", "Can be started:", *map(known_line, kinds)]
    return lines


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return ListAgents(services.children)
