"""Searching contents for a tool: what goes wrong is said in words for a model."""

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.tools.near_names import missing
from toolwright.workspaces.finding import find_matches
from toolwright.workspaces.searching import BadPattern, Found, Search


async def searched(workspace: Workspace, path: str, search: Search, *, program: str | None) -> Found:
    """Answer a search below an absolute path. May raise ToolFailure."""
    try:
        return await find_matches(workspace, path, search, program=program)
    except BadPattern as problem:
        wrong = "type, or use glob instead" if "file type" in str(problem) else "pattern and call again"
        raise ToolFailure("invalid_input", str(problem), hint=f"Correct the {wrong}.") from None
    except ToolFailure as failure:
        if failure.code != "file_not_found":
            raise
        raise await anyio.to_thread.run_sync(missing, workspace, path) from failure
