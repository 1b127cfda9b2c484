"""A log told as events of the Engine API: order, results in the order of calls, ends, questions."""

from typing import Any

import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallStarted,
    CallWaiting,
    Compacted,
    Event,
    InputAccepted,
    ModelAnswered,
    ModelFailed,
    Record,
    RunEnded,
    RunStarted,
    SessionCreated,
)
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import TextDelta, Usage
from toolwright.contracts.permissions import ApprovalRequest, Reason
from toolwright.surfaces.engine_events import TurnTelling

SAID = InputAccepted(input_id="input_77", content="Hi")
BEGUN = RunStarted(run_id="run_1", epoch=1)
USAGE = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=3, cache_write_tokens=2)


def ended(end: Any, message: str = "") -> RunEnded:
    return RunEnded(run_id="run_1", end=end, message=message)


def answered(*blocks: SaidBlock, cut: bool = False) -> ModelAnswered:
    return ModelAnswered(turn_id="turn_a", blocks=blocks, stop="end_turn", usage=USAGE, cut=cut)


def result(call_id: str, content: str = "ok", **more: Any) -> CallEnded:
    given = {"state": "done", **more}
    return CallEnded(call_id=call_id, tool="read", offered_name="read_file", content=content, **given)


def told(*events: Event) -> list[dict[str, Any]]:
    telling = TurnTelling("task-1")
    created = SessionCreated(session_id="session_1", agent=AgentDefinition())
    records = [
        Record("session_1", seq, 100.0 + seq / 10_000, event)
        for seq, event in enumerate([created, *events], 1)
    ]
    return [event for record in records for event in telling.take(record)]


def short(*events: Event) -> list[tuple[str, dict[str, Any]]]:
    frame = {"type", "task_id", "turn_id", "timestamp", "ts", "seq"}
    return [(event["type"], {k: v for k, v in event.items() if k not in frame}) for event in told(*events)]


def types(*events: Event) -> list[str]:
    return [event["type"] for event in told(*events)]


def test_a_turn_is_told_in_the_documented_order() -> None:
    assert short(
        SAID,
        BEGUN,
        answered(
            ThinkingBlock("Hm."),
            TextBlock("I "),
            TextBlock("look."),
            CallBlock("c1", "read_file", '{"path": "a"}'),
        ),
        CallStarted(call_id="c1", tool="read", idempotency_key="k"),
        result("c1", "text of a"),
        answered(TextBlock("Done.")),
        ended("done"),
    ) == [
        ("thread_lifecycle", {"phase": "started", "message_id": "input_77"}),
        ("content_block_start", {"block_index": 0, "block_type": "thinking"}),
        ("thinking_delta", {"text": "Hm."}),
        ("content_block_stop", {"block_index": 0, "block_type": "thinking"}),
        ("content_block_start", {"block_index": 1, "block_type": "text"}),
        ("text_delta", {"text": "I look."}),
        ("content_block_stop", {"block_index": 1, "block_type": "text"}),
        ("content_block_start", {"block_index": 2, "block_type": "tool_use"}),
        ("content_block_stop", {"block_index": 2, "block_type": "tool_use"}),
        ("usage", {"input_tokens": 15, "output_tokens": 5, "cache_hit_tokens": 3}),
        ("tool_call", {"tool": "read_file", "tool_call_id": "c1", "input": {"path": "a"}}),
        ("tool_result", {"tool": "read_file", "tool_call_id": "c1", "output": "text of a", "error": None}),
        ("content_block_start", {"block_index": 0, "block_type": "text"}),
        ("text_delta", {"text": "Done."}),
        ("content_block_stop", {"block_index": 0, "block_type": "text"}),
        ("usage", {"input_tokens": 15, "output_tokens": 5, "cache_hit_tokens": 3}),
        (
            "thread_lifecycle",
            {"phase": "completed", "assistant_message_id": "msg_a", "stop_reason": "end_turn"},
        ),
    ]


def test_every_event_says_where_it_belongs_and_stamps_only_grow() -> None:
    events = told(SAID, BEGUN, answered(TextBlock("Hi")), ended("done"))
    assert {(event["task_id"], event["turn_id"]) for event in events} == {("task-1", "turn_77")}
    stamps = [event["ts"] for event in events]
    assert stamps == sorted(set(stamps))
    assert stamps[0] == 100_000
    assert events[0]["timestamp"] == "1970-01-01T00:01:40.000Z"
    assert [event["seq"] for event in events] == [2, 4, 4, 4, 4, 5]
    assert events == told(SAID, BEGUN, answered(TextBlock("Hi")), ended("done"))


