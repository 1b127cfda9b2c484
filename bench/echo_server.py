"""The server of bench/servers.py: one tool that gives back its words. ``echo_server.py stdio|http|list``."""

import json
import socket
import sys
from typing import Any


def by_library(transport: str) -> None:
    """A server as most are written; over HTTP it prints its port first."""
    from mcp.server import MCPServer

    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    async def echo(text: str) -> str:
        """Give back the words."""
        return text

    if transport == "stdio":
        server.run("stdio")
        return
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical")
    uvicorn.Server(config).run(sockets=[listening])


def by_hand() -> None:
    """A server that needs no library, so that fifty of them start in no time."""
    schema: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "list", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "echo", "description": "Say it.", "inputSchema": schema}]},
        "ping": {},
    }
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in results:
            answer["result"] = results[asked["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "not known"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "list":
        by_hand()
    else:
        by_library(sys.argv[1])
