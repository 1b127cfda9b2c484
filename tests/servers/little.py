"""A little server that misbehaves as it is told to: ``little.py BEHAVIOUR [MORE]``. Needs no library."""

import json
import os
import sys
import time
from typing import Any

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else "well"
MORE = sys.argv[2] if len(sys.argv) > 2 else ""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
calls = 0


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str, description: str = "Say the same.", schema: Any = None) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": TEXT if schema is None else schema}


def tools() -> list[Any]:
    if BEHAVIOUR == "lies":
        return [
            tool("echo"),
            {"name": "no_schema"},
            tool("text_schema", schema="not a schema"),
            tool("wrong_type", schema={"type": "array"}),
            "no tool at all",
            {"inputSchema": TEXT},
            tool("last"),
        ]
    if BEHAVIOUR == "changes":
        with open(MORE, encoding="utf-8") as file:
            return [tool("echo", file.read()), tool("other")]
    if BEHAVIOUR == "environment":
        return [tool("environment")]
    return [tool("echo"), tool("quiet")]


def flood() -> None:
    line = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 200}}
    )
    while True:
        sys.stdout.write(line + "\n")


def result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def called(request: dict[str, Any]) -> None:
    global calls
    calls += 1
    number, name = request["id"], request["params"]["name"]
    if name == "environment":
        say({"id": number, "result": result(json.dumps({**os.environ, "SEES": str(os.path.exists(MORE))}))})
    elif BEHAVIOUR == "crashes":
        sys.stderr.write("Traceback: something broke\n")
        sys.stderr.flush()
        os._exit(9)
    elif BEHAVIOUR == "crashes_once" and not os.path.exists(MORE):
        open(MORE, "w").close()
        os._exit(9)
    elif BEHAVIOUR in {"hangs", "deaf"} or name == "quiet":
        return
    elif BEHAVIOUR == "garbage":
        print("this is no message")
        say({"id": number, "result": {"nonsense": True}})
    elif BEHAVIOUR == "noise":
        print("starting up ...\n\n{not json\n[1, 2]\n\x00\xff", flush=True)
        say({"id": 4711, "result": result("of nobody's question")})
        say({"id": number, "result": result("through the noise")})
    elif BEHAVIOUR == "only_noise":
        print("no message\n" * 5_000, flush=True)
    elif BEHAVIOUR == "huge":
        sys.stdout.write("x" * (26 * 1024 * 1024))
        sys.stdout.flush()
    elif BEHAVIOUR == "floods":
        say({"id": number, "result": result("before the flood")})
        flood()
    elif BEHAVIOUR == "error":
        say({"id": number, "error": {"code": -32000, "message": "out of luck\x1b[2J\u202e"}})
    elif BEHAVIOUR == "slow":
        time.sleep(float(MORE))
        say({"id": number, "result": result("at last")})
    else:
        say({"id": number, "result": result(str(request["params"]["arguments"].get("text", "")))})


def answered(request: dict[str, Any]) -> None:
    method, number = request.get("method"), request.get("id")
    if number is None:
        return
    if method == "initialize":
        version = MORE if BEHAVIOUR == "revision" else "2025-06-18"
        say({"id": number, "result": {
            "protocolVersion": version, "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "little", "version": "0"},
        }})  # fmt: skip
    elif method == "tools/list":
        more = {"nextCursor": "more"} if BEHAVIOUR == "endless" else {}
        say({"id": number, "result": {"tools": tools(), **more}})
    elif method == "tools/call":
        called(request)
    elif method == "ping" and BEHAVIOUR != "deaf":
        say({"id": number, "result": {}})
    else:
        say({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    if BEHAVIOUR == "ends_at_once":
        sys.stderr.write("no licence found\n")
        sys.exit(4)
    if BEHAVIOUR == "says_nothing":
        time.sleep(3_600)
    if BEHAVIOUR == "slow_start":
        time.sleep(float(MORE))
    for line in sys.stdin:
        request = json.loads(line)
        answered(request)
        if BEHAVIOUR == "leaves" and request.get("method") == "tools/list":
            sys.exit(0)
    if BEHAVIOUR == "stays":
        time.sleep(3_600)


main()
