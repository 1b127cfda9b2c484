"""Lines that break: every event comes once and in order, and no turn is begun twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from tests.servers.engine_api import KEY, TALK, CutLines, FakeEngine, turn

from toolwright.client import EngineClient, EngineRefused, EngineUnreachable, StreamLost, WireFault
from toolwright.client.http_door import HttpDoor

FAILED = [
    ("thread_lifecycle", {"phase": "started"}),
    ("text_delta", {"text": "I begin."}),
    ("thread_lifecycle", {"phase": "errored", "error": "LLM_PROVIDER_ERROR", "message": "gone"}),
    ("error", {"error": "LLM_PROVIDER_ERROR", "message": "gone"}),
]


async def at_once(seconds: float) -> None:
    del seconds
    await anyio.sleep(0)


def client(app: FakeEngine, *, patience: float = 60.0, **lines: int) -> EngineClient:
    door = HttpDoor("http://engine", KEY, patience=patience, transport=CutLines(app, **lines), sleep=at_once)
    return EngineClient(door=door)


def told(events: Any) -> list[tuple[str, dict[str, Any]]]:
    """What was told, without what the frame says."""
    frame = {"type", "task_id", "turn_id", "ts", "seq"}
    return [(event["type"], {k: v for k, v in event.items() if k not in frame}) for event in events]


def without_heartbeats(events: Any) -> list[tuple[str, dict[str, Any]]]:
    return [event for event in events if event[0] != "heartbeat"]


def length(script: Any) -> int:
    app = FakeEngine()
    return sum(len(app._frame(event)) for event in app.remember("t", script))


def places(script: Any) -> Iterator[int]:
    return iter(range(length(script) + 1))


@contextmanager
def one_client() -> Iterator[tuple[EngineClient, CutLines]]:
    """A client whose engine can be another one each time."""
    lines = CutLines(FakeEngine())
    with EngineClient(door=HttpDoor("http://engine", KEY, transport=lines, sleep=at_once)) as engine:
        yield engine, lines


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (TALK, {}),
        (FAILED, {}),
        (TALK, {"ids_only": True, "names_turn": True}),
        (TALK, {"line_end": "\r\n"}),
    ],
    ids=["done", "failed", "stamps in frames", "other line ends"],
)
def test_a_line_may_break_at_every_byte(script: Any, options: dict[str, Any]) -> None:
    wanted = without_heartbeats(script)
    with one_client() as (engine, lines):
        for place in places(script):
            app = lines.app = FakeEngine(script, **options)
            app.cuts = [place]
            assert told(engine.execute(message="Hi", task_id=f"task {place}")) == wanted, place
            assert app.executed == 1


def test_a_line_may_break_again_and_again() -> None:
    app = FakeEngine(TALK)
    app.cuts = [150] * 40
    with client(app) as engine:
        events = engine.execute(message="Hi", task_id="t")
        assert told(events) == without_heartbeats(TALK)
        stamps = [event["ts"] for event in events]
        assert stamps == sorted(set(stamps))
    assert app.executed == 1
    assert len(app.asked) > 5


def test_a_clean_end_before_the_turn_is_over_is_no_end() -> None:
    app = FakeEngine(TALK[:4])
    app.then = lambda: app.remember("t", TALK[4:], turn_id="turn_1")
    with client(app) as engine:
        assert told(engine.execute(message="Hi", task_id="t")) == without_heartbeats(TALK)
    assert app.executed == 1


def test_only_the_turn_that_was_asked_for_is_told() -> None:
    app = FakeEngine(TALK, names_turn=False)
    app.remember("t", turn(("text_delta", {"text": "earlier"})))
    app.remember("other", turn(("text_delta", {"text": "of another task"})))
    app.now += 60_000
    app.cuts = [0]
    with client(app) as engine:
        assert told(engine.execute(message="Hi", task_id="t")) == without_heartbeats(TALK)


def test_a_turn_is_told_from_the_one_before_on_the_same_task() -> None:
    app = FakeEngine(TALK, turn(("text_delta", {"text": "Again."})))
    with client(app) as engine:
        first = engine.execute(message="Hi", task_id="t")
        assert first.text == "I look – ﬁrst. Three commits."
        app.cuts = [0]
        assert engine.execute(message="And?", task_id="t").text == "Again."
        assert len(first) == len(TALK) - 1


def test_a_later_turn_of_others_is_not_told() -> None:
    app = FakeEngine(TALK)
    app.cuts = [200]
    app.then = lambda: app.remember("t", turn(("text_delta", {"text": "of another"})))
    with client(app) as engine:
        assert told(engine.execute(message="Hi", task_id="t")) == without_heartbeats(TALK)


def test_a_server_that_is_being_restarted_is_waited_for() -> None:
    app = FakeEngine(TALK)
    app.cuts, app.busy = [300], 5
    with client(app) as engine:
        assert told(engine.execute(message="Hi", task_id="t")) == without_heartbeats(TALK)


def test_what_cannot_be_taken_up_again_says_where_it_stands() -> None:
    app = FakeEngine(TALK)
    app.cuts, app.busy = [300], 10**6
    with client(app, patience=0.2) as engine:
        events = engine.execute(message="Hi", task_id="t")
        with pytest.raises(StreamLost, match=r"SHUTTING_DOWN.* It may still run: replay\(after=") as raised:
            len(events)
        app.busy = 0
        rest = engine.replay(raised.value.after, task_id="t")
        seen = [event["ts"] for event in app.buffer if event["ts"] <= raised.value.after]
        assert len(rest) + len(seen) in {len(TALK), len(TALK) - 1}  # the heartbeat is told to nobody


def test_a_turn_of_which_the_engine_knows_no_more_is_lost() -> None:
    app = FakeEngine(TALK)
    app.cuts, app.then = [300], app.buffer.clear
    with client(app) as engine:
        events = engine.execute(message="Hi", task_id="t")
        with pytest.raises(EngineRefused, match="TASK_NOT_FOUND"):
            len(events)
        assert events[0]["phase"] == "started"


# --- before anything came -----------------------------------------------------------------------


def test_nobody_there_is_told_at_once_and_nothing_was_begun() -> None:
    app = FakeEngine(TALK)
    with client(app, refused=1) as engine:
        with pytest.raises(EngineUnreachable, match="nobody answers at http://engine"):
            engine.execute(message="Hi", task_id="t")
        assert app.executed == 0
        assert engine.execute(message="Hi", task_id="t").error is None


def test_a_turn_that_may_have_begun_is_never_begun_again() -> None:
    app = FakeEngine(TALK)
    with client(app, hung_up=1) as engine:
        with pytest.raises(StreamLost, match=r"not known whether the turn has begun: look with replay"):
            engine.execute(message="Hi", task_id="t")
    assert app.executed == 0


def test_a_question_that_may_have_been_carried_out_is_not_asked_again() -> None:
    app = FakeEngine()
    with client(app, hung_up=1) as engine:
        with pytest.raises(EngineUnreachable, match="not known whether POST /rpc was carried out"):
            engine.rpc("tool.git_log")
    assert app.asked == []


def test_what_is_no_event_ends_it() -> None:
    app = FakeEngine([TALK[0], ("text_delta", {"text": "x", "turn_id": 5})])
    with client(app) as engine:
        events = engine.execute(message="Hi", task_id="t")
        with pytest.raises(WireFault, match="the turn of an event 'text_delta' is no text"):
            len(events)
        assert [event["type"] for event in events] == ["thread_lifecycle"]


def test_an_answer_that_is_no_stream_is_refused() -> None:
    app = FakeEngine()
    app.answers["POST /execute"] = (200, {"status": "ok"})
    with (
        client(app) as engine,
        pytest.raises(WireFault, match="answered with application/json, not with events"),
    ):
        engine.execute(message="Hi", task_id="t")


# --- replay ---------------------------------------------------------------------------------------


def test_a_replay_may_break_at_every_byte() -> None:
    with one_client() as (engine, lines):
        for place in places(TALK):
            app = lines.app = FakeEngine()
            app.remember("t", TALK)
            app.cuts = [place]
            assert told(engine.replay()) == without_heartbeats(TALK), place


def test_a_replay_is_of_one_task_or_of_all_and_behind_a_stamp() -> None:
    app = FakeEngine()
    first = app.remember("a", turn())
    app.remember("b", turn())
    with client(app) as engine:
        assert [event["task_id"] for event in engine.replay()] == ["a", "a", "b", "b"]
        assert [event["task_id"] for event in engine.replay(first[0]["ts"])] == ["a", "b", "b"]
        assert [event["task_id"] for event in engine.replay(task_id="b")] == ["b", "b"]
        with pytest.raises(EngineRefused, match="there is no task c"):
            engine.replay(task_id="c")
