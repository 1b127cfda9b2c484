"""Read a background task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

import anyio.to_thread

from toolwright.contracts.ports import BackgroundWork, TaskView
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import Output, View
from toolwright.tools.commands import exits
from toolwright.tools.commands.printed import about_output, coloured, plain, shortened_bytes
from toolwright.tools.commands.view import folded
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services

_SHOWN: Final = 1024 * 1024


class TaskOutput(ToolClass):
    spec = described(
        __file__,
        name="task_output",
        aliases=("TaskOutput", "BashOutput"),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=30_000,
        preview="head_tail",
        timeout=None,
        polling=True,
        clamped=frozenset({"timeout"}),
        search_hint="background task output status wait shell",
    )

    def __init__(self, background: BackgroundWork) -> None:
        self._background = background

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, touches=())

    async def run(
        self,
        ctx: CallContext,
        *,
        task_id: Annotated[str, Field(min_length=1, max_length=64)],
        block: bool = True,
        timeout: Annotated[int, Field(ge=0, le=600_000)] = 30_000,
        since: Annotated[int, Field(ge=0)] = 0,
    ) -> Outcome:
        del ctx
        task = await self._background.wait(task_id, timeout / 1000 if block else 0)
        output, following = self._background.output_since(task_id, since)
        dropped = max(following - since - len(output), 0)
        text = await anyio.to_thread.run_sync(plain, output)
        data = {
            "status": task.status,
            "output": text,
            "next_offset": following,
            "exit_code": None if task.exit is None else task.exit.code,
            "dropped_bytes": dropped,
        }
        head = f"{_status(task)}. Next offset: {following}."
        content = "\n".join(
            part for part in (head, text.rstrip("\n"), *about_output(output, dropped)) if part
        )
        return Done(content, data=data, view=Output(coloured(shortened_bytes(output, _SHOWN)), ansi=True))

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        view = replace(view, activity=f"Waiting for {call.input.get('task_id', 'a task')}")
        if not isinstance(call.outcome, Done):
            return view
        lines = len(call.outcome.data["output"].splitlines())
        summary = f"{call.outcome.data['status']}, {lines} new line{'' if lines == 1 else 's'}"
        return replace(view, summary=summary, result=folded(call.outcome.view))


def _status(task: TaskView) -> str:
    if task.exit is None or task.exit.code is None:
        return f"Status: {task.status}"
    return f"Status: {task.status}, {exits.described(task.exit.code).replace('Exit', 'exit')}"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return TaskOutput(services.background)
