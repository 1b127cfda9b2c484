"""Say yes to what is asked."""

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

URL = os.environ.get("ENGINE_URL", "http://127.0.0.1:8000")
HEADERS = {"X-Engine-Key": os.environ["ENGINE_KEY"], "Content-Type": "application/json"}


def post(path: str, body: dict[str, Any]) -> Any:
    """Return an open answer."""
    request = urllib.request.Request(f"{URL}{path}", json.dumps(body).encode(), HEADERS)
    return urllib.request.urlopen(request)


def events(response: Any) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


with post("/execute", {"message": "Clean up for good.", "task_id": "example-3"}) as response:
    for event in events(response):
        if event["type"] == "hitl_request":
            print(event["question"])
            answer = {"task_id": event["task_id"], "request_id": event["request_id"], "answer": "yes"}
            with post("/hitl/respond", answer) as resumed:
                print(json.load(resumed)["status"])
        elif event["type"] == "text_delta":
            print(event["text"], end="")
print()
