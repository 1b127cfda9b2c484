"""The client of the Engine API with an engine in this process. Of a server: EngineClient(url, key)."""

from toolwright import ScriptedModel, call, tool
from toolwright.client import EngineClient


@tool(read_only=True)
def find_recent_commits(limit: int = 10) -> list[str]:
    """Return the most recent commits on the current branch, the newest first.

    Args:
        limit: Number of commits to return.
    """
    return ["8c44ab1 Mend the fence", "17f0c2e Paint it", "0d9e6b2 Build it"][:limit]


model = ScriptedModel([call("find_recent_commits", limit=2), "The fence was mended and painted."])

if __name__ == "__main__":
    with EngineClient.local(model, tools=[find_recent_commits]) as engine:
        response = engine.execute(message="What were the last 2 commits?", task_id="example")
        for event in response:
            if event["type"] == "tool_call":
                print(event["tool"], event["input"])
        assert any(call["tool"] == "find_recent_commits" for call in response.of("tool_call"))
        print(response.text)
        print(len(engine.replay(task_id="example")) == len(response))
