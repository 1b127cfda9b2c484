"""A WebSocket in the place of a program: what it is told is its output, a line for each message."""

import anyio

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import WebSocket
from toolwright.contracts.ports import Exit, Limits

_KEPT = Limits().output_kept


class ListeningProcess:
    """Implements ``Process``. Owns no task: whoever waits takes the messages in."""

    def __init__(self, socket: WebSocket, *, kept: int = _KEPT) -> None:
        """Of the output the last ``kept`` bytes stay."""
        self._socket = socket
        self._most = kept
        self._kept = bytearray()
        self._total = 0
        self._exit: Exit | None = None
        self._one_reader = anyio.Lock()

    @property
    def pid(self) -> int:
        return 0

    def output(self) -> bytes:
        dropped = self._total - len(self._kept)
        marker = f"[... {dropped} bytes of output not kept ...]\n" if dropped else ""
        return marker.encode() + bytes(self._kept)

    def errors(self) -> bytes:
        return b""

    def output_since(self, offset: int) -> tuple[bytes, int]:
        start = self._total - len(self._kept)
        return bytes(self._kept[max(offset - start, 0) :]), self._total

    async def wait_output(self, offset: int) -> None:
        while self._total <= offset and self._exit is None:
            async with self._one_reader:
                if self._total <= offset:
                    await self._take_in()

    async def send(self, data: bytes) -> None:
        del data
        raise BrokenPipeError("nothing is sent to a WebSocket that is watched")

    async def wait(self) -> Exit:
        while self._exit is None:
            async with self._one_reader:
                await self._take_in()
        return self._exit

    async def stop(self, *, grace: float = 2.0) -> Exit:
        del grace
        if self._exit is None:
            self._end(None)
        await self._socket.close()
        return await self.wait()

    async def _take_in(self) -> None:
        """One message, or the end."""
        if self._exit is not None:
            return
        try:
            message = await self._socket.receive()
        except ToolFailure as failure:
            self._keep(f"[{failure.message}.]")
            self._end(1, output_limit=failure.code == "output_limit")
            await self._socket.close()
            return
        if message is None:
            self._end(0)
        elif isinstance(message, str):
            self._keep(message)
        else:
            self._keep(f"[binary message of {len(message)} bytes]")

    def _keep(self, text: str) -> None:
        if self._exit is not None:
            return
        line = text.encode("utf-8", "replace") + b"\n"
        self._total += len(line)
        self._kept += line
        del self._kept[: max(len(self._kept) - self._most, 0)]

    def _end(self, code: int | None, *, output_limit: bool = False) -> None:
        if self._exit is None:
            dropped = self._total - len(self._kept)
            self._exit = Exit(code, None, self._total, dropped, "output" if output_limit else None)
