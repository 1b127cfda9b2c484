"""The files of a project, to be named in a message."""

import re
import time
from collections.abc import Sequence

from anyio.to_thread import run_sync

from toolwright.contracts.errors import ToolwrightError
from toolwright.surfaces.rendering.safety import EVERYDAY
from toolwright.workspaces.finding import find_files
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.workspace import open_workspace

_FRESH_FOR = 10.0
_MOST = 50_000
_EVERY = re.compile(r"(?!\.toolwright/)[^\0]*")


class ProjectFiles:
    """Paths below a folder, the newest first, looked up again when they have become old."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._paths: Sequence[str] = ()
        self._looked_at = float("-inf")

    async def paths(self) -> Sequence[str]:
        """Return them, relative to the folder. Names that cannot be shown as they are are left out."""
        if time.monotonic() - self._looked_at > _FRESH_FOR:
            self._paths = await self._found()
            self._looked_at = time.monotonic()
        return self._paths

    async def _found(self) -> Sequence[str]:
        try:
            workspace = await run_sync(open_workspace, (self._project,), self._project)
            found = await find_files(workspace, self._project, _EVERY, program=find_ripgrep())
        except (ToolwrightError, OSError):
            return ()  # who cannot be shown names can still write them
        start = len(self._project.rstrip("/")) + 1
        names = (path[start:] for path in found.paths[:_MOST])
        return [name for name in names if EVERYDAY.name(name) == name]
