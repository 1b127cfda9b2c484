"""The client as a program uses it: what is asked, what is answered, what goes wrong."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from tests.servers.engine_api import KEY, TALK, CutLines, FakeEngine
from tests.servers.serving import listening

import toolwright.client
from toolwright.client import EngineClient, EngineRefused, EngineUnreachable, Events
from toolwright.client.http_door import HttpDoor
from toolwright.contracts.errors import NotPossible, ToolwrightError


@contextmanager
def opened(app: FakeEngine, key: str = KEY) -> Iterator[EngineClient]:
    with EngineClient(door=HttpDoor("http://engine", key, transport=CutLines(app))) as engine:
        yield engine


# --- a turn ---------------------------------------------------------------------------------------


def test_a_turn_is_a_list_of_events() -> None:
    app = FakeEngine(TALK)
    with opened(app) as engine:
        response = engine.execute(message="What were the last 3 commits?", task_id="test-001", direct=True)
        tool_calls = [e for e in response if e["type"] == "tool_call"]
        assert any(c["tool"] == "git_log" for c in tool_calls)
        assert [e["type"] for e in response] == [e["type"] for e in response]
        assert len(response) == len(TALK) - 1
        assert response[0]["phase"] == "started"
        assert response[-1]["phase"] == "completed"
        assert response[1:3] == list(response)[1:3]
        assert response == list(response)
        assert response[0] in response
        with pytest.raises(IndexError):
            response[99]
    [(_, _, body)] = app.asked
    assert body == {"message": "What were the last 3 commits?", "task_id": "test-001", "direct": True}


def test_what_is_asked_of_most_turns_has_a_name() -> None:
    app = FakeEngine(TALK, [TALK[0], ("error", {"error": "CONTEXT_OVERFLOW", "message": "full"})])
    with opened(app) as engine:
        response = engine.execute("Hi", task_id="t")
        assert (response.text, response.error) == ("I look – ﬁrst. Three commits.", None)
        assert [event["output"] for event in response.of("tool_result")] == ["a\nb\n\ndata: c"]
        failed = engine.execute("Hi", task_id="t").error
        assert failed is not None
        assert failed["error"] == "CONTEXT_OVERFLOW"


def test_events_are_there_before_the_turn_is_over() -> None:
    app = FakeEngine(TALK[:2])
    with opened(app) as engine:
        events = iter(engine.execute("Hi", task_id="t"))
        assert [next(events)["type"], next(events)["type"]] == ["thread_lifecycle", "content_block_start"]
        app.remember("t", TALK[2:], turn_id="turn_1")
        assert [event["type"] for event in events][-1] == "thread_lifecycle"


def test_who_reads_no_further_keeps_what_came() -> None:
    app = FakeEngine(TALK[:2])
    with opened(app) as engine:
        response = engine.execute("Hi", task_id="t")
        assert response[1]["type"] == "content_block_start"
        response.close()
        assert len(response) == 2
        assert "all of them" in repr(response)


@pytest.mark.anyio
async def test_a_program_with_an_event_loop_awaits_them() -> None:
    with opened(FakeEngine(TALK)) as engine:
        types = [event["type"] async for event in engine.aexecute("Hi", task_id="t")]
    assert (types[0], types[-1], len(types)) == ("thread_lifecycle", "thread_lifecycle", len(TALK) - 1)


@pytest.mark.anyio
async def test_an_error_reaches_a_program_with_an_event_loop() -> None:
    with opened(FakeEngine(), key="wrong") as engine:
        with pytest.raises(EngineRefused, match="INVALID_KEY"):
            async for _ in engine.aexecute("Hi", task_id="t"):
                pass


# --- everything else ------------------------------------------------------------------------------

SKILL = {"name": "a/b", "prompt_template": "x"}


@pytest.mark.parametrize(
    ("ask", "asked", "body", "answer", "returned"),
    [
        (
            lambda e: e.respond("t", "yes", feedback="once", request_id="hitl-1"),
            "POST /hitl/respond",
            {"task_id": "t", "answer": "yes", "feedback": "once", "request_id": "hitl-1"},
            {"status": "resumed", "request_id": "hitl-1"},
            {"status": "resumed", "request_id": "hitl-1"},
        ),
        (
            lambda e: e.respond("t", "blue", content_blocks=[{"type": "image"}]),
            "POST /hitl/respond",
            {"task_id": "t", "answer": "blue", "content_blocks": [{"type": "image"}]},
            {"status": "resumed"},
            {"status": "resumed"},
        ),
        (
            lambda e: e.pending(),
            "GET /hitl/pending",
            None,
            {"pending": [{"task_id": "t"}]},
            [{"task_id": "t"}],
        ),
        (
            lambda e: e.rpc("tool.git_log", {"limit": 1}, task_id="t"),
            "POST /rpc",
            {"method": "tool.git_log", "params": {"limit": 1}, "task_id": "t"},
            {"result": [1]},
            [1],
        ),
        (
            lambda e: e.rpc("skill.x"),
            "POST /rpc",
            {"method": "skill.x", "params": {}},
            {"result": None},
            None,
        ),
        (lambda e: e.reload_catalog(), "POST /admin/reload-catalog", {}, {"tools": 3}, {"tools": 3}),
        (lambda e: e.cancel("t"), "POST /execute/cancel", {"task_id": "t"}, {"status": "x"}, {"status": "x"}),
        (lambda e: e.tools(), "GET /tools", None, [], []),
        (lambda e: e.skills.list(), "GET /skills", None, [SKILL], [SKILL]),
        (lambda e: e.skills.get("a/b"), "GET /skills/a%2Fb", None, SKILL, SKILL),
        (
            lambda e: e.skills.create("a", prompt="x"),
            "POST /skills/create",
            {"name": "a", "prompt": "x"},
            SKILL,
            SKILL,
        ),
        (lambda e: e.skills.update("a", prompt="y"), "PUT /skills/a", {"prompt": "y"}, SKILL, SKILL),
        (
            lambda e: e.skills.delete("a"),
            "DELETE /skills/a",
            None,
            {"status": "deleted"},
            {"status": "deleted"},
        ),
        (lambda e: e.assets.servers(), "GET /assets/servers", None, [], []),
        (lambda e: e.assets.connections(), "GET /assets/connections", None, [], []),
        (
            lambda e: e.assets.connect("slack", {"api_key": "k"}),
            "POST /assets/connect",
            {"server_name": "slack", "server_config": {"api_key": "k"}},
            {"ref_id": "conn-1"},
            {"ref_id": "conn-1"},
        ),
        (
            lambda e: e.assets.connect("slack"),
            "POST /assets/connect",
            {"server_name": "slack", "server_config": None},
            {"ref_id": "conn-1"},
            {"ref_id": "conn-1"},
        ),
        (lambda e: e.assets.disconnect("c?1"), "DELETE /assets/connections/c%3F1", None, {}, {}),
    ],
)
def test_each_verb_asks_what_is_documented(
    ask: Callable[[EngineClient], Any], asked: str, body: Any, answer: Any, returned: Any
) -> None:
    app = FakeEngine()
    app.answers[asked] = (200, answer)
    with opened(app) as engine:
        assert ask(engine) == returned
    assert app.asked == [(*asked.split(" "), body)]


def test_health_needs_no_key() -> None:
    app = FakeEngine()
    app.answers["GET /health"] = (200, {"status": "ok"})
    with opened(app, key="") as engine:
        assert engine.health() == {"status": "ok"}


# --- what goes wrong ------------------------------------------------------------------------------


def test_an_error_says_what_it_is() -> None:
    app = FakeEngine()
    busy = {"error": "TASK_BUSY", "message": "a turn runs", "details": {"turn_id": "turn_9"}}
    app.answers["POST /execute"] = (409, busy)
    with opened(app) as engine, pytest.raises(EngineRefused, match=r"^TASK_BUSY: a turn runs$") as raised:
        engine.execute("Hi", task_id="t")
    problem = raised.value
    assert (problem.code, problem.status, problem.details) == ("TASK_BUSY", 409, {"turn_id": "turn_9"})
    assert isinstance(problem, ToolwrightError)


def test_a_tool_says_itself_why_it_failed() -> None:
    app = FakeEngine()
    app.answers["POST /rpc"] = (422, {"error": "rate_limited", "message": "wait", "retry_after": 30})
    with opened(app) as engine, pytest.raises(EngineRefused) as raised:
        engine.rpc("tool.web_search", {"query": "x"})
    assert (raised.value.code, raised.value.details) == ("rate_limited", {"retry_after": 30})


def test_a_wrong_key_says_where_to_put_the_right_one() -> None:
    with opened(FakeEngine(), key="wrong") as engine:
        with pytest.raises(EngineRefused, match="INVALID_KEY: the key is missing or wrong Set ENGINE_KEY"):
            engine.pending()


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"[]", b'{"detail": "no"}', b"\xff"])
def test_an_answer_that_is_not_that_of_an_engine_is_told(body: bytes) -> None:
    app = FakeEngine()
    app.answers["GET /tools"] = (502, body)
    with (
        opened(app) as engine,
        pytest.raises(EngineRefused, match="HTTP_502: the answer is not that of an engine"),
    ):
        engine.tools()


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": NaN}', b"[" * 100_000])
def test_what_is_no_json_is_told(body: bytes) -> None:
    app = FakeEngine()
    app.answers["GET /tools"] = (200, body)
    with (
        opened(app) as engine,
        pytest.raises(ToolwrightError, match="GET /tools was answered with what is no JSON"),
    ):
        engine.tools()


def test_a_closed_client_says_so() -> None:
    engine = EngineClient(door=HttpDoor("http://engine", KEY, transport=CutLines(FakeEngine(TALK))))
    engine.close()
    engine.close()
    for ask in (engine.pending, lambda: engine.execute("Hi", task_id="t")):
        with pytest.raises(NotPossible, match="this client is closed"):
            ask()


def test_a_package_offers_its_names_and_nothing_else() -> None:
    assert all(getattr(toolwright.client, name) for name in toolwright.client.__all__)
    assert dir(toolwright.client) == sorted(toolwright.client.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Engine'"):
        toolwright.client.__getattr__("Engine")


# --- over a real line -----------------------------------------------------------------------------


@contextmanager
def served(app: FakeEngine) -> Iterator[str]:
    """Serve an application in a loop of its own; yields its address."""
    with start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(listening(app)) as port:
            yield f"http://127.0.0.1:{port}"


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FakeEngine(TALK)
    with served(app) as url:
        monkeypatch.setenv("ENGINE_URL", f"{url}/")
        monkeypatch.setenv("ENGINE_KEY", KEY)
        with EngineClient() as engine:
            assert engine.execute("Hi", task_id="t").text == "I look – ﬁrst. Three commits."
        with EngineClient(api_key="") as engine, pytest.raises(EngineRefused, match="INVALID_KEY"):
            engine.pending()


@pytest.mark.parametrize("cuts", [[0], [1, 100, 250], [500, 0, 0]])
def test_a_real_line_that_breaks_is_taken_up_again(cuts: list[int | None]) -> None:
    app = FakeEngine(TALK, now=int(time.time() * 1000), says_date=False)  # the server says it
    app.cuts = list(cuts)
    with served(app) as url, EngineClient(url, KEY) as engine:
        response = engine.execute("Hi", task_id="t")
        assert [event["type"] for event in response] == [type for type, _ in TALK if type != "heartbeat"]
    assert app.executed == 1


def test_nobody_there_is_told_with_the_address() -> None:
    with served(FakeEngine()) as url:
        pass
    with EngineClient(url, KEY) as engine, pytest.raises(EngineUnreachable, match=f"nobody answers at {url}"):
        engine.execute("Hi", task_id="t")


def test_several_turns_are_read_at_once() -> None:
    app = FakeEngine(TALK, TALK, TALK)
    with served(app) as url, EngineClient(url, KEY) as engine:
        responses: list[Events] = [engine.execute("Hi", task_id=f"t{n}") for n in range(3)]
        assert [response[0]["task_id"] for response in responses] == ["t0", "t1", "t2"]
        assert {len(response) for response in responses} == {len(TALK) - 1}
