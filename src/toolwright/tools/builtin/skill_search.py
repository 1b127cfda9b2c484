"""Find skills by words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.skills import Skill, SkillShelf
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.ranking import Field as Weight
from toolwright.tools.ranking import Index, words
from toolwright.tools.services import Services

_MOST_ABOUT: Final = 400
_MOST_LINES: Final = 3
_LONGEST_LINE: Final = 200
_INDEXED: Final = 20_000
"""Characters of instructions in which words are looked for."""


class SkillSearch(ToolClass):
    spec = described(
        __file__,
        name="skill_search",
        aliases=("SkillSearch",),
        source="builtin",
        category="discovery",
        defer=True,
        result_limit=20_000,
        search_hint="find skills by words",
    )

    def __init__(self, shelf: SkillShelf | None) -> None:
        self._shelf = shelf
        if shelf is None or not shelf.listed():
            self.spec = replace(type(self).spec, unavailable="there are no skills here")

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, touches=(), pre_approved=True)

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=1, max_length=500)],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> Outcome:
        del ctx
        if self._shelf is None:
            raise ToolFailure("tool_unavailable", "There are no skills here.")
        skills = {skill.name: skill for skill in self._shelf.listed()}
        hits = _index(skills).search(words(query), limit)
        if not hits:
            raise ToolFailure(
                "no_match", f"None of {len(skills)} skills fits these words.", hint="Try others."
            )
        told = [_told(skills[hit.key]) for hit in hits]
        data = [
            {"ref": hit.key, "snippet": skills[hit.key].about[:_MOST_ABOUT], "score": round(hit.score, 3)}
            for hit in hits
        ]
        return Done("\n\n".join(told), data={"hits": data})

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        view = replace(view, activity=f"Searching skills: {call.input.get('query', '')}", folds=True)
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data["hits"])
        return replace(view, summary="1 skill" if count == 1 else f"{count} skills")


def _index(skills: Mapping[str, Skill]) -> Index:
    fields = {"name": Weight(4.0, 2.0), "about": Weight(2.0), "tags": Weight(2.0), "text": Weight(0.5)}
    documents = (
        (
            name,
            {
                "name": name,
                "about": skill.about,
                "tags": " ".join((skill.category, *skill.capabilities)),
                "text": skill.instructions[:_INDEXED],
            },
        )
        for name, skill in sorted(skills.items())
    )
    return Index(fields, documents)


def _told(skill: Skill) -> str:
    about = skill.about if len(skill.about) <= _MOST_ABOUT else f"{skill.about[: _MOST_ABOUT - 1]}…"
    lines = [line.strip()[:_LONGEST_LINE] for line in skill.instructions.splitlines() if line.strip()]
    mark = "" if skill.trusted else " (from this project, which is not trusted)"
    return "\n".join([f"{skill.name}{mark}: {about}", *(f"  {line}" for line in lines[:_MOST_LINES])])


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool on the session's skills."""
    return SkillSearch(services.skills)
