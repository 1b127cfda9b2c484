"""A task is a session that the other dialect finds, too."""

from pathlib import Path

import pytest
from anthropic import AsyncAnthropic

from toolwright.testing import call

from .conftest import KEY, serving

pytestmark = pytest.mark.anyio


async def test_the_official_client_lists_and_reads_a_task(tmp_path: Path) -> None:
    async with serving(tmp_path, [call("find"), "Nothing."]) as server:
        await server.client.execute("Look", "my-task")
        client = AsyncAnthropic(
            base_url=server.address, api_key=KEY, max_retries=0, _strict_response_validation=True
        )
        async with client:
            (session,) = [session async for session in client.beta.sessions.list()]
            assert session.title == "Task my-task"
            assert session.status == "idle"
            events = [event.type async for event in client.beta.sessions.events.list(session.id)]
        assert "user.message" in events
        assert "agent.tool_use" in events
        assert events[-1] == "session.status_idle"


async def test_a_task_whose_session_was_deleted_is_told_so(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Hello."]) as server:
        await server.client.execute("Hi", "t1")
        async with AsyncAnthropic(base_url=server.address, api_key=KEY, max_retries=0) as client:
            (session,) = [session async for session in client.beta.sessions.list()]
            await client.beta.sessions.delete(session.id)
        refused = await server.client.error("/execute", {"message": "x", "task_id": "t1"}, 404)
        assert refused["error"] == "TASK_NOT_FOUND"
        assert (await server.client.get("/hitl/pending")).json() == {"pending": []}
        answer = await server.client.get("/execute/replay", task_id="t1", after=0)
        assert (answer.status_code, answer.json()["error"]) == (404, "TASK_NOT_FOUND")
