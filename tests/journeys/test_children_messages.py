"""Speaking to agents, waiting for them, stopping them."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.casts import (
    AGENT_TOOLS,
    MAIN,
    Cast,
    child_of,
    ended,
    family,
    start,
    started,
    texts,
)
from tests.journeys.engines import check_log, check_requests, events_of, log_of, look

from toolwright import NotPossible, RunLimits, call
from toolwright.contracts.events import InputAccepted, InputDropped
from toolwright.contracts.models import ModelRequest

pytestmark = pytest.mark.anyio


async def test_a_message_to_an_agent_at_work_is_read_before_its_next_request(tmp_path: Path) -> None:
    digs, said = anyio.Event(), anyio.Event()

    def dig(_: ModelRequest) -> Any:
        digs.set()
        return [said, call("look", at="a")]

    def after(_: ModelRequest) -> Any:
        said.set()
        return "I said it."

    model = Cast({
        MAIN: [
            [start("dig here", name="scout", run_in_background=True)],
            digs,
            [call("send_message", to="scout", message="Look for tin.", summary="tin instead")],
            after,
            "Tin then.",
        ],
        "dig": [dig, "Tin."],
    })  # fmt: skip
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        session = await works.session()
        with anyio.fail_after(20):
            await session.run(MAIN)
        log = await log_of(session)
        check_log(log)
    assert len(started(events_of(log))) == 1
    assert "<agent>\nLook for tin.\n</agent>" in model.asked("dig")[1].messages[-1].text
    assert texts(model.asked(MAIN)[2])[0].startswith("Delivered to scout")
    check_requests(model.asked("dig"))


async def test_a_message_lets_an_agent_that_has_ended_go_on_with_all_it_knows(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [
            [start("dig here", name="scout")],
            [call("send_message", to="scout", message="And tin?")],
            "I wait.",
            "Both.",
        ],
        "dig": ["Gold.", "Tin."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        result = await session.run(MAIN)
        log = await log_of(session)
        check_log(log)
        child = await child_of(works, session)
        check_log(await log_of(child))
        spent = (await child.state()).conversation.total
    first, second = started(events_of(log))
    assert (first.background, second.background) == (False, True)
    assert first.child_id == second.child_id
    assert second.after > 0
    assert [(over.summary, over.rounds) for over in ended(events_of(log))] == [("Gold.", 1), ("Tin.", 1)]
    assert [message.text for message in model.asked("dig")[1].messages] == [
        "<agent>\ndig here\n</agent>", "Gold.", "<agent>\nAnd tin?\n</agent>",
    ]  # fmt: skip
    assert "scout had ended; it goes on in the background" in texts(model.asked(MAIN)[2])[0]
    assert (result.text, result.rounds, spent.rounds) == ("Both.", 6, 2)


async def test_nobody_is_told_of_an_agent_whose_end_was_not_asked_for(tmp_path: Path) -> None:
    message = call("send_message", to="scout", message="And tin?", notify_when_idle=False)
    model = Cast({MAIN: [[start("dig here", name="scout")], [message], "Done."], "dig": ["Gold.", "Tin."]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        log = events_of(await log_of(session))
    assert [over.summary for over in ended(log)] == ["Gold.", "Tin."]
    assert [event.source for event in log if isinstance(event, InputAccepted)] == ["user"]


async def test_a_message_to_nobody_is_answered_with_the_agents_there_are(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [[start("dig here", name="scout")], [call("send_message", to="spy", message="Hm?")], "Nobody."],
        "dig": ["Gold."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        await works.run(MAIN)
    (text,) = texts(model.asked(MAIN)[2])
    assert "Error [file_not_found]: 'spy' is no agent that was started here." in text
    assert "Agents: scout." in text


async def test_a_person_may_speak_to_an_agent_at_work_and_to_one_that_has_ended(tmp_path: Path) -> None:
    digs, go_on = anyio.Event(), anyio.Event()

    def dig(_: ModelRequest) -> Any:
        digs.set()
        return [go_on, call("look", at="a")]

    model = Cast({MAIN: [[start("dig here")], "Found.", "And silver."], "dig": [dig, "Gold.", "Silver."]})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            await digs.wait()
            child = await child_of(works, session)
            await child.send("Hurry.")
            go_on.set()
            await session.quiet()
            await child.send("And silver?")
            result = await session.quiet()
        log = await log_of(session)
        check_log(log)
    assert "Hurry." in model.asked("dig")[1].messages[-1].text
    assert (result.text, [over.summary for over in ended(events_of(log))]) == (
        "And silver.",
        ["Gold.", "Silver."],
    )
    assert started(events_of(log))[1].call_id is None


async def test_nobody_lets_an_agent_of_a_session_that_has_ended_go_on(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": ["Gold."]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        await session.end()
        child = await child_of(works, session)
        with pytest.raises(NotPossible, match="has ended; fork this one"):
            await child.send("And silver?")
        state = await child.state()
        assert not state.has_work  # the words were taken back
        fork = await child.fork()
        assert (await fork.state()).created.parent_id is None


async def test_waiting_returns_what_the_next_agent_says_and_then_all(tmp_path: Path) -> None:
    once_waiting, slow = anyio.Event(), anyio.Event()

    def both_started(_: ModelRequest) -> Any:
        once_waiting.set()  # an agent that ended before would have been told of by this request
        return [call("await_agents", ids=["alpha", "beta"])]

    def after_first(_: ModelRequest) -> Any:
        slow.set()
        return [call("await_agents", mode="all")]

    model = Cast({
        MAIN: [
            [start(f"{word} task", name=word, run_in_background=True) for word in ("alpha", "beta")],
            both_started,
            after_first,
            "Both.",
        ],
        "alpha": [once_waiting, "a!"],
        "beta": [slow, "b!"],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        with anyio.fail_after(20):
            result = await session.run(MAIN)
        log = events_of(await log_of(session))
    (first,) = texts(model.asked(MAIN)[2])
    assert "a!" in first
    assert "b!" not in first
    (second,) = texts(model.asked(MAIN)[3])
    assert "b!" in second
    assert (result.text, len(model.asked(MAIN))) == ("Both.", 4)  # what was returned was not told again
    told = [event.input_id for event in log if isinstance(event, InputAccepted) and event.source != "user"]
    assert told == [event.input_id for event in log if isinstance(event, InputDropped)]


async def test_waiting_has_an_end_though_no_agent_has(tmp_path: Path) -> None:
    go_on = anyio.Event()

    def late(_: ModelRequest) -> Any:
        go_on.set()
        return "I go on."

    model = Cast({
        MAIN: [
            [start("dig here", run_in_background=True)],
            [call("await_agents", timeout_ms=0), call("list_agents")],
            late,
            "Found.",
        ],
        "dig": [go_on, "Gold."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        with anyio.fail_after(20):
            await session.run(MAIN)
    waited, listed = texts(model.asked(MAIN)[2])
    assert "Warning: the time is over and they go on." in waited
    assert "(general: Do dig): running" in listed
    assert "Can be started:\n- explore:" in listed


async def test_waiting_for_none_is_a_failure(tmp_path: Path) -> None:
    model = Cast({MAIN: [[call("await_agents")], "None."]})
    async with family(tmp_path, model) as works:
        await works.run(MAIN)
    assert "Error [file_not_found]: No agent was started here" in texts(model.asked(MAIN)[1])[0]


async def test_an_agent_can_be_stopped_by_its_caller(tmp_path: Path) -> None:
    digs = anyio.Event()

    def dig(_: ModelRequest) -> Any:
        digs.set()
        return [anyio.Event(), "never"]

    model = Cast({
        MAIN: [
            [start("dig here", name="scout", run_in_background=True)],
            digs,
            [call("task_stop", task_id="scout")],
            [call("task_stop", task_id="scout")],
            "Stopped.",
        ],
        "dig": [dig],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        with anyio.fail_after(20):
            result = await session.run(MAIN)
        log = await log_of(session)
        check_log(log)
        check_log(await log_of(await child_of(works, session)))
    assert texts(model.asked(MAIN)[2]) == ["Stopped the agent scout."]
    assert texts(model.asked(MAIN)[3]) == ["The agent scout had ended already."]
    (over,) = ended(events_of(log))
    assert (over.end, over.message) == ("interrupted", "Stopped by the agent that started it.")
    assert (result.text, len(model.asked(MAIN))) == ("Stopped.", 4)  # nobody was woken by that end


async def test_a_resumed_agent_may_use_as_much_as_the_first_time(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [
            [start("dig here", name="scout", max_turns=1)],
            [call("send_message", to="scout", message="And tin?")],
            "I wait.",
            "Both.",
        ],
        "dig": ["Gold.", "Tin."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        log = events_of(await log_of(session))
    assert [event.reserved for event in started(log)] == [RunLimits(rounds=1)] * 2
    assert [over.end for over in ended(log)] == ["done", "done"]


async def test_an_agent_goes_on_after_the_engine_was_opened_anew(tmp_path: Path) -> None:
    message = call("send_message", to="scout", message="And tin?")
    model = Cast({
        MAIN: [[start("dig here", name="scout")], "Found.", [message], "I wait.", "Both."],
        "dig": ["Gold.", "Tin."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
    async with family(tmp_path, model) as works:
        again = await works.open(session.id)
        result = await again.run("And tin?")
        check_log(await log_of(again))
    assert result.text == "Both."
    assert [len(request.messages) for request in model.asked("dig")] == [1, 3]
    check_requests(model.asked("dig"))
