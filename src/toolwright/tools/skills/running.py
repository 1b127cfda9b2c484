"""Runs a skill as a call: its script in the sandbox, its prompt as one question to a model, or both."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio

from toolwright.catalog.skill_texts import rendered
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Exit, HelperModel, Workspace
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import CallContext, Done, Failed, Input, Outcome, Progress
from toolwright.tools.commands.following import ended_with_call
from toolwright.tools.commands.printed import plain
from toolwright.tools.commands.setup import CommandSetup
from toolwright.tools.outcomes import outcome_of

INTERPRETERS: Final = {".py": "python3", ".sh": "bash"}
_TAIL: Final = 2_000
"""Characters of its errors that are told of a script that failed."""
NOTHING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRunner:
    """Runs skills of one session."""

    setup: CommandSetup
    model: HelperModel | None = None
    """None where there is no model to ask: skills that need one fail."""
    walled: bool = True
    """Commands run in a sandbox that keeps its word."""

    async def run(self, skill: Skill, input: Input, ctx: CallContext) -> Outcome:
        """Run a skill with an input that has been validated. May raise ToolFailure."""
        if not skill.can_run:
            raise _cannot_run(skill)
        input = {**_usual(skill), **input}
        printed: str | None = None
        if skill.entry:
            ctx.report(Progress(f"Running {skill.entry} of {skill.name}"))
            outcome = await self._scripted(skill, input, ctx.workspace)
            if not skill.template or isinstance(outcome, Failed):
                return outcome
            printed = str(outcome.content)
        return await self._asked(skill, input, printed, ctx)

    async def _asked(self, skill: Skill, input: Input, printed: str | None, ctx: CallContext) -> Outcome:
        if self.model is None:
            raise ToolFailure(
                "tool_unavailable",
                f"The skill {skill.name} asks a model, and there is none here.",
                hint="Run it in a session, or give the program a model.",
            )
        ctx.report(Progress(f"Asking a model for {skill.name}"))
        prompt = rendered(skill.template, input, script_output=printed)
        return Done(await self.model.answer(f"skill {skill.name}", prompt))

    async def _scripted(self, skill: Skill, input: Input, workspace: Workspace) -> Done | Failed:
        process = await self.setup.sandbox.start(self._command(skill, input, workspace))
        async with ended_with_call(process):
            with anyio.move_on_after(skill.timeout) as time:
                end = await process.wait()
            if time.cancelled_caught:
                await process.stop()
                return Failed(
                    "timeout",
                    f"The script of {skill.name} did not end within {skill.timeout:g} s.",
                    hint="Give it less to do.",
                )
        if end.code or end.signal:
            return _script_failed(skill, end, process.errors())
        if end.dropped_bytes:
            return Failed(
                "output_limit", f"The script of {skill.name} printed too much.", hint="Ask it for less."
            )
        return returned(process.output())

    def _command(self, skill: Skill, input: Input, workspace: Workspace) -> Command:
        argv = (INTERPRETERS[os.path.splitext(skill.entry)[1]], skill.entry)
        if skill.reads_only and self.walled:
            command = self.setup.reading_command(workspace, argv)
        else:
            command = self.setup.command(workspace, argv, merge_stderr=False)
        return replace(
            command,
            cwd=skill.folder,
            readable=(*command.readable, skill.folder),
            stdin=json.dumps(dict(input), ensure_ascii=False).encode("utf-8", "replace"),
            env={**command.env, "SKILL_DIR": skill.folder, "WORKSPACE": workspace.cwd, **_NO_TRACES},
        )


def _usual(skill: Skill) -> dict[str, Any]:
    """Return what the schema says that an input has when nothing is said."""
    properties = skill.input_schema.get("properties", {})
    return {
        name: shape["default"]
        for name, shape in properties.items()
        if isinstance(shape, Mapping) and "default" in shape
    }


_NO_TRACES: Final = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}


def _script_failed(skill: Skill, end: Exit, errors: bytes) -> Failed:
    how = f"exit code {end.code}" if end.signal is None else f"signal {end.signal}"
    said = plain(errors).strip()[-_TAIL:]
    told = f" It said:\n{said}" if said else ""
    return Failed(
        "command_failed",
        f"The script of {skill.name} failed with {how}.{told}",
        details={"error": "script_failed", "exit_code": end.code},
    )


def returned(output: bytes) -> Done | Failed:
    """Return what a script meant by its output: a value where it is JSON, an error where that is one."""
    text = plain(output).strip()
    value = _value(text)
    if isinstance(value, Mapping) and isinstance(value.get("error"), str):
        return _error(value)
    if value is NOTHING:
        return Done(text or "(The script printed nothing.)", data=text)
    outcome = outcome_of(value)
    return replace(outcome, data=value) if isinstance(outcome, Done) else Done(text, data=value)


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NOTHING


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _error(value: Mapping[str, Any]) -> Failed:
    message = value.get("message")
    wait = value.get("retry_after")
    is_number = isinstance(wait, int | float) and not isinstance(wait, bool) and wait >= 0
    code = str(value["error"])[:200]
    return Failed(
        "command_failed",
        f"{code}: {message}" if isinstance(message, str) and message else code,
        retryable=is_number,
        retry_after=float(wait) if is_number and wait is not None else None,
        details={"error": code},
        data=dict(value),
    )


def _cannot_run(skill: Skill) -> ToolFailure:
    if not skill.trusted:
        return ToolFailure(
            "permission_denied",
            f"The skill {skill.name} comes from a project that is not trusted: it can be read and not run.",
            hint="A person can trust the project with 'toolwright trust'.",
        )
    return ToolFailure("unsupported", f"The skill {skill.name} has nothing to run; read it instead.")
