"""A skill as a tool of its own: its input schema, its run, the promises that can be kept for it."""

from dataclasses import replace
from typing import Final

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Input,
    Objection,
    Outcome,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.define import checked_schema, generic_view
from toolwright.tools.naming import check_name, words_of
from toolwright.tools.skills.running import SkillRunner

_RESULT_LIMIT: Final = 50_000
_MODEL_SECONDS: Final = 300.0
"""What a model may take to answer, beyond what the script may take."""
_CHANGES_NOTHING: Final = Traits(read_only=True, concurrency_safe=True, touches=(), pre_approved=True)


class SkillTool:
    """Implements ``Tool`` over a skill."""

    def __init__(self, skill: Skill, runner: SkillRunner) -> None:
        """May raise DefinitionError: its name or its schema is none for a tool."""
        self.skill = skill
        self._runner = runner
        check_name(skill.tool_name)
        self.spec = ToolSpec(
            name=skill.tool_name,
            description=_description(skill),
            input_schema=checked_schema(skill.input_schema),
            display_name=words_of(skill.tool_name),
            source="skill",
            version=skill.version or skill.digest[:12] or "1",
            result_limit=_RESULT_LIMIT,
            timeout=skill.timeout + (_MODEL_SECONDS if skill.template else 10.0),
            search_hint=skill.category,
            unavailable="" if skill.can_run else "the skill has nothing to run",
        )

    def traits(self, input: Input) -> Traits:
        """What the sandbox sees to is promised, nothing else: a script may do what a command may."""
        del input
        if not self.skill.entry:
            return _CHANGES_NOTHING
        return _CHANGES_NOTHING if self.skill.reads_only and self._runner.walled else NO_PROMISES

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del input, ctx
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Run the skill. May raise ToolFailure."""
        return await self._runner.run(self.skill, input, ctx)

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        doing = call.progress.text if call.progress is not None else ""
        return replace(view, activity=doing or view.activity, folds=True)


def _description(skill: Skill) -> str:
    more = f"\n\nIt can: {', '.join(skill.capabilities)}." if skill.capabilities else ""
    return f"{skill.description}{f' {skill.when_to_use}' if skill.when_to_use else ''}{more}"


def exposed(skills: tuple[Skill, ...], runner: SkillRunner) -> tuple[tuple[SkillTool, ...], tuple[str, ...]]:
    """Return the tools of skills that are offered as such, and why some of them are not."""
    tools: list[SkillTool] = []
    notices: list[str] = []
    for skill in skills:
        if not (skill.exposed and skill.can_run):
            continue
        try:
            tools.append(SkillTool(skill, runner))
        except DefinitionError as problem:
            notices.append(f"{skill.folder}: it is not offered as a tool: {problem}.")
    return tuple(tools), tuple(notices)
