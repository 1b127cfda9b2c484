"""One call without a session: the same steps, rules and sandbox, in a folder of its own."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from anyio.to_thread import run_sync

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.ids import new_id
from toolwright.contracts.notes import NoteBook
from toolwright.contracts.tool import CallResult, ToolCall
from toolwright.settings import Loaded
from toolwright.wiring.house import Wanted, build


async def called_once(
    loaded: Loaded,
    agent: AgentDefinition,
    name: str,
    input: Mapping[str, Any],
    *,
    folder: str = "",
    notes: NoteBook | None = None,
) -> CallResult:
    """Run one call with nobody to ask. Without a folder it works in an empty one that is gone afterwards.

    May raise SettingsError.
    """
    with tempfile.TemporaryDirectory(prefix="toolwright-call-") as place:
        session = new_id("call")
        wanted = Wanted(agent=agent, session=session, session_dir=f"{place}/session", notes=notes)
        project = folder or f"{place}/work"
        if not folder:
            await run_sync(_make, project)
        house = await run_sync(partial(build, replace(loaded, project=project), wanted))
        try:
            return await house.call(ToolCall(new_id("call"), name, dict(input)))
        finally:
            await house.close()


def _make(folder: str) -> None:
    os.makedirs(folder, mode=0o700)
