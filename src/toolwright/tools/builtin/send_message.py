"""Say something to another agent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.children import ChildRuns
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import for_session, has_ended, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services


class SendMessage(ToolClass):
    spec = described(
        __file__,
        name="send_message",
        aliases=("SendMessage",),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=5_000,
        idempotent=True,
        search_hint="send message to agent subagent continue steer resume",
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        self.spec = for_session(type(self).spec, children)

    def traits(self, input: Input) -> Traits:
        return Traits(concurrency_safe=True, pre_approved=True, touches=(), subject=str(input.get("to", "")))

    async def run(
        self,
        ctx: CallContext,
        *,
        to: Annotated[str, Field(min_length=1, max_length=100)],
        message: Annotated[str, Field(min_length=1, max_length=100_000)],
        summary: Annotated[str, Field(max_length=200)] = "",
        notify_when_idle: bool = True,
    ) -> Outcome:
        del summary  # it is for the person who watches
        children = required(self._children)
        before = children.look(to)
        if before is None:
            known = ", ".join(view.name or view.child_id for view in children.list()) or "none"
            hint = f"Agents: {known}."
            raise ToolFailure("file_not_found", f"{to!r} is no agent that was started here.", hint=hint)
        view = await children.send(to, message, call_id=ctx.call_id, notify=notify_when_idle)
        if has_ended(before):
            told = " You will be told when it has ended." if notify_when_idle else ""
            text = f"{to} had ended; it goes on in the background with your message.{told}"
        else:
            text = f"Delivered to {to}, which reads it before its next request."
        return Done(text, data={"delivered": True, "to": view.child_id, "resumed": has_ended(before)})

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        view = replace(view, activity=f"Messaging {call.input.get('to', 'an agent')}")
        return replace(view, summary="delivered") if isinstance(call.outcome, Done) else view


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return SendMessage(services.children)
