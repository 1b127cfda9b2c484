"""Shelves of tools and of skills that a test fills."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolwright.contracts.skills import Skill, TakenUp
from toolwright.contracts.tool_search import FoundTool, ToolsFound

if TYPE_CHECKING:
    from toolwright.contracts.skills import SkillShelf


class MemoryShelf:
    """``ToolShelf`` that finds the tools whose name or description has a word of the query in it."""

    def __init__(self, tools: Iterable[FoundTool] = ()) -> None:
        self.tools = tuple(tools)
        self.loaded: list[str] = []
        """What was found, in that order."""

    async def search(self, query: str, limit: int | None = None) -> ToolsFound:
        words = query.casefold().removeprefix("select:").replace(",", " ").split()
        found = [tool for tool in self.tools if any(word in _text(tool) for word in words)][: limit or 5]
        self.loaded += [tool.name for tool in found]
        return ToolsFound(tools=tuple(found), deferred=len(self.tools) - len(set(self.loaded)))


def _text(tool: FoundTool) -> str:
    return f"{tool.name} {tool.definition.get('description', '')}".casefold()


class MemorySkills:
    """``SkillShelf`` that remembers what was taken up and permits whatever a skill asks for."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self.skills = {skill.name: skill for skill in skills}
        self.taken_up: list[tuple[str, str]] = []
        """Names and arguments, in that order."""

    def listed(self) -> Sequence[Skill]:
        return [self.skills[name] for name in sorted(self.skills) if self.skills[name].for_models]

    def find(self, name: str) -> Skill | None:
        return self.skills.get(name)

    def is_taken_up(self, skill: Skill, arguments: str) -> bool:
        return (skill.name, arguments) in self.taken_up

    def take_up(self, skill: Skill, arguments: str, *, call_id: str) -> TakenUp:
        del call_id
        self.taken_up.append((skill.name, arguments))
        return TakenUp(skill.allowed_tools)


if TYPE_CHECKING:

    def _conforms(skills: MemorySkills) -> SkillShelf:
        return skills
