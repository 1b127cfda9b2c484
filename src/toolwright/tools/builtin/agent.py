"""Give a piece of work to another agent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from toolwright.contracts.children import ChildRuns, ChildTask
from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    Tool,
    Traits,
    Waiting,
)
from toolwright.contracts.view import Para, View
from toolwright.tools.agents import for_session, known_line, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services

_MOST_CHARS: Final = 32_000
_ROOM: Final = 1_000
"""Characters of a result beside the agent's own words."""


class Agent(ToolClass):
    spec = described(
        __file__,
        name="agent",
        aliases=("Agent", "Task"),
        source="builtin",
        category="agent_task",
        always_load=True,
        result_limit=_MOST_CHARS + _ROOM,
        idempotent=True,
        search_hint="start another agent subagent delegate work parallel background",
    )

    def __init__(self, children: ChildRuns | None, most_chars: int = _MOST_CHARS) -> None:
        self._children = children
        spec = replace(for_session(type(self).spec, children), result_limit=most_chars + _ROOM)
        known = [known_line(agent) for agent in children.agents()] if children is not None else []
        if known:
            spec = replace(spec, description="\n".join([spec.description, "", "Agents:", *known]))
        self.spec = spec

    def traits(self, input: Input) -> Traits:
        return Traits(
            concurrency_safe=True,
            pre_approved=True,
            touches=(),
            subject=str(input.get("agent_type", "general")),
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        known = [agent.name for agent in required(self._children).agents()]
        wanted = input.get("agent_type", "general")
        if wanted in known:
            return None
        hint = f"Known: {', '.join(known)}." if known else "This session may start none."
        return Objection("invalid", f"There is no agent {wanted!r}.", hint=hint)

    async def run(
        self,
        ctx: CallContext,
        *,
        description: Annotated[str, Field(min_length=1, max_length=100)],
        prompt: Annotated[str, Field(min_length=1, max_length=200_000)],
        agent_type: Annotated[str, Field(min_length=1, max_length=100)] = "general",
        model: Annotated[str, Field(max_length=200)] = "",
        run_in_background: bool | None = None,
        name: Annotated[str, Field(max_length=64, pattern=r"^$|^[A-Za-z][A-Za-z0-9_.-]*$")] = "",
        isolation: Literal["none", "worktree"] | None = None,
        max_turns: Annotated[int, Field(ge=1, le=1000)] | None = None,
    ) -> Outcome:
        children = required(self._children)
        background = self._in_background(agent_type, run_in_background)
        task = ChildTask(
            agent=agent_type,
            prompt=prompt,
            description=description,
            name=name,
            model=model,
            limits=RunLimits(rounds=max_turns),
            isolation=isolation or "",
            background=background,
            call_id=ctx.call_id,
        )
        child_id = await children.start(task)
        return _launched(child_id, task) if background else Waiting("child")

    def _in_background(self, agent_type: str, wanted: bool | None) -> bool:
        if wanted is not None:
            return wanted
        return any(
            agent.background for agent in required(self._children).agents() if agent.name == agent_type
        )

    def view(self, call: CallState) -> View:
        doing = call.progress.text if call.progress is not None else ""
        about = str(call.input.get("description") or call.input.get("agent_type", "general"))
        view = replace(
            generic_view(self.spec, call),
            title=f"{call.input.get('agent_type', 'general')}: {about}",
            activity=f"{about}: {doing}" if doing else about,
        )
        data = call.outcome.data if isinstance(call.outcome, Done) else None
        if not isinstance(data, Mapping):
            return view
        result = Para(str(data.get("content", "")), markdown=True)
        return replace(view, summary=_summary(data), result=result, folds=True)


def _launched(child_id: str, task: ChildTask) -> Done:
    called = f" {task.name!r}" if task.name else ""
    text = (
        f"The agent{called} works in the background, id {child_id}. You will be told when it has ended; "
        "go on with something else, or end your turn."
    )
    data = {
        "status": "launched",
        "agent_id": child_id,
        "agent_type": task.agent,
        "content": "",
        "tool_uses": 0,
        "tokens": 0,
        "duration_ms": 0,
    }
    return Done(text, data=data)


def _summary(data: Mapping[str, Any]) -> str:
    if data.get("status") == "launched":
        return f"in background as {data.get('agent_id', '')}"
    calls, seconds = data.get("tool_uses", 0), data.get("duration_ms", 0) / 1000
    return f"done, {calls} call{'' if calls == 1 else 's'}, {seconds:.1f} s"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    most = services.settings.get("children", {}).get("max_result_chars", _MOST_CHARS)
    return Agent(services.children, most)
