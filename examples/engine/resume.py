"""Leave in the middle of a turn, come back, and miss nothing."""

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

URL = os.environ.get("ENGINE_URL", "http://127.0.0.1:8000")
HEADERS = {"X-Engine-Key": os.environ["ENGINE_KEY"], "Content-Type": "application/json"}


def events(path: str, body: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{URL}{path}", data, HEADERS)) as response:
        for line in response:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


last = 0
for event in events("/execute", {"message": "Which files are here?", "task_id": "example-2"}):
    last = event["ts"]
    if event["type"] == "tool_call":
        print("left")
        break

for event in events(f"/execute/replay?task_id=example-2&after={last}"):
    if event["type"] == "text_delta":
        print(event["text"], end="")
print()
