"""The verbs of sessions, and what they refuse: second answers, ids nobody gave, sessions that ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import engine, log_of, weigh

from toolwright import Engine, ScriptedModel, Session, call, tool
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import EngineFault, NotPossible, RuleError
from toolwright.contracts.events import CallAnswered, InputAccepted, InputDropped, SessionEnded
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.contracts.storage import StoreUnavailable, UnknownSession
from toolwright.sessions.service import Sessions
from toolwright.testing import MemoryEvents

pytestmark = pytest.mark.anyio

ASKS: Any = ["I write.", call("weigh", thing="flour"), call("note", text="milk")]
Verb = Callable[[Sessions, str], Awaitable[object]]


def allow(request: ApprovalRequest, message: str = "") -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=request.request_id, fingerprint=request.fingerprint, behavior="allow", message=message
    )


def deny(request: ApprovalRequest) -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=request.request_id, fingerprint=request.fingerprint, behavior="deny", message="No."
    )


@tool(concurrency_safe=True, touches=())
def note(text: str) -> str:
    """Note something, beside everything else.

    Args:
        text: What to note.
    """
    return f"noted {text}"


@pytest.fixture
def store() -> MemoryEvents:
    return MemoryEvents()


@pytest.fixture
async def works(tmp_path: Path, store: MemoryEvents) -> AsyncIterator[Engine]:
    model = ScriptedModel([ASKS, "Done.", ASKS, "Done."])
    async with store, engine(tmp_path, model, store=store, answers_later=True, tools=[note, weigh]) as works:
        yield works


@pytest.fixture
async def asked(works: Engine) -> Session:
    """A session that waits for a person and for its client."""
    session = await works.session()
    result = await session.run("Write down what you need.")
    assert (len(result.approvals), len(result.deliveries)) == (1, 1)
    return session


def sessions_of(works: Engine) -> Sessions:
    return works.works.sessions


async def events_of(session: Session, kind: type) -> list[Any]:
    return [record.event for record in await log_of(session) if isinstance(record.event, kind)]


# --- answers --------------------------------------------------------------------------------------


async def test_the_first_answer_counts_and_a_second_one_is_told_so(asked: Session) -> None:
    (request,) = (await asked.result()).approvals
    assert await asked.answer(deny(request))
    assert not await asked.answer(allow(request))
    await asked.quiet()
    assert not await asked.answer(allow(request))  # the call is over
    (answered,) = await events_of(asked, CallAnswered)
    assert answered.answer.behavior == "deny"


async def test_of_answers_at_the_same_moment_one_counts(asked: Session) -> None:
    (request,) = (await asked.result()).approvals
    counted = await asyncio.gather(*(asked.answer(allow(request, f"answer {n}")) for n in range(5)))
    assert sorted(counted) == [False] * 4 + [True]
    (answered,) = await events_of(asked, CallAnswered)
    assert answered.answer.message == f"answer {counted.index(True)}"


async def test_a_question_whose_message_is_settled_is_answered_too_late(asked: Session) -> None:
    result = await asked.result()
    await asked.interrupt()
    await asked.quiet()
    assert not await asked.answer(allow(result.approvals[0]))
    assert not await asked.deliver(result.deliveries[0].call_id, "2 kg")
    assert await events_of(asked, CallAnswered) == []


async def test_an_answer_to_a_question_that_was_never_put_is_refused(asked: Session) -> None:
    (request,) = (await asked.result()).approvals
    stranger = ApprovalAnswer(request_id="req_0", fingerprint=request.fingerprint, behavior="allow")
    with pytest.raises(NotPossible, match="No call waits for an answer to req_0"):
        await asked.answer(stranger)


async def test_an_answer_that_is_about_something_else_is_refused_and_the_question_stays(
    asked: Session,
) -> None:
    (request,) = (await asked.result()).approvals
    unfit = ApprovalAnswer(request_id=request.request_id, fingerprint="of another input", behavior="allow")
    with pytest.raises(NotPossible):
        await asked.answer(unfit)
    assert (await asked.result()).approvals == (request,)


async def test_the_first_delivery_counts_and_a_second_one_is_told_so(asked: Session) -> None:
    (waiting,) = (await asked.result()).deliveries
    assert await asked.deliver(waiting.call_id, "2 kg")
    assert not await asked.deliver(waiting.call_id, "3 kg")
    (answered,) = await events_of(asked, CallAnswered)
    assert answered.content == "2 kg"


async def test_a_result_for_a_call_that_is_not_the_clients_is_refused(asked: Session) -> None:
    (request,) = (await asked.result()).approvals
    for call_id in (request.call_id, "call_0"):
        with pytest.raises(NotPossible, match=f"No call with the id {call_id} waits for a result"):
            await asked.deliver(call_id, "2 kg")


async def test_a_second_answer_waits_until_the_first_one_is_durable(
    asked: Session, store: MemoryEvents
) -> None:
    (request,) = (await asked.result()).approvals
    store.hold()
    first, second = (asyncio.ensure_future(asked.answer(allow(request, word))) for word in ("one", "two"))
    await anyio.wait_all_tasks_blocked()
    assert not first.done()
    assert not second.done()
    store.let_go()
    assert (await first, await second) == (True, False)


async def test_answers_in_any_order_bring_the_session_on(asked: Session) -> None:
    result = await asked.result()
    await asked.deliver(result.deliveries[0].call_id, "2 kg")
    await asked.answer(allow(result.approvals[0]))
    result = await asked.quiet()
    assert (result.end, result.text) == ("done", "Done.")
    assert list(broken(await log_of(asked))) == []


# --- inputs ---------------------------------------------------------------------------------------


async def test_an_input_with_an_id_of_its_own_is_accepted_once(asked: Session) -> None:
    sent = await asyncio.gather(*(asked.send("And salt.", input_id="salt") for _ in range(3)))
    assert sent == ["salt"] * 3
    accepted = [event.input_id for event in await events_of(asked, InputAccepted)]
    assert accepted.count("salt") == 1


async def test_an_input_is_taken_back_as_long_as_nobody_has_read_it(asked: Session) -> None:
    await asked.send("And salt.", input_id="salt")
    assert await asked.take_back("salt")
    assert not await asked.take_back("salt")
    assert not await asked.take_back("nobody sent this")
    assert [event.input_id for event in await events_of(asked, InputDropped)] == ["salt"]


async def test_the_first_words_of_a_person_name_a_session_that_has_no_name(works: Engine) -> None:
    words = "Write down all that you need for a cake for twenty people, and be quick."
    for title, expected in (("", f"{words[:59]}…"), ("Cake", "Cake")):
        session = await works.session(title=title)
        await session.send(f"{words}\nThanks.")
        assert (await session.state()).title == expected


async def test_what_the_store_refused_is_there_neither_now_nor_later(works: Engine, tmp_path: Path) -> None:
    failing = MemoryEvents(fail=lambda number: OSError("full") if number == 4 else None)
    async with failing, engine(tmp_path / "other", ScriptedModel(["Done."] * 3), store=failing) as other:
        session = await other.session()
        with pytest.raises(StoreUnavailable):
            await session.send("Refused.", input_id="refused")
        assert (await session.run("Accepted.")).ok
        assert (await session.state()).title == "Accepted."
        log = await log_of(session)
    words = [record.event.content for record in log if isinstance(record.event, InputAccepted)]
    assert words == ["Accepted."]
    assert list(broken(log)) == []


# --- the session as a whole -----------------------------------------------------------------------


async def test_there_is_nothing_to_interrupt_in_a_session_that_rests(works: Engine) -> None:
    session = await works.session()
    assert not await session.interrupt()
    assert len(await log_of(session)) == 1


async def test_an_interrupt_answers_what_waits(asked: Session) -> None:
    assert await asked.interrupt("Never mind.")
    result = await asked.quiet()
    assert (result.end, result.message, result.questions) == ("interrupted", "Never mind.", ())
    assert list(broken(await log_of(asked))) == []


VERBS: dict[str, Verb] = {
    "send": lambda sessions, name: sessions.send(name, "More."),
    "retitle": lambda sessions, name: sessions.retitle(name, "Other"),
    "choose_model": lambda sessions, name: sessions.choose_model(name, "fake/big"),
    "change_permissions": lambda sessions, name: sessions.change_permissions(name, [RuleChange("addRules")]),
    "change_agent": lambda sessions, name: sessions.change_agent(name, AgentDefinition(name="other")),
    "compact": lambda sessions, name: sessions.compact(name),
    "end": lambda sessions, name: sessions.end(name),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_nothing_more_happens_in_a_session_that_has_ended(
    asked: Session, works: Engine, verb: Verb
) -> None:
    await asked.end("Enough.")
    before = await log_of(asked)
    with pytest.raises(NotPossible, match="The session has ended; fork it to go on"):
        await verb(sessions_of(works), asked.id)
    assert await log_of(asked) == before
    assert isinstance(before[-1].event, SessionEnded)


async def test_a_session_that_has_ended_can_be_read_forked_and_woken_without_effect(
    asked: Session, works: Engine
) -> None:
    await asked.end()
    assert not await asked.interrupt()
    await asked.wake()
    assert (await asked.state()).status == "ended"
    assert (await (await asked.fork()).run("Go on.")).ok


OTHERS: dict[str, Verb] = {
    "interrupt": lambda sessions, name: sessions.interrupt(name),
    "take_back": lambda sessions, name: sessions.take_back(name, "input"),
    "deliver": lambda sessions, name: sessions.deliver(name, "call", ""),
    "wake": lambda sessions, name: sessions.wake(name),
    "state": lambda sessions, name: sessions.state(name),
    "fork": lambda sessions, name: sessions.fork(name),
    "family": lambda sessions, name: sessions.family(name),
    "remove": lambda sessions, name: sessions.remove(name),
}


@pytest.mark.parametrize("verb", [*VERBS.values(), *OTHERS.values()], ids=[*VERBS, *OTHERS])
async def test_a_session_that_does_not_exist_is_said_not_to(works: Engine, verb: Verb) -> None:
    with pytest.raises(UnknownSession):
        await verb(sessions_of(works), "session_of_nobody")


async def test_a_rule_that_cannot_be_read_is_refused_and_changes_nothing(
    asked: Session, works: Engine
) -> None:
    before = await log_of(asked)
    with pytest.raises(RuleError, match=r"note\("):
        await asked.change_permissions(RuleChange("addRules", "allow", ("note(",)))
    assert await log_of(asked) == before


async def test_a_session_is_removed_with_its_log_once_nobody_works_on_it(
    asked: Session, works: Engine, store: MemoryEvents
) -> None:
    await sessions_of(works).remove(asked.id)
    with pytest.raises(UnknownSession):
        await store.read(asked.id)
    assert store.operations == [("remove", [asked.id])]


async def test_a_session_that_is_at_work_is_not_removed(tmp_path: Path, store: MemoryEvents) -> None:
    speaks = anyio.Event()
    async with store, engine(tmp_path, ScriptedModel([[speaks, "Done."]]), store=store) as works:
        session = await works.session()
        await session.send("Go.")
        with pytest.raises(NotPossible, match="interrupt it first"):
            await sessions_of(works).remove(session.id)
        speaks.set()
        assert (await session.quiet()).ok


async def test_a_fork_at_an_entry_that_there_is_not_is_refused(asked: Session) -> None:
    with pytest.raises(NotPossible, match="There is no entry 999"):
        await asked.fork(at=999)


async def test_two_sessions_never_have_one_id(works: Engine) -> None:
    sessions = sessions_of(works)
    assert await sessions.create(AgentDefinition(), session_id="session_mine") == "session_mine"
    with pytest.raises(EngineFault, match="exists already"):
        await sessions.create(AgentDefinition(), session_id="session_mine")
