"""Every dialect that the server speaks."""

from typing import Final

from toolwright.surfaces.http.app import Speech
from toolwright.surfaces.http.engine.speech import SPEECH as ENGINE
from toolwright.surfaces.http.managed.speech import SPEECH as MANAGED
from toolwright.surfaces.http.mcp import SPEECH as MCP

SPEECHES: Final[tuple[Speech, ...]] = (MANAGED, MCP, ENGINE)
