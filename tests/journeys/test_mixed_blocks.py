"""One answer whose calls run, wait for a person, and wait for a client: none is lost, none runs twice."""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import check_log, check_requests, engine, events_of, log_of, weigh

from toolwright import (
    ApprovalAnswer,
    ApprovalRequest,
    CallContext,
    CallEnded,
    CallWaiting,
    Engine,
    RuleChange,
    ScriptedModel,
    Session,
    ToolFailure,
    call,
    tool,
)
from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallAnswered, CallStarted, ModelAsked, RunEnded
from toolwright.contracts.messages import Message, ResultBlock
from toolwright.contracts.tool import Tool
from toolwright.testing import MemoryEvents

pytestmark = pytest.mark.anyio
ALWAYS = RuleChange("addRules", "allow", rules=("post",))


@dataclass
class Office:
    """Where calls of tests have their effects, and the engines that come and go there."""

    folder: Path
    store: MemoryEvents
    model: ScriptedModel
    posted: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    gate: anyio.Event = field(default_factory=anyio.Event)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def tools(self) -> list[Tool]:
        @tool(concurrency_safe=True, touches=())
        async def post(text: str, ctx: CallContext) -> str:
            """Post a text.

            Args:
                text: What to post.
            """
            if not text:
                raise ToolFailure("validation_failed", "there is nothing to post")
            self.posted.append(text)
            self.keys.append(ctx.idempotency_key)
            return f"posted {text}"

        @tool(read_only=True, concurrency_safe=True)
        async def wait() -> str:
            """Wait at the gate."""
            await self.gate.wait()
            return "the gate is open"

        @tool(read_only=True, concurrency_safe=True)
        def look(at: str) -> str:
            """Look at something.

            Args:
                at: What to look at.
            """
            return f"saw {at}"

        return [look, weigh, post, wait]

    def open(self) -> Engine:
        given = {"store": self.store, "tools": self.tools, "answers_later": True, **self.more}
        return engine(self.folder, self.model, **given)

    @asynccontextmanager
    async def reopened(self, session_id: str) -> AsyncIterator[Session]:
        async with self.open() as works:
            yield await works.open(session_id)

    def check(self, log: Any) -> None:
        check_log(log)
        assert list(broken(log)) == []
        check_requests(self.model.asked)
        assert len(self.keys) == len(set(self.keys))


@asynccontextmanager
async def office(folder: Path, *answers: Any, **more: Any) -> AsyncIterator[Office]:
    async with MemoryEvents() as store:
        yield Office(folder, store, ScriptedModel(answers), more=more)


def post(text: str) -> Any:
    return call("post", text=text)


MIXED = [
    "All at once.",
    call("look", at="the sea"),
    post("one"),
    call("weigh", thing="a stone"),
    post("two"),
    call("weigh", thing="salt"),
    call("look", at="the sky"),
]


async def answered(session: Session, number: int, **more: Any) -> bool:
    """Answer the question of post number ``number`` of the block, whoever asks."""
    return await session.answer(yes(await question(session, number), **more))


async def question(session: Session, number: int) -> ApprovalRequest:
    block = (await session.state()).conversation.block
    assert block is not None
    waiting = [made.waiting for made in block.calls.values() if made.block.name == "post"][number]
    assert waiting is not None
    assert waiting.request is not None
    return waiting.request


