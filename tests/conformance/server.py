"""Serves the test catalog as the product serves its tools: the gate, the dialect, the pipeline.

The suite knows no keys, so that one is put into every request before the gate sees it. Prints the address.
"""

import asyncio
import os
import socket
import tempfile
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.conformance.catalog import OFFERING

from toolwright.surfaces.http.app import application
from toolwright.surfaces.http.mcp import speech
from toolwright.surfaces.http.serving import opened
from toolwright.surfaces.server_settings import Serving, settings_of

KEY = "a-key-for-conformance"


def keyed(app: ASGIApp) -> ASGIApp:
    """Show the key with every request."""

    async def shown(scope: Scope, receive: Receive, send: Send) -> None:
        headers: Sequence[tuple[bytes, bytes]] = scope.get("headers", ())
        await app({**scope, "headers": [*headers, (b"x-api-key", KEY.encode())]}, receive, send)

    return shown


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        environ = {"HOME": folder, "PATH": os.environ["PATH"], "TOOLWRIGHT_API_KEY": KEY}
        serving = Serving(environ=environ, data=os.path.join(folder, "data"))
        loaded = await asyncio.to_thread(settings_of, serving)
        async with opened(serving, loaded) as house:
            app = keyed(application(house, [speech(OFFERING)]))
            print(f"http://localhost:{listener.getsockname()[1]}/mcp", flush=True)
            server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
            await server.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
