"""Run a shell command."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Annotated, Any, Final

import anyio.to_thread

from toolwright import shell
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileVersion, Process, Sandbox, Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.commands.endings import Ending, outcome_of
from toolwright.tools.commands.following import ended_with_call, followed
from toolwright.tools.commands.persistent_bash import PersistentBash
from toolwright.tools.commands.setup import CommandSetup, require_background, setup_of
from toolwright.tools.commands.state import BASH, ShellFolder, ShellRun, next_cwd
from toolwright.tools.commands.traits import nul_objection
from toolwright.tools.commands.view import command_view
from toolwright.tools.define import ToolClass, described
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.workspaces.read_state import also_read

LONGEST_COMMAND: Final = 100_000
_STAYS: Final = ("sleep",)
"""Programs that are ended, not moved to the background, when their time is over."""
_WHOLE: Final = ("cat", "nl")
_LARGEST_READ: Final = 10 * 1024 * 1024
_SHOWN_WHOLE: Final = 50_000
"""Characters above which a result is previewed, whatever a tool asks for: what is stored was not seen."""


class Bash(ToolClass):
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
        search_hint="run shell command terminal program execute build test",
    )

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup
        self._folder = ShellFolder(os.path.join(setup.session_dir, "shell"))
        self.spec = dataclasses.replace(type(self).spec, result_limit=setup.output_length)

    def traits(self, input: Input) -> Traits:
        return self._setup.traits(
            input.get("command", ""),
            open_world=bool(input.get("dangerously_disable_sandbox")),
            alone=bool(input.get("run_in_background")),
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        if input.get("run_in_background"):
            require_background(self._setup)
        if not input.get("dangerously_disable_sandbox"):
            return nul_objection(input["command"])
        if self._setup.unprotected is None:
            return Objection(
                "invalid",
                "Commands run in the sandbox only: the operator has not allowed running outside it.",
                code="permission_denied",
                hint="Run it without dangerously_disable_sandbox, or ask the user to run it.",
            )
        return Objection("ask", "The command would run outside the sandbox.", firm=True)

    async def run(
        self,
        ctx: CallContext,
        *,
        command: Annotated[str, Field(min_length=1, max_length=LONGEST_COMMAND)],
        timeout: Annotated[int, Field(ge=1)] | None = None,
        description: Annotated[str, Field(max_length=500)] = "",
        run_in_background: bool = False,
        dangerously_disable_sandbox: bool = False,
    ) -> Outcome:
        sandbox = self._sandbox(unprotected=dangerously_disable_sandbox)
        await anyio.to_thread.run_sync(self._folder.prepare)
        run = self._folder.run()
        process = await sandbox.start(
            self._setup.command(
                ctx.workspace,
                BASH,
                env=_environment(run, command),
                stdin=command.encode(),
                writable=(self._folder.path,),
            )
        )
        about = description or command
        async with ended_with_call(process):
            if run_in_background:
                return await self._moved(ctx, process, Ending(command=command, output=b""), about)
            seconds = self._setup.seconds(timeout)
            if await followed(process, ctx.report, seconds):
                return await self._ended(ctx, process, command, run)
            ending = Ending(
                command=command, output=process.output(), timed_out=seconds, dropped=_missing(process)
            )
            if self._may_go_on(command):
                return await self._moved(ctx, process, ending, about)
            end = await process.stop()
            late = dataclasses.replace(
                ending,
                output=process.output(),
                exit=end,
                cwd=ctx.workspace.cwd,
                dropped=end.dropped_bytes,
            )
            return await self._worded(late)

    def view(self, call: CallState) -> View:
        return command_view(call, title="Bash")

    def _sandbox(self, *, unprotected: bool) -> Sandbox:
        if not unprotected:
            return self._setup.sandbox
        if self._setup.unprotected is None:
            raise ToolFailure(
                "permission_denied", "The operator has not allowed running outside the sandbox."
            )
        return self._setup.unprotected

    def _may_go_on(self, command: str) -> bool:
        """Whether a command that ran out of time is worth keeping, and safe to keep."""
        analysis = shell.analyse(command)
        names = [os.path.basename(name) for name in shell.program_names(analysis)]
        starts_idle = bool(names) and names[0] in _STAYS
        return self._setup.background_allowed and analysis.parsable and not starts_idle and "git" not in names

    async def _moved(self, ctx: CallContext, process: Process, ending: Ending, about: str) -> Outcome:
        task_id = await self._setup.background.adopt(process, kind="shell", description=about[:200])
        moved = dataclasses.replace(ending, task_id=task_id, cwd=ctx.workspace.cwd)
        return await self._worded(moved)

    async def _worded(self, ending: Ending) -> Outcome:
        return await anyio.to_thread.run_sync(outcome_of, ending, self._setup)

    async def _ended(self, ctx: CallContext, process: Process, command: str, run: ShellRun) -> Outcome:
        end = await process.wait()
        wanted = await anyio.to_thread.run_sync(run.taken_cwd)
        new_cwd, note = await anyio.to_thread.run_sync(next_cwd, ctx.workspace, wanted)
        ending = Ending(
            command=command,
            output=process.output(),
            exit=end,
            cwd=ctx.workspace.cwd,
            new_cwd=None if ctx.agent_id else new_cwd,
            dropped=end.dropped_bytes,
            notes=(note,) if note else (),
        )
        outcome = await self._worded(ending)
        if isinstance(outcome, Done):
            shown = len(ending.output) <= min(self._setup.output_length, _SHOWN_WHOLE)
            await anyio.to_thread.run_sync(_note_reading, ctx.workspace, command, shown)
        return outcome


def _missing(process: Process) -> int:
    """Bytes of the output so far that are no longer there."""
    data, following = process.output_since(0)
    return following - len(data)


def _environment(run: ShellRun, command: str) -> Mapping[str, str]:
    """A command that is believed to read only must not load what an earlier one wrote: it could change
    what every word of it means."""
    return run.reading_env if shell.is_read_only(shell.analyse(command)) else run.env


def _note_reading(workspace: Workspace, command: str, shown: bool) -> None:
    """Printing one file counts as having read it, and as having read it whole when all of it was ``shown``.

    Blocks.
    """
    analysis = shell.analyse(command)
    path = shell.single_file_read(analysis)
    if path is None:
        return
    try:
        with workspace.open(workspace.absolute(path)) as file:
            if file.info.size > _LARGEST_READ:
                return
            version = _version(file.info.mtime_ns, file.read())
            whole = shown and shell.program_names(analysis)[:1] in {(name,) for name in _WHOLE}
            before = workspace.read_state.get(file.info.path)
            workspace.read_state.put(file.info.path, also_read(before, version, whole=whole))
    except ToolFailure:
        return


def _version(mtime_ns: int, data: bytes) -> FileVersion:
    import hashlib

    return FileVersion(mtime_ns, len(data), hashlib.sha256(data).hexdigest())


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """One shell for each command, or with ``persistent`` one shell for the whole session."""
    setup = setup_of(services, options)
    persistent = options.get("persistent", services.settings.get("bash", {}).get("persistent", False))
    return PersistentBash(setup) if persistent else Bash(setup)
