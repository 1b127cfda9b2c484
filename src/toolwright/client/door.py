"""How a client reaches an engine: over HTTP, or in this process."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Protocol

from toolwright.client.following import Event

NOTHING: Mapping[str, Any] = {}


class Door(Protocol):
    """Everything is asked for in one event loop. Each verb may raise EngineClientError."""

    def execute(self, body: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """Run a turn and yield its events, each once and in order, to its end.

        Leaving the generator leaves the turn alone: it goes on.
        """
        ...

    def replay(self, after: int, task_id: str | None) -> AsyncGenerator[Event]:
        """Yield what was emitted behind a stamp, and follow turns that still run."""
        ...

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
    ) -> Any:
        """Ask for anything else and return the JSON that is answered."""
        ...

    async def close(self) -> None:
        """Let go of everything. Safe to repeat."""
        ...
