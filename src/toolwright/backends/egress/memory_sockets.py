"""WebSockets that never leave the process: what a server says comes from a list. For tests."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from toolwright.backends.egress.gate import Judge
from toolwright.backends.egress.guarded import check_headers
from toolwright.backends.egress.web_sockets import judged_socket, no_more, too_long
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import LONGEST_MESSAGE, NO_HEADERS, WebSocket, WebSockets


class MemoryWebSocket:
    """``WebSocket`` with a server's side: ``say`` and ``finish``."""

    def __init__(self, messages: Sequence[str | bytes] = ()) -> None:
        self._waiting: deque[str | bytes | ToolFailure | None] = deque(messages)
        self._news = anyio.Event()
        self.sent: list[str] = []
        """What the other side was told."""
        self.longest = LONGEST_MESSAGE
        self.closed = False

    def say(self, message: str | bytes) -> None:
        """Let the server send a message."""
        self._put(message)

    def finish(self, failure: ToolFailure | None = None) -> None:
        """Let the server close the connection, or break it with a failure."""
        self._put(failure)

    async def receive(self) -> str | bytes | None:
        while not self._waiting and not self.closed:
            await self._news.wait()
        message = None if self.closed else self._waiting.popleft()
        if message is None or isinstance(message, ToolFailure):
            self.closed = True
        if isinstance(message, ToolFailure):
            raise message
        if message is not None and _size(message) > self.longest:
            self.closed = True
            raise too_long(self.longest)
        return message

    async def send(self, message: str) -> None:
        await anyio.lowlevel.checkpoint()
        if self.closed:
            raise no_more("the server")
        self.sent.append(message)

    async def close(self) -> None:
        self.closed = True
        self._tell()

    def _put(self, message: str | bytes | ToolFailure | None) -> None:
        self._waiting.append(message)
        self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()


class MemoryWebSockets:
    """``WebSockets`` from a table of servers by URL. Judges by name as the guarded one does."""

    def __init__(self, judge: Judge, servers: Mapping[str, MemoryWebSocket]) -> None:
        self._judge = judge
        self._servers = dict(servers)
        self.opened: list[tuple[str, tuple[str, ...]]] = []
        """URL and protocols of each connection."""

    async def open(
        self,
        url: str,
        protocols: Sequence[str] = (),
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        longest: int = LONGEST_MESSAGE,
    ) -> WebSocket:
        check_headers(headers)
        judged = judged_socket(self._judge, url)
        found = self._servers.get(judged.url)
        if found is None:
            raise ToolFailure("network_error", f"Nothing answers at {judged.url}", retryable=True)
        self.opened.append((judged.url, tuple(protocols)))
        found.longest = longest
        return found

    async def close(self) -> None:
        for socket in self._servers.values():
            await socket.close()


def _size(message: str | bytes) -> int:
    return len(message.encode() if isinstance(message, str) else message)


if TYPE_CHECKING:

    def _conforms(sockets: MemoryWebSockets) -> WebSockets:
        return sockets
