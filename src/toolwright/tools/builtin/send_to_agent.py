"""Give another agent something to do, by its name: a new one, or one that was started before."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.children import ChildRuns, ChildTask, ChildView
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import for_session, has_ended, known_line, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services


class SendToAgent(ToolClass):
    spec = described(
        __file__,
        name="send_to_agent",
        source="builtin",
        category="agent_task",
        always_load=True,
        result_limit=5_000,
        idempotent=True,
        search_hint="start another agent delegate message continue",
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        spec = for_session(type(self).spec, children)
        known = [known_line(agent) for agent in children.agents()] if children is not None else []
        if known:
            spec = replace(spec, description="\n".join([spec.description, "", "Agents:", *known]))
        self.spec = spec

    def traits(self, input: Input) -> Traits:
        return Traits(
            concurrency_safe=True, pre_approved=True, touches=(), subject=str(input.get("agent_name", ""))
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        known = [agent.name for agent in required(self._children).agents()]
        if input.get("agent_name") in known:
            return None
        hint = f"Known: {', '.join(known)}." if known else "This session may start none."
        return Objection("invalid", f"There is no agent {input.get('agent_name')!r}.", hint=hint)

    async def run(
        self,
        ctx: CallContext,
        *,
        agent_name: Annotated[str, Field(min_length=1, max_length=300)],
        message: Annotated[str, Field(min_length=1, max_length=200_000)],
        agent_id: Annotated[str, Field(max_length=100)] = "",
    ) -> Outcome:
        children = required(self._children)
        if agent_id:
            return await self._said(children, agent_name, message, agent_id, ctx.call_id)
        task = ChildTask(agent=agent_name, prompt=message, background=True, call_id=ctx.call_id)
        child_id = await children.start(task)
        text = (
            f"A new {agent_name} works on it, id {child_id}. You will be told what it says when it rests; "
            "go on with something else, or end your turn."
        )
        return Done(text, data={"agent_id": child_id, "new": True})

    async def _said(
        self, children: ChildRuns, agent_name: str, message: str, agent_id: str, call_id: str
    ) -> Outcome:
        before = children.look(agent_id)
        if before is None or before.agent != agent_name:
            hint = f"Of that name: {_ids(children, agent_name)}. Leave the id out to start a new one."
            raise ToolFailure(
                "file_not_found", f"{agent_id!r} is no {agent_name} of this session.", hint=hint
            )
        if before.is_lost:
            hint = "Leave the id out to start a new one."
            raise ToolFailure("conflict", f"{agent_id} was ended and takes nothing more.", hint=hint)
        view = await children.send(agent_id, message, call_id=call_id)
        text = f"Delivered to {view.child_id}"
        text += (
            ", which goes on with it." if has_ended(before) else ", which reads it before its next request."
        )
        return Done(f"{text} You will be told when it rests.", data={"agent_id": view.child_id, "new": False})

    def view(self, call: CallState) -> View:
        name = call.input.get("agent_name", "an agent")
        view = replace(generic_view(self.spec, call), activity=f"Sending to {name}")
        return replace(view, summary="delivered") if isinstance(call.outcome, Done) else view


def _ids(children: ChildRuns, agent_name: str) -> str:
    return ", ".join(_known(view) for view in children.list() if view.agent == agent_name) or "none"


def _known(view: ChildView) -> str:
    return view.name or view.child_id


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return SendToAgent(services.children)