def yes(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return ApprovalAnswer(
        request_id=request.request_id, fingerprint=request.fingerprint, behavior="allow", **more
    )


def no(request: ApprovalRequest, **more: Any) -> ApprovalAnswer:
    return replace(yes(request, **more), behavior="deny")


async def delivered(session: Session, number: int, text: str) -> bool:
    block = (await session.state()).conversation.block
    assert block is not None
    left = [call_id for call_id, made in block.calls.items() if made.block.name == "weigh"]
    return await session.deliver(left[number], text)


def results(message: Message) -> list[str]:
    return [str(block.content) for block in message.blocks if isinstance(block, ResultBlock)]


# --- at rest -----------------------------------------------------------------------------------


async def test_what_can_run_has_run_and_is_in_the_log_while_others_wait(tmp_path: Path) -> None:
    async with office(tmp_path, MIXED) as place, place.open() as works:
        session = await works.session()
        result = await session.run("Do it.")
        assert result.end == "waiting"
        assert [waiting.tool for waiting in result.questions] == ["post", "weigh", "post", "weigh"]
        assert [waiting.kind for waiting in result.questions] == [
            "permission", "client_result", "permission", "client_result",
        ]  # fmt: skip
        assert [request.input for request in result.approvals] == [{"text": "one"}, {"text": "two"}]
        assert [waiting.input for waiting in result.deliveries] == [{"thing": "a stone"}, {"thing": "salt"}]
        log = await log_of(session)
        ended = [event.content for event in events_of(log) if isinstance(event, CallEnded)]
        assert sorted(map(str, ended)) == ["saw the sea", "saw the sky"]
        assert (await session.state()).status == "waiting"
        assert not works.works.sessions.is_busy(session.id)
        assert list(broken(log)) == []


Step = Callable[[Session], Coroutine[Any, Any, bool]]
STEPS: dict[str, Step] = {
    "one": lambda session: answered(session, 0),
    "stone": lambda session: delivered(session, 0, "5 kg"),
    "two": lambda session: answered(session, 1),
    "salt": lambda session: delivered(session, 1, "3 g"),
}


@pytest.mark.parametrize("order", list(permutations(STEPS)), ids=" ".join)
async def test_answers_come_in_every_order_each_to_another_process(
    tmp_path: Path, order: Sequence[str]
) -> None:
    async with office(tmp_path, MIXED, "All done.") as place:
        async with place.open() as works:
            session = await works.session()
            assert (await session.run("Do it.")).end == "waiting"
        for number, name in enumerate(order, 1):
            async with place.reopened(session.id) as session:
                assert await STEPS[name](session)
                result = await session.quiet()
                done = [step for step in order[:number] if step in {"one", "two"}]
                assert place.posted == done  # run as soon as it may, though others still wait
                assert not await STEPS[name](session) if number < len(order) else True
                assert (result.end == "done") == (number == len(order))
                assert len(place.model.asked) == 1 + (number == len(order))
        async with place.reopened(session.id) as session:
            place.check(await log_of(session))
        assert results(place.model.asked[1].messages[-1]) == [
            "saw the sea", "posted one", "5 kg", "posted two", "3 g", "saw the sky",
        ]  # fmt: skip


async def test_all_answers_at_the_same_moment(tmp_path: Path) -> None:
    async with office(tmp_path, MIXED, "All done.") as place, place.open() as works:
        session = await works.session()
        await session.run("Do it.")
        async with anyio.create_task_group() as tasks:
            for step in (*STEPS.values(), *STEPS.values()):
                tasks.start_soon(step, session)
        assert (await session.quiet()).text == "All done."
        assert sorted(place.posted) == ["one", "two"]
        log = await log_of(session)
        assert len([event for event in events_of(log) if isinstance(event, CallAnswered)]) == 4
        place.check(log)


# --- answers that do not count -----------------------------------------------------------------


async def test_a_second_and_a_late_answer_change_nothing(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one"), call("weigh", thing="salt")], "Done.") as place:
        async with place.open() as works:
            session = await works.session()
            request = (await session.run("Do it.")).approvals[0]
            call_id = (await session.result()).deliveries[0].call_id
            assert await session.answer(yes(request))
            assert not await session.answer(no(request, message="Stop!"))
            assert await session.deliver(call_id, "3 g")
            assert not await session.deliver(call_id, "4 g")
            assert (await session.quiet()).text == "Done."
            before = await log_of(session)
            assert not await session.answer(no(request))
            assert not await session.deliver(call_id, "5 g")
            assert await log_of(session) == before
        async with place.reopened(session.id) as session:
            assert not await session.answer(no(request))
            assert not await session.deliver(call_id, "5 g")
            place.check(await log_of(session))


async def test_an_answer_to_something_else_is_refused_and_the_question_stays(tmp_path: Path) -> None:
    block = [post("one"), call("weigh", thing="salt")]
    async with office(tmp_path, block, block) as place, place.open() as works:
        first, second = await works.session(), await works.session()
        request = (await first.run("Do it.")).approvals[0]
        other = await second.run("Do it.")
        head = (await first.state()).head
        with pytest.raises(NotPossible, match="No call waits"):
            await first.answer(replace(yes(request), request_id="req_unknown"))
        with pytest.raises(NotPossible, match="another input"):
            await first.answer(replace(yes(request), fingerprint="0" * 64))
        with pytest.raises(NotPossible, match="No call waits"):
            await first.answer(yes(other.approvals[0]))
        with pytest.raises(NotPossible, match="waits for a result"):
            await first.deliver("call_unknown", "3 g")
        with pytest.raises(NotPossible, match="waits for a result"):
            await first.deliver(request.call_id, "posted it myself")
        assert (await first.state()).head == head
        assert (await first.result()).approvals == (request,)
        assert place.posted == []


async def test_an_answer_that_may_not_change_rules_does_not(tmp_path: Path) -> None:
    @tool(destructive=True, concurrency_safe=True, touches=())
    def erase() -> str:
        """Erase it."""
        return "erased"

    async with office(tmp_path, [call("erase")], "Done.", tools=[erase]) as place, place.open() as works:
        session = await works.session()
        request = (await session.run("Do it.")).approvals[0]
        assert request.one_time_only
        with pytest.raises(NotPossible, match="once only"):
            await session.answer(yes(request, changes=(ALWAYS,)))
        assert await session.answer(yes(request))
        assert (await session.quiet()).text == "Done."


# --- what happens while it waits ---------------------------------------------------------------


async def test_words_that_come_while_calls_wait_stand_behind_their_results(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one"), post("two")], "Done.") as place:
        async with place.open() as works:
            session = await works.session()
            await session.run("Do it.")
            await session.send("Be quick.")
            assert (await session.quiet()).end == "waiting"
            assert await answered(session, 0)
            assert (await session.quiet()).end == "waiting"
        async with place.reopened(session.id) as session:
            await session.send("Please.")
            assert await answered(session, 1)
            assert (await session.quiet()).text == "Done."
            place.check(await log_of(session))
        last = place.model.asked[1].messages[-1]
        assert results(last) == ["posted one", "posted two"]
        assert last.blocks[2:] == (TextBlock("Be quick."), TextBlock("Please."))


@pytest.mark.parametrize("reopened", [False, True])
async def test_an_interrupt_answers_everything_that_waits(tmp_path: Path, reopened: bool) -> None:
    async with office(tmp_path, MIXED, "Fine.") as place:
        async with place.open() as works:
            session = await works.session()
            waiting = await session.run("Do it.")
            if not reopened:
                await session.interrupt("Enough.")
        async with place.reopened(session.id) as session:
            if reopened:
                await session.interrupt("Enough.")
            result = await session.quiet()
            assert (result.end, result.message, result.questions) == ("interrupted", "Enough.", ())
            assert not await session.answer(yes(waiting.approvals[0]))
            assert not await session.deliver(waiting.deliveries[0].call_id, "5 kg")
            assert not await session.interrupt()
            assert (await session.run("Never mind.")).text == "Fine."
            place.check(await log_of(session))
        read = results(place.model.asked[1].messages[-1])
        assert [read[0], read[-1]] == ["saw the sea", "saw the sky"]
        assert all("not started: Enough." in text for text in read[1:-1])
        assert place.posted == []


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize(
    ("change", "posted", "said"),
    [
        (ALWAYS, ["one", "two"], "posted one"),
        (RuleChange("addRules", "deny", rules=("post",)), [], "rule"),
        (RuleChange("setMode", mode="dontAsk"), [], "this run never asks"),
    ],
    ids=["allowed", "denied", "nobody asked any more"],
)
async def test_a_change_of_permissions_judges_what_waits_anew(
    tmp_path: Path, change: RuleChange, posted: list[str], said: str, reopened: bool
) -> None:
    async with office(tmp_path, [post("one"), post("two")], "Done.") as place:
        async with place.open() as works:
            session = await works.session()
            request = (await session.run("Do it.")).approvals[0]
            if not reopened:
                await session.change_permissions(change)
                await session.quiet()
        async with place.reopened(session.id) as session:
            if reopened:
                await session.change_permissions(change)
            assert (await session.quiet()).text == "Done."
            assert not await session.answer(yes(request))
            place.check(await log_of(session))
        assert sorted(place.posted) == posted
        assert said in results(place.model.asked[1].messages[-1])[0]


async def test_a_change_that_settles_nothing_leaves_the_question_as_it_was(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one")], "Done.") as place, place.open() as works:
        session = await works.session()
        request = (await session.run("Do it.")).approvals[0]
        await session.change_permissions(RuleChange("addRules", "allow", rules=("read",)))
        assert (await session.quiet()).approvals[0].request_id == request.request_id
        assert await session.answer(yes(request))
        assert (await session.quiet()).text == "Done."
        place.check(await log_of(session))


async def test_a_change_counts_at_once_also_beside_a_call_that_works_for_long(tmp_path: Path) -> None:
    async with office(tmp_path, [call("wait"), post("one")], "Done.") as place, place.open() as works:
        session = await works.session()
        await session.send("Do it.")
        await seen(session, CallWaiting)
        await session.change_permissions(ALWAYS)
        await seen(session, CallEnded)
        assert place.posted == ["one"]
        place.gate.set()
        assert (await session.quiet()).text == "Done."
        place.check(await log_of(session))


async def test_an_answer_counts_at_once_also_beside_a_call_that_works_for_long(tmp_path: Path) -> None:
    block = [call("wait"), post("one"), call("weigh", thing="salt")]
    async with office(tmp_path, block, "Done.") as place, place.open() as works:
        session = await works.session()
        await session.send("Do it.")
        await seen(session, CallWaiting, times=2)
        assert await answered(session, 0)
        await seen(session, CallEnded)
        assert await delivered(session, 0, "3 g")
        await seen(session, CallEnded, times=2)
        assert place.posted == ["one"]
        place.gate.set()
        assert (await session.quiet()).text == "Done."
        place.check(await log_of(session))


async def seen(session: Session, kind: type, *, times: int = 1) -> None:
    """Return once the log has an event of a kind, or so many of them."""
    with anyio.fail_after(30):
        async for record in session.stream(until_quiet=False):
            times -= isinstance(record.event, kind)
            if times == 0:
                return


# --- what a person can answer ------------------------------------------------------------------


async def test_a_no_without_a_word_ends_the_queue_and_the_run(tmp_path: Path) -> None:
    block = [call("look", at="it"), post("one"), post("two"), post("three")]
    async with office(tmp_path, block, "What then?") as place, place.open() as works:
        session = await works.session()
        requests = (await session.run("Do it.")).approvals
        assert len(requests) == 3
        assert await session.answer(no(requests[1]))
        result = await session.quiet()
        assert (result.end, result.message) == ("stopped", "The user rejected a call.")
        assert not await session.answer(yes(requests[0]))
        assert (await session.run("Something else.")).text == "What then?"
        place.check(await log_of(session))
    read = results(place.model.asked[1].messages[-1])
    assert read[0] == "saw it"
    assert "not asked because the previous call was rejected" in read[1]
    assert "Wait for instructions" in read[2]
    assert "not asked because the previous call was rejected" in read[3]
    assert place.posted == []


async def test_a_no_with_a_word_is_read_by_the_model_and_the_others_go_on(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one"), post("two")], "I see.") as place, place.open() as works:
        session = await works.session()
        requests = (await session.run("Do it.")).approvals
        assert await session.answer(no(requests[0], message="Not so loud."))
        assert (await session.quiet()).approvals == (requests[1],)
        assert await session.answer(yes(requests[1]))
        result = await session.quiet()
        log = await log_of(session)
        place.check(log)
    assert (result.end, result.text) == ("done", "I see.")
    read = results(place.model.asked[1].messages[-1])
    assert "Not so loud." in read[0]
    assert read[1] == "posted two"
    assert [event.state for event in events_of(log) if isinstance(event, CallEnded)] == ["denied", "done"]


async def test_a_no_can_end_the_run_though_it_has_a_word(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one")], "Unasked.") as place, place.open() as works:
        session = await works.session()
        request = (await session.run("Do it.")).approvals[0]
        assert await session.answer(no(request, message="Stop.", interrupt=True))
        assert (await session.quiet()).end == "stopped"
        assert len(place.model.asked) == 1


async def test_an_input_that_the_person_changed_is_what_runs(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one")], "Done.") as place, place.open() as works:
        session = await works.session()
        request = (await session.run("Do it.")).approvals[0]
        assert await session.answer(yes(request, updated_input={"text": "softly"}))
        await session.quiet()
        log = await log_of(session)
        place.check(log)
    assert place.posted == ["softly"]
    [ended] = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert (ended.input, ended.content) == ({"text": "softly"}, "posted softly")


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"text": 7}, "invalid_input"), ({"txt": "one"}, "invalid_input"), ({"text": ""}, "validation_failed")],
)
async def test_an_input_that_the_person_changed_is_validated_like_any_other(
    tmp_path: Path, changed: dict[str, Any], code: str
) -> None:
    async with office(tmp_path, [post("one")], "Done.") as place, place.open() as works:
        session = await works.session()
        request = (await session.run("Do it.")).approvals[0]
        assert await session.answer(yes(request, updated_input=changed))
        assert (await session.quiet()).text == "Done."
        log = await log_of(session)
        place.check(log)
    [ended] = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert (ended.state, ended.code) == ("failed", code)
    assert place.posted == []


async def test_an_input_that_the_person_changed_is_judged_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in ("open.txt", "secret.txt"):
        (tmp_path / "project" / name).write_text(name)
    more = {"tools": ["read"], "ask": ["read"], "deny": ["read(secret.txt)"]}
    async with office(tmp_path, [call("read", file_path="open.txt")], "Done.", **more) as place:
        async with place.open() as works:
            session = await works.session()
            request = (await session.run("Read it.")).approvals[0]
            assert await session.answer(yes(request, updated_input={"file_path": "secret.txt"}))
            assert (await session.quiet()).text == "Done."
            log = await log_of(session)
            place.check(log)
    [ended] = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert (ended.state, ended.code) == ("denied", "permission_denied")


async def test_an_answer_for_always_settles_the_questions_that_it_covers(tmp_path: Path) -> None:
    block = [post("one"), post("two"), call("weigh", thing="salt"), post("three")]
    async with office(tmp_path, block, [post("four")], "Done.") as place, place.open() as works:
        session = await works.session()
        requests = (await session.run("Do it.")).approvals
        [suggested] = requests[0].suggestions
        assert await session.answer(yes(requests[1], changes=(suggested,)))
        result = await session.quiet()
        assert [waiting.tool for waiting in result.questions] == ["weigh"]
        assert sorted(place.posted) == ["one", "three", "two"]
        assert not await session.answer(no(requests[0]))
        assert await delivered(session, 0, "3 g")
        assert (await session.quiet()).text == "Done."
        assert place.posted[3:] == ["four"]  # and what comes later
        place.check(await log_of(session))


async def test_whoever_is_asked_by_the_program_is_asked_one_question_at_a_time(tmp_path: Path) -> None:
    asked: list[str] = []
    at_once: list[int] = [0, 0]

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(str(request.input["text"]))
        at_once[0] += 1
        at_once[1] = max(at_once)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        at_once[0] -= 1
        return yes(request, changes=request.suggestions if request.input["text"] == "two" else ())

    block = [post("one"), post("two"), post("three"), post("four")]
    async with office(tmp_path, block, "Done.", approve=approve) as place, place.open() as works:
        session = await works.session()
        assert (await session.run("Do it.")).text == "Done."
        place.check(await log_of(session))
    assert asked == ["one", "two"]  # the answer for always was an answer to the others, too
    assert at_once[1] == 1
    assert sorted(place.posted) == ["four", "one", "three", "two"]


async def test_calls_behind_a_question_wait_for_what_it_comes_to(tmp_path: Path) -> None:
    """Calls that say nothing of what they touch run one after the other, in their order."""

    @tool
    def change(text: str) -> str:
        """Change something.

        Args:
            text: What.
        """
        place.posted.append(text)
        return f"changed {text}"

    block = [call("change", text="first"), call("look", at="it"), call("change", text="second")]
    async with office(tmp_path, block, "Done.") as place:
        place.more = {"tools": [change, *place.tools]}
        async with place.open() as works:
            session = await works.session()
            first = await session.run("Do it.")
            assert [request.input["text"] for request in first.approvals] == ["first"]
            assert not any(isinstance(event, CallStarted) for event in events_of(await log_of(session)))
        async with place.reopened(session.id) as session:
            assert await session.answer(yes(first.approvals[0]))
            second = await session.quiet()
            assert [request.input["text"] for request in second.approvals] == ["second"]
            assert place.posted == ["first"]
        async with place.reopened(session.id) as session:
            assert await session.answer(yes(second.approvals[0]))
            assert (await session.quiet()).text == "Done."
            place.check(await log_of(session))
    assert place.posted == ["first", "second"]
    assert results(place.model.asked[1].messages[-1]) == ["changed first", "saw it", "changed second"]


async def test_a_tool_that_is_gone_when_the_answer_comes_fails_the_call_and_no_more(tmp_path: Path) -> None:
    async with office(tmp_path, [post("one"), call("weigh", thing="salt")], "Done.") as place:
        async with place.open() as works:
            session = await works.session()
            waiting = await session.run("Do it.")
        place.more = {"tools": place.tools[:1]}
        async with place.reopened(session.id) as session:
            assert await session.answer(yes(waiting.approvals[0]))
            assert await session.deliver(waiting.deliveries[0].call_id, "3 g")
            result = await session.quiet()
            log = await log_of(session)
            place.check(log)
    assert result.text == "Done."
    ended = {event.call_id: event for event in events_of(log) if isinstance(event, CallEnded)}
    assert ended[waiting.approvals[0].call_id].code == "unknown_tool"
    assert place.posted == []
    [_, second] = [event for event in events_of(log) if isinstance(event, ModelAsked)]
    assert second.fingerprint != place.model.asked[0].preamble.fingerprint
    assert [event.end for event in events_of(log) if isinstance(event, RunEnded)][-1] == "done"
