"""Agents that agents start: in the foreground, in the background, side by side, below each other."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.casts import AGENT_TOOLS, MAIN, Cast, child_of, ended, family, results, start, started
from tests.journeys.engines import check_log, check_requests, events_of, kinds, log_of, look

from toolwright import AgentDefinition, call, tool
from toolwright.contracts.events import CallEnded, CallProgressed, CallWaiting, InputAccepted
from toolwright.contracts.models import ModelRequest

pytestmark = pytest.mark.anyio


async def test_a_call_waits_for_its_agent_and_ends_in_what_that_says(tmp_path: Path) -> None:
    model = Cast({MAIN: [["I ask.", start("dig here")], "Found."], "dig": ["Gold."]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        result = await session.run(MAIN)
        log = await log_of(session)
        child = await child_of(works, session)
        check_log(log)
        check_log(await log_of(child))
        state = await child.state()
    assert (result.end, result.text, result.calls) == ("done", "Found.", 1)
    (block,) = results(model.asked(MAIN)[1])
    assert not block.is_error
    assert str(block.content).startswith("Gold.\n\n[agent general, id session_")
    begun, over = started(events_of(log)), ended(events_of(log))
    assert [(event.agent, event.background) for event in begun] == [("general", False)]
    assert [(event.end, event.summary, event.rounds) for event in over] == [("done", "Gold.", 1)]
    assert (state.created.parent_id, state.created.depth) == (session.id, 1)
    check_requests(model.asked(MAIN))


async def test_while_its_agent_works_a_session_holds_nothing(tmp_path: Path) -> None:
    digs, go_on = anyio.Event(), anyio.Event()

    def dig(_: ModelRequest) -> Any:
        digs.set()
        return [go_on, "Gold."]

    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": [dig]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            await digs.wait()
            while (await session.state()).run is not None:
                await asyncio.sleep(0)
        state = await session.state()
        assert (state.status, state.has_work, state.questions) == ("waiting", False, [])
        assert works.works.sessions.is_busy(session.id)  # by its agent
        names = [task.get_coro() for task in asyncio.all_tasks() if "_until_done" in str(task.get_coro())]
        assert len(names) == 1  # the agent's own
        go_on.set()
        assert (await session.quiet()).text == "Found."


async def test_the_end_of_an_agent_in_the_background_is_told(tmp_path: Path) -> None:
    go_on = anyio.Event()
    model = Cast({
        MAIN: [[start("dig here", run_in_background=True)], "I wait.", "Found."],
        "dig": [go_on, "Gold."],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            while (await session.state()).last_end is None:
                await asyncio.sleep(0)
        go_on.set()
        result = await session.quiet()
        log = await log_of(session)
        check_log(log)
        child = await child_of(works, session)
        (listed,) = await session.children()
    assert result.text == "Found."
    (launched,) = results(model.asked(MAIN)[1])
    assert child.id in str(launched.content)
    (told,) = [
        event for event in events_of(log) if isinstance(event, InputAccepted) and event.source != "user"
    ]
    assert (told.source, told.quiet) == ("notification", False)
    assert "Gold." in str(told.content)
    assert model.asked(MAIN)[2].messages[-1].text.startswith("<notification>\nThe agent general")
    assert "CallWaiting" not in kinds(log)
    assert (listed.session_id, listed.parent_id) == (child.id, session.id)


async def test_news_of_an_agent_comes_between_requests_of_a_run_under_way(tmp_path: Path) -> None:
    go_on, told = anyio.Event(), anyio.Event()

    def then(request: ModelRequest) -> Any:
        go_on.set()
        return [told, call("look", at="it")]

    model = Cast({
        MAIN: [[start("dig here", run_in_background=True)], then, "Found."],
        "dig": [go_on, "Gold."],
    })  # fmt: skip
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        session = await works.session()

        def seen(record: Any) -> None:
            if isinstance(record.event, InputAccepted) and record.event.source == "notification":
                told.set()

        with anyio.fail_after(20):
            result = await session.run(MAIN, observe=seen)
    assert (result.text, len(model.asked(MAIN))) == ("Found.", 3)
    assert "Gold." in model.asked(MAIN)[2].messages[-1].text


async def test_agents_of_one_answer_work_side_by_side(tmp_path: Path) -> None:
    there = [anyio.Event() for _ in range(3)]
    all_there = anyio.Event()

    def arrives(place: int) -> Any:
        def arrive(_: ModelRequest) -> Any:
            there[place].set()
            if all(event.is_set() for event in there):
                all_there.set()
            return [all_there, f"result {place}"]

        return arrive

    words = ["alpha", "beta", "gamma"]
    script: dict[str, Any] = {word: [arrives(place)] for place, word in enumerate(words)}
    model = Cast({MAIN: [[start(f"{word} task") for word in words], "All three."], **script})
    async with family(tmp_path, model) as works:
        session = await works.session()
        with anyio.fail_after(20):
            result = await session.run(MAIN)
        check_log(await log_of(session))
    assert (result.text, result.calls) == ("All three.", 3)
    said = [str(block.content).split("\n")[0] for block in results(model.asked(MAIN)[1])]
    assert said == ["result 0", "result 1", "result 2"]


async def test_safe_calls_beside_one_that_waits_for_an_agent_do_not_wait(tmp_path: Path) -> None:
    looked = anyio.Event()

    @tool(read_only=True, concurrency_safe=True, touches=())
    def peek() -> str:
        """Look quickly."""
        return "seen"

    model = Cast({MAIN: [[start("dig here"), call("peek")], "Both."], "dig": [looked, "Gold."]})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, peek]) as works:
        session = await works.session()

        def seen(record: Any) -> None:
            if isinstance(record.event, CallEnded) and record.event.tool == "peek":
                looked.set()

        with anyio.fail_after(20):
            result = await session.run(MAIN, observe=seen)
        check_log(await log_of(session))
    assert result.text == "Both."
    assert [str(block.content).split("\n")[0] for block in results(model.asked(MAIN)[1])] == ["Gold.", "seen"]


async def test_agents_stand_below_each_other_up_to_the_limit(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [[start("one deep")], "main done"],
        "one": [[start("two deep")], "one done"],
        "two": [[start("three deep")], "two done"],
        "three": [[start("four deep")], "three done"],
    })  # fmt: skip
    async with family(tmp_path, model) as works:
        session = await works.session()
        result = await session.run(MAIN)
        check_log(await log_of(session))
    offered = {word: _offered(model, word) for word in model.parts}
    assert result.text == "main done"
    assert all("agent" in offered[word] for word in (MAIN, "one", "two"))
    assert not offered["three"] & {"agent", "list_agents", "send_message", "await_agents"}
    (refused,) = results(model.asked("three")[1])
    assert "There is no tool named 'agent'" in str(refused.content)
    assert result.rounds == 8  # its own two, and two of each agent


def _offered(model: Cast, word: str) -> set[str]:
    return {tool.name for tool in model.asked(word)[0].preamble.tools}


@pytest.mark.parametrize(("depth", "has_agent"), [("0", False), ("1", True)])
async def test_the_environment_says_how_deep(tmp_path: Path, depth: str, has_agent: bool) -> None:
    model = Cast({MAIN: [[start("dig here")], "Done."], "dig": ["Gold."]})
    environ = {"HOME": str(tmp_path), "TOOLWRIGHT_MAX_SUBAGENT_DEPTH": depth}
    async with family(tmp_path, model, environ=environ) as works:
        await works.run(MAIN)
    assert ("agent" in _offered(model, MAIN)) is has_agent
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error is not has_agent
    assert not has_agent or "agent" not in _offered(model, "dig")


async def test_one_more_than_may_run_at_once_is_refused(tmp_path: Path) -> None:
    go_on = anyio.Event()
    calls = [start(f"{word} task", run_in_background=True) for word in ("alpha", "beta", "gamma")]
    model = Cast({
        MAIN: [calls, "Two.", "One.", "None."],
        "alpha": [go_on, "a"],
        "beta": [go_on, "b"],
        "gamma": [],
    })  # fmt: skip
    environ = {"HOME": str(tmp_path), "TOOLWRIGHT_MAX_SUBAGENTS": "2"}
    async with family(tmp_path, model, environ=environ) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            while (await session.state()).last_end is None:
                await asyncio.sleep(0)
        go_on.set()
        await session.quiet()
    codes = [str(block.content).split(":")[0] for block in results(model.asked(MAIN)[1]) if block.is_error]
    assert codes == ["Error [limit_reached]"]


async def test_as_much_of_an_agent_is_read_as_the_environment_says(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "Done."], "dig": ["x" * 500]})
    environ = {"HOME": str(tmp_path), "TASK_MAX_OUTPUT_LENGTH": "200"}
    async with family(tmp_path, model, environ=environ) as works:
        session = await works.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
    assert len(over.summary) == 200
    (block,) = results(model.asked(MAIN)[1])
    assert "more characters; ask the agent for the rest.]" in str(block.content)


async def test_an_unknown_kind_of_agent_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here", agent_type="digger")], "None then."]})
    async with family(tmp_path, model) as works:
        await works.run(MAIN)
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error
    assert "There is no agent 'digger'." in str(block.content)
    assert "Known: explore, general, plan." in str(block.content)


async def test_an_agent_none_of_whose_tools_are_there_is_not_started(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here", agent_type="explore")], "None then."]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        assert not (await session.state()).children
    (block,) = results(model.asked(MAIN)[1])
    assert "None of the tools of explore is there for it: read, grep, glob" in str(block.content)


async def test_an_agent_of_the_project_is_found_and_works_as_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".toolwright" / "agents"
    folder.mkdir(parents=True)
    (folder / "digger.md").write_text(
        "---\nname: digger\ndescription: Digs.\ntools: [look]\nbackground: true\nmax_turns: 3\n---\nDig deep."
    )
    model = Cast({MAIN: [[start("dig here", agent_type="digger")], "I wait.", "Good."], "dig": ["Gold."]})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        session = await works.session()
        await session.run(MAIN)
        child = await child_of(works, session)
        state = await child.state()
    assert _offered(model, "dig") == {"look", "task_return"}
    assert state.created.background
    assert state.created.agent.limits.rounds == 3
    assert any("Dig deep." in part for part in model.asked("dig")[0].preamble.system)
    description = next(
        tool.description for tool in model.asked(MAIN)[0].preamble.tools if tool.name == "agent"
    )
    assert "- digger: Digs." in description


async def test_other_toolsets_name_the_tools_about_agents_in_their_way(tmp_path: Path) -> None:
    begin = call("Agent", description="Dig", prompt="dig here")
    back = call("TaskReturn", summary="Gold.")
    model = Cast({MAIN: [[begin], "Found."], "dig": [[back]]})
    async with family(tmp_path, model, settings={"tools": {"toolset": "harness"}}) as works:
        result = await works.run(MAIN)
    assert result.text == "Found."
    assert {"Agent", "ListAgents", "SendMessage", "AwaitAgents"} <= _offered(model, MAIN)
    assert "TaskReturn" in _offered(model, "dig")
    assert str(results(model.asked(MAIN)[1])[0].content).startswith("Gold.")


async def test_an_agent_starts_only_the_agents_it_is_defined_with(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "None then."]})
    only = AgentDefinition(name="boss", agents=("plan",))
    async with family(tmp_path, model, agent=only) as works:
        await works.run(MAIN)
    (block,) = results(model.asked(MAIN)[1])
    assert "Known: plan." in str(block.content)


async def test_what_an_agent_returns_with_a_call_comes_whole_and_ends_its_run(tmp_path: Path) -> None:
    back = call("task_return", summary="Two seams.", confidence=0.5, findings=["gold at 3", "tin at 9"])
    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": [["I return.", back]]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.run(MAIN)
        (over,) = ended(events_of(await log_of(session)))
        check_log(await log_of(await child_of(works, session)))
    assert (over.end, over.returned and over.returned.findings) == ("returned", ("gold at 3", "tin at 9"))
    (block,) = results(model.asked(MAIN)[1])
    assert str(block.content).startswith(
        "Two seams.\n\nConfidence: 0.5\n\nFindings:\n- gold at 3\n- tin at 9\n\n["
    )
    assert not block.is_error
    assert "task_return" not in _offered(model, MAIN)


async def test_an_agent_that_says_it_failed_is_a_failed_call(tmp_path: Path) -> None:
    back = call("task_return", summary="No light.", status="failed")
    model = Cast({MAIN: [[start("dig here")], "A pity."], "dig": [[back]]})
    async with family(tmp_path, model) as works:
        await works.run(MAIN)
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error
    assert str(block.content).startswith("The agent says that it failed. Its last words:\n\nNo light.")


async def test_an_agent_makes_as_many_requests_as_its_call_says(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [[start("dig here", max_turns=2)], "A pity."],
        "dig": [[call("look", at="a")], [call("look", at="b")], "never"],
    })  # fmt: skip
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        await works.run(MAIN)
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error
    assert "came to a limit: The limit of 2 requests to the model is reached." in str(block.content)
    assert len(model.asked("dig")) == 2


async def test_two_agents_cannot_have_one_name(tmp_path: Path) -> None:
    calls = [start("alpha task", name="scout"), start("beta task", name="scout")]
    model = Cast({MAIN: [[calls[0]], [calls[1]], "One then."], "alpha": ["a"]})
    async with family(tmp_path, model) as works:
        await works.run(MAIN)
    (block,) = results(model.asked(MAIN)[2])
    assert "Error [conflict]: There is an agent 'scout' already." in str(block.content)


async def test_what_an_agent_calls_is_shown_with_the_call_that_waits_for_it(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": [[call("look", at="a")], "Gold."]})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look]) as works:
        session = await works.session()
        await session.run(MAIN)
        log = events_of(await log_of(session))
    shown = [(event.tool, event.progress.text) for event in log if isinstance(event, CallProgressed)]
    assert shown == [("agent", "look")]
    assert [event.kind for event in log if isinstance(event, CallWaiting)] == ["child"]
