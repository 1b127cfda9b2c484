"""A line to a server that breaks after so many bytes of what the server says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


@asynccontextmanager
async def cut_lines(address: str, cuts: list[int | None]) -> AsyncIterator[str]:
    """Pass everything on to a server; yields the address to speak to instead.

    Each connection takes the next of ``cuts``: after how many bytes it breaks, None for never. When all are
    taken no connection breaks any more.
    """
    port = urlsplit(address).port
    ends: set[asyncio.StreamWriter] = set()
    lines: set[asyncio.Task[None]] = set()

    async def line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        most = cuts.pop(0) if cuts else None
        there, back = await asyncio.open_connection("127.0.0.1", port)
        both = {back, writer}
        ends.update(both)
        asking = asyncio.create_task(_passed_on(reader, back, None))
        lines.add(asking)
        await _passed_on(there, writer, most)
        for end in both:
            end.transport.abort()
        ends.difference_update(both)

    server = await asyncio.start_server(line, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for end in ends:
            end.transport.abort()
        await asyncio.gather(*lines)


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None) -> None:
    left = most
    with suppress(ConnectionError):
        while piece := await reader.read(65_536):
            sent = piece if left is None else piece[:left]
            writer.write(sent)
            await writer.drain()
            if left is not None:
                left -= len(sent)
                if left == 0:
                    return
