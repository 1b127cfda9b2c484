"""Why a connection is over: the first who knows says it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from toolwright.contracts.mcp import McpFault, McpFaultCode


@dataclass(slots=True)
class Ending:
    """Said once by whoever notices: a transport, the server's process, the one who closes."""

    code: McpFaultCode | None = None
    reason: str = ""
    over: anyio.Event = field(default_factory=anyio.Event)
    """Nothing more comes."""
    _waiting: set[anyio.CancelScope] = field(default_factory=set)

    def say(self, code: McpFaultCode, reason: str) -> None:
        """Note why; what was said first stays."""
        if self.code is None:
            self.code, self.reason = code, reason

    def end(self) -> None:
        """Let whoever waits know that it is over."""
        self.over.set()
        for scope in self._waiting:
            scope.cancel()

    @contextmanager
    def at_most(self) -> Iterator[None]:
        """Wait for something, but not longer than the connection lasts. May raise its fault."""
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                yield
            finally:
                self._waiting.discard(scope)
        if scope.cancelled_caught:
            raise self.fault

    @property
    def fault(self) -> McpFault:
        """The reason, as whoever asks for something now is told it."""
        return McpFault(self.code or "closed", self.reason or "The server closed the connection.")
