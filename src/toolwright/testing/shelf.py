"""A shelf of tools that a test fills."""

from collections.abc import Iterable

from toolwright.contracts.tool_search import FoundTool, ToolsFound


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
