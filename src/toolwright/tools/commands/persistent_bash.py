"""One bash for a whole session. Offered as ``bash`` where the option ``persistent`` is set."""

import dataclasses
from typing import Annotated, Final

import anyio
import anyio.to_thread

from toolwright.contracts.ports import Exit
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Outcome, Traits
from toolwright.contracts.view import View
from toolwright.tools.commands.endings import Ending, outcome_of
from toolwright.tools.commands.session_shell import SessionShell, Written
from toolwright.tools.commands.setup import CommandSetup
from toolwright.tools.commands.state import next_cwd
from toolwright.tools.commands.traits import nul_objection
from toolwright.tools.commands.view import command_view
from toolwright.tools.define import ToolClass, described
from toolwright.tools.fields import Field

_LONGEST: Final = 100_000
_RESTARTED: Final = "The session was ended. The next command starts a new one in {}."


class PersistentBash(ToolClass):
    spec = described(
        __file__,
        name="bash",
        aliases=("Bash", "Shell", "run_shell_command", "execute_bash"),
        source="builtin",
        category="core_io",
        always_load=True,
        result_limit=30_000,
        preview="head_tail",
        timeout=None,
        input_aliases={"timeout": "timeout_ms"},
        search_hint="run shell command terminal program execute build test",
    )

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup
        self._shell = SessionShell(setup)
        self._one_at_a_time = anyio.Lock()
        self.spec = dataclasses.replace(type(self).spec, result_limit=setup.output_length)

    def traits(self, input: Input) -> Traits:
        if not input.get("command"):
            return Traits(pre_approved=True)
        return self._setup.traits(input["command"], alone=True)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        command, restart = input.get("command"), input.get("restart", False)
        if bool(command) == bool(restart):
            return Objection("invalid", "Give either a command or restart: true.", code="invalid_input")
        return nul_objection(command or "")

    async def run(
        self,
        ctx: CallContext,
        *,
        command: Annotated[str, Field(max_length=_LONGEST)] | None = None,
        restart: bool = False,
        timeout_ms: Annotated[int, Field(ge=0)] | None = None,
        description: Annotated[str, Field(max_length=500)] = "",
    ) -> Outcome:
        del description
        async with self._one_at_a_time:
            if restart or command is None:
                await self._shell.end()
                return Done(_RESTARTED.format(ctx.workspace.cwd))
            seconds = self._setup.seconds(timeout_ms or None)
            written = await self._shell.run(command, ctx, seconds)
        new_cwd, _ = await anyio.to_thread.run_sync(next_cwd, ctx.workspace, written.cwd or None)
        ending = _ending(command, written, ctx, seconds, new_cwd)
        return await anyio.to_thread.run_sync(outcome_of, ending, self._setup)

    def view(self, call: CallState) -> View:
        return command_view(call, title="Bash")


def _ending(command: str, written: Written, ctx: CallContext, seconds: float, new_cwd: str | None) -> Ending:
    note = _RESTARTED.format(ctx.workspace.cwd)
    return Ending(
        command=command,
        output=written.output,
        exit=written.exit or Exit(written.code, output_bytes=len(written.output)),
        timed_out=seconds if written.timed_out else None,
        dropped=written.dropped,
        cwd=written.cwd or ctx.workspace.cwd,
        new_cwd=None if ctx.agent_id else new_cwd,
        notes=(note,) if written.timed_out or written.exit is not None else (),
    )
