"""One tool of a catalog, run in a folder for whoever writes the catalog."""

import os
import tempfile
from dataclasses import dataclass
from typing import Any

from toolwright.catalog.directory.keeping import Catalog
from toolwright.contracts.content import text_of
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import CallResult, Done, Failed, ToolCall
from toolwright.turns.results import error_of


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of the call."""

    text: str
    error: dict[str, Any] | None

    @property
    def failed(self) -> bool:
        """Whether it did not work."""
        return self.error is not None

    def as_data(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {"output": "" if self.error else self.text, "error": self.error}


async def tried(catalog: Catalog, name: str, input: str, folder: str) -> Tried:
    """Run a tool. Raises DefinitionError for one that is not in the catalog."""
    from toolwright import settings
    from toolwright.wiring import Wanted, build
    from toolwright.wiring.catalog import GENERAL, agent_of

    if catalog.tool(name) is None:
        known = ", ".join(tool.name for tool in catalog.tools)
        raise DefinitionError(f"there is no tool {name!r} in {catalog.folder}. Known: {known}.")
    loaded = settings.load(folder, environ=os.environ)
    with tempfile.TemporaryDirectory() as place:
        house = build(loaded, Wanted(agent=agent_of(catalog, GENERAL.name), session_dir=place))
        try:
            return _tried(await house.call(ToolCall("call_1", name, input)))
        finally:
            await house.close()


def _tried(result: CallResult) -> Tried:
    outcome = result.outcome
    if isinstance(outcome, Failed):
        return Tried(text_of(result.content), dict(error_of(outcome)))
    if isinstance(outcome, Done):
        return Tried(text_of(result.content), None)
    return Tried("The call waits for a person.", {"error": "waiting", "message": "It needs a person."})
