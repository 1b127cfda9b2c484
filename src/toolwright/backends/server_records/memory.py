"""Records that are gone with the process. For tests, and for engines without a home."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import ServerRecords


class MemoryRecords:
    """``ServerRecords`` in two tables."""

    def __init__(self) -> None:
        self._approved: dict[str, dict[str, str]] = {}
        self._pins: dict[str, dict[str, Mapping[str, Any]]] = {}

    async def approved(self, project: str) -> Mapping[str, str]:
        return dict(self._approved.get(project, {}))

    async def approve(self, project: str, name: str, digest: str) -> None:
        of_project = self._approved.setdefault(project, {})
        of_project[name] = digest
        if not digest:
            del of_project[name]

    async def pins(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        return dict(self._pins.get(key, {}))

    async def pin(self, key: str, tools: Mapping[str, Mapping[str, Any]]) -> None:
        self._pins.setdefault(key, {}).update(tools)


if TYPE_CHECKING:
    _: ServerRecords = MemoryRecords()
