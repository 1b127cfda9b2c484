"""Waiting on this machine for a browser that comes back from where a person signed in."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

HOST: Final = "127.0.0.1"
PATH: Final = "/callback"
_LONGEST: Final = 32 * 1024
_WITHIN: Final = 10.0
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Toolwright</title>'
    "<body><p>{said}</p></body></html>"
)
_THANKS: Final = "That is all that is needed here. You can close this window and go back to the terminal."
_NOT_OURS: Final = "This does not belong to the login that is waited for. Begin again in the terminal."


class Return:
    """Where a browser comes back to, and the address it brings."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.fits: Callable[[str], bool] = _nothing_fits
        """Whether an address is what is waited for; what is not is turned away."""
        self._came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def redirect_uri(self) -> str:
        """Where to send the browser back to."""
        return redirect_to(self.port)

    async def address(self) -> str:
        """Return the address that the browser brings, once it comes."""
        return await self._came

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser."""
        try:
            async with asyncio.timeout(_WITHIN):
                head = await reader.readuntil(b"\r\n\r\n")
                status, said = self._answer(head)
                page = _PAGE.format(said=said).encode()
                writer.write(_head(status, len(page)) + page)
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # whoever that was, it was no browser that came back
        finally:
            writer.close()

    def _answer(self, head: bytes) -> tuple[str, str]:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.rpartition(" ")[0]
        if method != "GET" or target.partition("?")[0] != PATH:
            return "404 Not Found", _NOT_OURS
        address = f"http://{HOST}:{self.port}{target}"
        if self._came.done() or not self.fits(address):
            return "400 Bad Request", _NOT_OURS
        self._came.set_result(address)
        return "200 OK", _THANKS


@asynccontextmanager
async def waiting(port: int = 0) -> AsyncIterator[Return]:
    """Listen on a port of this machine, or on any other where that one is taken."""
    found: list[Return] = []

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await found[0].meet(reader, writer)

    try:
        server = await asyncio.start_server(met, HOST, port, limit=_LONGEST)
    except OSError:
        server = await asyncio.start_server(met, HOST, 0, limit=_LONGEST)
    async with server:
        found.append(Return(server.sockets[0].getsockname()[1]))
        yield found[0]


def redirect_to(port: int) -> str:
    """Return the address of a port to come back to."""
    return f"http://{HOST}:{port}{PATH}"


def _nothing_fits(address: str) -> bool:
    del address
    return False


def _head(status: str, length: int) -> bytes:
    lines = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {length}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode()
