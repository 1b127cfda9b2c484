"""Take a skill up: read its instructions, or a file that lies beside them."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any, Final

import anyio.to_thread

from toolwright.catalog.opening import Unfit
from toolwright.catalog.skill_folders import read_skill_file
from toolwright.catalog.skill_texts import between_marks, files_of, named, with_arguments
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.skills import Skill, SkillShelf
from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Outcome,
    Tool,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.untrusted import wrapped

MOST_CHARS: Final = 48_000
"""Of instructions at once, and of a file at once."""
_MOST_BYTES: Final = 4 * 1_048_576
_READS: Final = Traits(read_only=True, concurrency_safe=True, touches=(), pre_approved=True)
"""To read a skill changes nothing but the conversation."""


class SkillReader(ToolClass):
    spec = described(
        __file__,
        name="skill",
        aliases=("Skill",),
        source="builtin",
        category="discovery",
        always_load=True,
        result_limit=50_000,
        idempotent=True,
        search_hint="instructions for one kind of work",
    )

    def __init__(self, shelf: SkillShelf | None) -> None:
        self._shelf = shelf
        if shelf is None or not shelf.listed():
            self.spec = replace(type(self).spec, unavailable="there are no skills here")

    def traits(self, input: Input) -> Traits:
        """To take up a skill that lets tools run unasked is something a person has to know of."""
        name = str(input.get("skill", ""))
        subject = f"{name} {input.get('args', '')}".strip()
        skill = self._shelf.find(name) if self._shelf is not None else None
        grants = skill is not None and skill.allowed_tools and not input.get("file")
        return replace(NO_PROMISES if grants else _READS, subject=subject)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        skill = self._found(str(input["skill"]))
        if not skill.allowed_tools or input.get("file"):
            return None
        return Objection(
            "ask",
            f"With the skill {skill.name} these run without asking until you speak again: "
            f"{', '.join(skill.allowed_tools)}.",
        )

    async def run(
        self,
        ctx: CallContext,
        *,
        skill: Annotated[str, Field(min_length=1, max_length=100)],
        args: Annotated[str, Field(max_length=20_000)] = "",
        file: Annotated[str, Field(max_length=500)] = "",
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Outcome:
        found = self._found(skill)
        if file:
            return await self._of_file(found, file, offset)
        return self._taken_up(found, args, offset, ctx)

    def view(self, call: CallState) -> View:
        name = str(call.input.get("skill", ""))
        file = call.input.get("file")
        about = f"{name}/{file}" if file else name
        view = replace(generic_view(self.spec, call), activity=f"Loading skill {about}", folds=True)
        data = call.outcome.data if isinstance(call.outcome, Done) else None
        if not isinstance(data, Mapping):
            return view
        return replace(view, summary="loaded before" if data["already_loaded"] else "loaded")

    # --- parts ---

    def _found(self, name: str) -> Skill:
        shelf = self._shelf
        if shelf is None:
            raise ToolFailure("tool_unavailable", "There are no skills here.")
        skill = shelf.find(name)
        if skill is not None and skill.for_models:
            return skill
        near = get_close_matches(name, [one.name for one in shelf.listed()])
        raise ToolFailure(
            "validation_failed",
            f"There is no skill {name!r} that you can take up.",
            hint=f"Near: {', '.join(near)}." if near else "Look at the list of skills.",
        )

    def _taken_up(self, skill: Skill, arguments: str, offset: int, ctx: CallContext) -> Outcome:
        assert self._shelf is not None
        data = {"skill": skill.name, "already_loaded": False, "allowed_tools": []}
        if not offset and self._shelf.is_taken_up(skill, arguments):
            text = f"The instructions of {skill.name} stand above already; follow them."
            return Done(text, data={**data, "already_loaded": True})
        whole = with_arguments(skill, arguments, session_id=ctx.session_id)
        text = _page(whole or "(It has no instructions.)", offset)
        if not skill.trusted:
            return Done(wrapped(f"{text}\n\n{files_of(skill)}".strip(), f"skill {skill.name}"), data=data)
        taken = self._shelf.take_up(skill, arguments, call_id=ctx.call_id)
        said = [f"The skill {skill.name} is loaded; its instructions follow.", *taken.notes]
        if taken.rules:
            said.append(f"Allowed until the person speaks again: {', '.join(taken.rules)}.")
        note = between_marks(skill, text)
        return Done("\n".join(said), data={**data, "allowed_tools": list(taken.rules)}, notes=(note,))

    async def _of_file(self, skill: Skill, path: str, offset: int) -> Outcome:
        wanted = path.removeprefix("./")
        if wanted not in skill.files:
            near = get_close_matches(wanted, skill.files)
            hint = f"Near: {', '.join(near)}." if near else f"There are: {named(skill.files)}."
            raise ToolFailure("file_not_found", f"{skill.name} has no file {wanted!r}.", hint=hint)
        try:
            content = await anyio.to_thread.run_sync(read_skill_file, skill, wanted, _MOST_BYTES)
        except Unfit as problem:
            raise ToolFailure("permission_denied", f"{wanted} is not read: {problem.strerror}.") from problem
        except OSError as problem:
            raise ToolFailure("file_not_found", f"{wanted} cannot be read: {problem.strerror}.") from problem
        if len(content) > _MOST_BYTES:
            raise ToolFailure("file_too_large", f"{wanted} is larger than {_MOST_BYTES:,} bytes.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ToolFailure("binary_file", f"{wanted} is no text.") from None
        page = _page(text, offset)
        data = {"skill": skill.name, "file": wanted, "already_loaded": False, "allowed_tools": []}
        return Done(page if skill.trusted else wrapped(page, f"skill {skill.name}"), data=data)


def _page(text: str, offset: int) -> str:
    """Return a part of a text, with how to go on where something follows."""
    if offset and offset >= len(text):
        raise ToolFailure("validation_failed", f"There are only {len(text):,} characters.")
    part = text[offset : offset + MOST_CHARS]
    end = offset + len(part)
    if end == len(text):
        return part
    return f"{part}\n\n[Characters {offset:,} to {end:,} of {len(text):,}; go on with offset={end}.]"


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool on the session's skills."""
    return SkillReader(services.skills)
