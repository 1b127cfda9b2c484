"""What happens to calls reaches the log, and a start that cannot be repeated is durable before the work."""

from dataclasses import replace

import pytest
from tests.rooms.turns.fakes import ListLog, answer
from tests.rooms.turns.test_conversation import REQUEST, started

from toolwright.contracts.events import CallDiscarded, CallEnded, CallStarted, CallWaiting
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.tool import CallResult, Done, Outcome, Waiting
from toolwright.turns.call_log import CallLog

pytestmark = pytest.mark.anyio


def result(outcome: Outcome) -> CallResult:
    return CallResult(call_id="1", tool="look", offered_name="look", outcome=outcome, content="seen")


@pytest.mark.parametrize(("repeatable", "waits"), [(False, 1), (True, 0)])
async def test_what_cannot_be_repeated_begins_only_once_its_start_is_durable(
    repeatable: bool, waits: int
) -> None:
    log = ListLog()
    await CallLog(log).starting(started(repeatable=repeatable))
    assert log.of(CallStarted) == [started(repeatable=repeatable)]
    assert log.waits == waits


def test_a_result_is_recorded_at_once() -> None:
    log = ListLog()
    CallLog(log).concluded(result(Done("seen")))
    [ended] = log.of(CallEnded)
    assert (ended.call_id, ended.state, ended.content) == ("1", "done", "seen")


def test_a_question_that_is_put_again_keeps_its_name() -> None:
    log = ListLog()
    log.record(answer(CallBlock("1", "look", "{}")))
    calls = CallLog(log)
    calls.concluded(result(Waiting("permission", REQUEST)))
    calls.concluded(result(Waiting("permission", replace(REQUEST, request_id="req_2"))))
    first, second = log.of(CallWaiting)
    assert first.request == second.request == REQUEST


def test_a_call_of_an_answer_that_broke_off_is_said_to_count_for_nothing() -> None:
    log = ListLog()
    CallLog(log).discarded("1", "look")
    assert log.of(CallDiscarded) == [CallDiscarded(call_id="1", tool="look")]
