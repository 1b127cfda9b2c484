"""Wait for agents in the background."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from toolwright.contracts.children import ChildRuns, ChildView
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import child_data, child_line, counted, for_session, has_ended, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services

Name = Annotated[str, Field(min_length=1, max_length=100)]


class AwaitAgents(ToolClass):
    spec = described(
        __file__,
        name="await_agents",
        aliases=("AwaitAgents",),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=32_000,
        timeout=None,
        polling=True,
        clamped=frozenset({"timeout_ms"}),
        search_hint="wait for agents subagents results join",
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        self.spec = for_session(type(self).spec, children)

    def traits(self, input: Input) -> Traits:
        return Traits(read_only=True, concurrency_safe=True, touches=())

    async def run(
        self,
        *,
        ids: Annotated[tuple[Name, ...], Field(max_length=20)] = (),
        mode: Literal["next", "all", "status"] = "next",
        timeout_ms: Annotated[int, Field(ge=0, le=300_000)] = 120_000,
    ) -> Outcome:
        children = required(self._children)
        wanted = ids or _running(children)
        seconds = 0.0 if mode == "status" else timeout_ms / 1000
        views = await children.wait(wanted, for_all=mode == "all", timeout=seconds)
        ended = [view for view in views if has_ended(view)]
        late = mode != "status" and (len(ended) < len(views) if mode == "all" else not ended)
        results = {view.child_id: children.result(view.child_id) for view in ended}
        data = {
            "states": [child_data(view) for view in views],
            "results": [{"agent_id": child_id, "content": text} for child_id, text in results.items()],
            "timed_out": late,
        }
        return Done("\n".join(_lines(views, results, late=late)), data=data)

    def view(self, call: CallState) -> View:
        ids = call.input.get("ids") or ()
        activity = f"Waiting for {counted(ids)}" if ids else "Waiting for agents"
        view = replace(generic_view(self.spec, call), activity=activity)
        if not isinstance(call.outcome, Done):
            return view
        states, results = call.outcome.data["states"], call.outcome.data["results"]
        return replace(view, summary=f"{len(results)} of {len(states)} finished")


def _running(children: ChildRuns) -> list[str]:
    """Those that run; all, where none does."""
    views = children.list()
    if not views:
        raise ToolFailure("file_not_found", "No agent was started here, so there is none to wait for.")
    return [view.child_id for view in views if not has_ended(view)] or [view.child_id for view in views]


def _lines(views: Sequence[ChildView], results: Mapping[str, str], *, late: bool) -> list[str]:
    lines = list(map(child_line, views))
    if late:
        lines += ["", "Warning: the time is over and they go on. Wait again, or do something else meanwhile."]
    for child_id, text in results.items():
        lines += ["", f"Result of {child_id}:", text]
    return lines


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return AwaitAgents(services.children)
