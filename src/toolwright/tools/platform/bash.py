"""Run one command in the sandbox; what it printed, its errors and its exit code come back apart."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Exit, Process
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    Tool,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.commands.following import ended_with_call, followed
from toolwright.tools.commands.printed import plain, shortened
from toolwright.tools.commands.setup import CommandSetup, setup_of
from toolwright.tools.commands.traits import nul_objection
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.services import Services

LONGEST_COMMAND: Final = 100_000
MOST_SECONDS: Final = 600


class RunCommand(ToolClass):
    """Every command begins in the workspace's folder and leaves nothing running."""

    spec = ToolSpec(
        name="bash",
        description="Run a command.",
        input_schema={},
        source="catalog",
        result_limit=40_000,
        preview="head_tail",
        timeout=None,
    )

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup

    def traits(self, input: Input) -> Traits:
        return self._setup.traits(input["command"], alone=False)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        return nul_objection(input["command"])

    async def run(
        self,
        ctx: CallContext,
        *,
        command: Annotated[str, Field(min_length=1, max_length=LONGEST_COMMAND)],
        timeout: Annotated[float, Field(gt=0, le=MOST_SECONDS)] | None = None,
    ) -> Outcome:
        wanted = self._setup.command(
            ctx.workspace, ("bash", "--noprofile", "--norc"), stdin=command.encode(), merge_stderr=False
        )
        process = await self._setup.sandbox.start(wanted)
        seconds = self._setup.seconds(None if timeout is None else int(timeout * 1000))
        async with ended_with_call(process):
            if await followed(process, ctx.report, seconds):
                return _ended(process, await process.wait(), self._setup.output_length)
            await process.stop()
            said = told(process, None, self._setup.output_length)
            return Failed(
                "timeout",
                f"The command did not end within {seconds:g} s and was stopped.",
                hint="Give a longer timeout (at most 600), or run less at once.",
                content=f"The command was stopped after {seconds:g} s.\n{said}".rstrip(),
            )

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    return RunCommand(setup_of(services, options))


def _ended(process: Process, end: Exit, most: int) -> Outcome:
    if end.limit is not None:
        raise ToolFailure("output_limit", f"The command was ended: it used more {end.limit} than it may.")
    text = told(process, end, most)
    return Done(text, data=text)


def told(process: Process, end: Exit | None, most: int) -> str:
    """Return the output, then the errors, then an exit code that is none of success."""
    output, errors = plain(process.output()), plain(process.errors())
    parts = [shortened(output, most)] if output else []
    if errors.strip():
        parts.append(f"[stderr]\n{shortened(errors, most // 2)}")
    code = None if end is None else end.code if end.code is not None else -(end.signal or 0)
    if code:
        parts.append(f"[exit code: {code}]")
    return "\n".join(part.rstrip("\n") for part in parts) + ("\n" if parts == [output] else "")