def test_results_come_in_the_order_of_the_calls() -> None:
    calls = [CallBlock(f"c{n}", "read_file", "{}") for n in (1, 2, 3)]
    events = told(SAID, BEGUN, answered(*calls), result("c3"), result("c1"), result("c2"))
    order = [event["tool_call_id"] for event in events if event["type"] == "tool_result"]
    assert order == ["c1", "c2", "c3"]
    assert types(SAID, answered(*calls), result("c3")).count("tool_result") == 0


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (
            {"state": "failed", "code": "file_not_found", "content": "Error [file_not_found]: no a\nHint: b"},
            {"error": "not_found", "message": "no a\nHint: b"},
        ),
        (
            {"state": "denied", "code": "rejected_by_user", "content": "No."},
            {"error": "permission_denied", "message": "No."},
        ),
        (
            {"state": "failed", "code": "rate_limited", "content": "x"},
            {"error": "rate_limited", "message": "x"},
        ),
        ({"state": "failed", "content": "x"}, {"error": "tool_crashed", "message": "x"}),
        (
            {"state": "interrupted", "code": "interrupted", "content": "x"},
            {"error": "cancelled", "message": "x"},
        ),
    ],
)
def test_a_call_that_failed_has_an_error_object_and_no_output(more: dict[str, Any], error: Any) -> None:
    events = short(SAID, answered(CallBlock("c1", "read_file", "{}")), result("c1", **more))
    assert events[-1] == (
        "tool_result",
        {"tool": "read_file", "tool_call_id": "c1", "output": "", "error": error},
    )


def test_an_input_that_is_no_json_is_told_as_empty() -> None:
    events = short(SAID, answered(CallBlock("c1", "read_file", "{broken")))
    assert events[-1] == ("tool_call", {"tool": "read_file", "tool_call_id": "c1", "input": {}})


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("done", "end_turn"),
        ("returned", "end_turn"),
        ("stopped", "stopped"),
        ("refusal", "refusal"),
        ("max_tokens", "max_tokens"),
        ("interrupted", "cancelled"),
    ],
)
def test_ends_that_are_no_failures(end: Any, reason: str) -> None:
    last = told(SAID, BEGUN, ended(end))[-1]
    assert (last["phase"], last["stop_reason"], last["assistant_message_id"]) == ("completed", reason, None)


@pytest.mark.parametrize(
    ("events", "end", "code"),
    [
        ((), "context_full", "CONTEXT_OVERFLOW"),
        ((), "limit", "ITERATION_LIMIT"),
        ((ModelFailed(turn_id="t", code="rate_limited", message="x"),), "failed", "LLM_RATE_LIMITED"),
        ((ModelFailed(turn_id="t", code="unauthorized", message="x"),), "failed", "LLM_PROVIDER_ERROR"),
    ],
)
def test_a_failure_is_told_twice_and_the_error_comes_last(events: Any, end: Any, code: str) -> None:
    why = {"error": code, "message": "so it is"}
    assert short(SAID, BEGUN, *events, ended(end, "so it is"))[-2:] == [
        ("thread_lifecycle", {"phase": "errored", **why}),
        ("error", why),
    ]


def test_calls_of_an_answer_that_was_cut_are_not_told() -> None:
    assert "tool_call" not in types(SAID, answered(CallBlock("c1", "read_file", "{}"), cut=True))


def test_words_that_are_in_no_log_tell_nothing() -> None:
    assert TurnTelling("t").take(Record("s", None, 1.0, TextDelta("x"))) == []


def test_a_turn_that_nobody_spoke_for_begins_with_its_run() -> None:
    events = told(BEGUN, answered(TextBlock("News.")), ended("done"))
    assert (events[0]["phase"], events[0]["turn_id"], events[0]["message_id"]) == ("started", "turn_1", None)
    assert types(InputAccepted(input_id="i_1", content="x", source="notification")) == []


def test_more_words_in_a_turn_are_of_the_same_turn() -> None:
    later = InputAccepted(input_id="input_78", content="And?")
    assert {event["turn_id"] for event in told(SAID, BEGUN, later, answered(TextBlock("x")))} == {"turn_77"}


def test_a_shortened_conversation_is_told() -> None:
    event = Compacted(messages=3, summary="s", tokens_before=900, usage=USAGE)
    assert short(SAID, BEGUN, event)[-1] == (
        "compaction_event",
        {"before_tokens": 900, "after_tokens": 5, "strategy": "summary"},
    )


def test_a_turn_waits_for_its_question_and_goes_on() -> None:
    request = ApprovalRequest(
        request_id="req_1",
        call_id="c1",
        tool="bash",
        offered_name="bash",
        title="Run",
        description="",
        input={"command": "rm x"},
        fingerprint="f",
        reason=Reason(kind="default", detail="nothing allows it"),
    )
    waiting = CallWaiting(call_id="c1", tool="bash", kind="permission", request=request)
    events = short(
        SAID,
        BEGUN,
        answered(CallBlock("c1", "bash", '{"command": "rm x"}')),
        waiting,
        ended("waiting"),
        CallAnswered(call_id="c1", tool="bash", answer=request.allowed()),
        RunStarted(run_id="run_2", epoch=2),
        result("c1"),
        ended("done"),
    )
    asked = {
        "request_id": "req_1",
        "kind": "permission",
        "question": "May bash run? nothing allows it",
        "tool": "bash",
        "tool_call_id": "c1",
        "input": {"command": "rm x"},
        "reason": "nothing allows it",
        "rule": None,
    }
    assert [event[0] for event in events] == [
        "thread_lifecycle",
        "content_block_start",
        "content_block_stop",
        "usage",
        "tool_call",
        "hitl_request",
        "hitl_resolved",
        "tool_result",
        "thread_lifecycle",
    ]
    assert events[5][1] == asked
    assert events[6][1] == {"request_id": "req_1", "answer": "yes"}
