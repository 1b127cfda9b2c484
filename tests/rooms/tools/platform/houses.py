"""Catalogs at work: a house whose tools are the entries of a catalog."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.notes.memory import MemoryNotes
from toolwright.contracts.content import text_of
from toolwright.contracts.definitions import ToolEntry
from toolwright.contracts.tool import CallResult, Failed, ToolCall
from toolwright.settings import load
from toolwright.turns.results import error_of
from toolwright.wiring import Wanted, build
from toolwright.wiring.catalog import agent_of, catalog_keeper
from toolwright.wiring.house import House


@dataclass(slots=True)
class Desk:
    """A house and the folder it works in."""

    house: House
    root: Path

    async def result(self, name: str, **input: Any) -> CallResult:
        """Run one call through all steps."""
        return await self.house.call(ToolCall("call_1", name, input))

    async def text(self, name: str, **input: Any) -> str:
        """What a call that worked returned."""
        result = await self.result(name, **input)
        assert not result.is_error, result.content
        return text_of(result.content)

    async def error(self, name: str, **input: Any) -> Mapping[str, Any]:
        """What went wrong, as a program reads it."""
        result = await self.result(name, **input)
        assert isinstance(result.outcome, Failed), result.content
        return error_of(result.outcome)


@asynccontextmanager
async def desk_of(folder: Path, *entries: ToolEntry, agent: str = "general") -> AsyncIterator[Desk]:
    """Build a house with the stock catalog and more entries."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    catalog = catalog_keeper().open().after
    catalog = replace(catalog, tools=(*catalog.tools, *entries))
    loaded = load(str(root), environ={"HOME": str(folder / "home")}, read_files=False)
    house = build(
        loaded,
        Wanted(
            agent=agent_of(catalog, agent),
            session_dir=str(folder / "session"),
            notes=MemoryNotes(FakeClock()).of("default"),
        ),
    )
    try:
        yield Desk(house, root)
    finally:
        await house.close()
