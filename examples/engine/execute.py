"""Run one turn and print what happens."""

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

URL = os.environ.get("ENGINE_URL", "http://127.0.0.1:8000")
HEADERS = {"X-Engine-Key": os.environ["ENGINE_KEY"], "Content-Type": "application/json"}


def execute(message: str, task_id: str) -> Iterator[dict[str, Any]]:
    """Yield the events of one turn as they come."""
    body = json.dumps({"message": message, "task_id": task_id}).encode()
    request = urllib.request.Request(f"{URL}/execute", data=body, headers=HEADERS)
    with urllib.request.urlopen(request) as response:
        for line in response:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


if __name__ == "__main__":
    for event in execute("Which files are here?", "example-1"):
        if event["type"] == "tool_call":
            print(f"[{event['tool']}]")
        elif event["type"] == "text_delta":
            print(event["text"], end="")
    print()
