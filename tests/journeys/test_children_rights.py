"""What agents may do, in whole sessions: no more than whoever started them, at any time."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.casts import AGENT_TOOLS, MAIN, Cast, child_of, family, results, start, texts, until_rest
from tests.journeys.engines import Desk, check_log, log_of, look, weigh

from toolwright import AgentDefinition, Engine, RuleChange, call, tool
from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.tool import CallContext

pytestmark = pytest.mark.anyio

WRITES = [call("write_down", text="gold")]


def with_agent(folder: Path, text: str, name: str = "scribe") -> None:
    """Put an agent into the project."""
    agents = folder / "project" / ".toolwright" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / f"{name}.md").write_text(f"---\nname: {name}\ndescription: Writes.\n{text}\n---\nWrite.")


def scribes(folder: Path, model: Cast, desk: Desk, **more: Any) -> Engine:
    given: dict[str, Any] = {"tools": [*AGENT_TOOLS, desk.tool, look], **more}
    return family(folder, model, **given)


def offered(model: Cast, word: str) -> set[str]:
    return {tool.name for tool in model.asked(word)[0].preamble.tools}


async def test_what_is_allowed_and_denied_above_holds_two_deep(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({
        MAIN: [[start("one deep")], "Done."],
        "one": [[start("two deep")], "1"],
        "two": [[*WRITES, call("look", at="it")], "2"],
    })  # fmt: skip
    async with scribes(tmp_path, model, desk, allow=["write_down"], deny=["look(at:*)"]) as works:
        await works.run(MAIN)
    wrote, looked = texts(model.asked("two")[1])
    assert (wrote, desk.written) == ("wrote gold", ["gold"])
    assert "denied by rule look(at:*)" in looked


async def test_an_agent_is_not_allowed_what_only_its_definition_allows(tmp_path: Path) -> None:
    desk = Desk()
    with_agent(tmp_path, "allow: [write_down]")
    model = Cast({MAIN: [[start("dig here", agent_type="scribe")], "Done."], "dig": [WRITES, "no"]})
    async with scribes(tmp_path, model, desk) as works:
        await works.run(MAIN)
    assert desk.written == []
    assert "approval_unavailable" in texts(model.asked("dig")[1])[0]


async def test_what_its_definition_denies_is_denied_below_it_and_not_above(tmp_path: Path) -> None:
    desk = Desk()
    with_agent(tmp_path, "deny: ['write_down(text:g*)']")
    model = Cast({
        MAIN: [[start("one deep", agent_type="scribe")], WRITES, "Done."],
        "one": [[start("two deep")], "1"],
        "two": [WRITES, "2"],
    })  # fmt: skip
    async with scribes(tmp_path, model, desk, allow=["write_down"]) as works:
        await works.run(MAIN)
    assert "denied by rule write_down(text:g*)" in texts(model.asked("two")[1])[0]
    assert desk.written == ["gold"]


async def test_an_agent_that_plans_changes_nothing_and_neither_do_its_own(tmp_path: Path) -> None:
    desk = Desk()
    with_agent(tmp_path, "permission_mode: plan")
    model = Cast({
        MAIN: [[start("one deep", agent_type="scribe")], "Done."],
        "one": [[start("two deep")], "1"],
        "two": [WRITES, "2"],
    })  # fmt: skip
    async with scribes(tmp_path, model, desk, allow=["write_down"]) as works:
        await works.run(MAIN)
    assert desk.written == []


async def test_tools_that_are_taken_away_stay_away_below(tmp_path: Path) -> None:
    with_agent(tmp_path, "tools: [agent, look]", "narrow")
    with_agent(tmp_path, "tools: [look, write_down, agent]", "wide")
    model = Cast({
        MAIN: [[start("one deep", agent_type="narrow")], "Done."],
        "one": [[start("two deep", agent_type="wide")], "1"],
        "two": ["2"],
    })  # fmt: skip
    async with scribes(tmp_path, model, Desk()) as works:
        await works.run(MAIN)
    assert offered(model, "one") == {"agent", "look", "task_return"}
    assert offered(model, "two") == {"agent", "look", "task_return"}


async def test_an_agent_in_the_background_is_offered_what_reads_writes_runs_and_searches(
    tmp_path: Path,
) -> None:
    model = Cast({MAIN: [[start("dig here", run_in_background=True)], "I wait.", "Done."], "dig": ["Gold."]})
    async with family(tmp_path, model, tools=None) as works:
        await works.run(MAIN)
    main, below = offered(model, MAIN), offered(model, "dig")
    assert {"read", "write", "bash", "grep", "web_search", "file_search", "task_return"} <= below
    assert not below & {"agent", "send_message", "task_create", "task_output", "monitor"}
    assert below - {"task_return"} < main


async def test_a_client_is_not_asked_to_run_tools_for_agents(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "Done."], "dig": ["Gold."]})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, look, weigh]) as works:
        await works.run(MAIN)
    assert "weigh" in offered(model, MAIN)
    assert "weigh" not in offered(model, "dig")


async def test_a_change_above_holds_at_once_for_agents_at_work(tmp_path: Path) -> None:
    desk, began, go_on = Desk(), anyio.Event(), anyio.Event()

    def dig(_: ModelRequest) -> Any:
        began.set()
        return [go_on, *WRITES]

    model = Cast({
        MAIN: [[start("one deep")], "Done."],
        "one": [[start("two deep")], "1"],
        "two": [WRITES, dig, WRITES, "2"],
    })  # fmt: skip
    async with scribes(tmp_path, model, desk, allow=["write_down"]) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            await began.wait()
            await session.change_permissions(RuleChange("setMode", mode="plan"))
            go_on.set()
            await session.quiet()
        child = await child_of(works, await child_of(works, session))
        check_log(await log_of(child))
    assert desk.written == ["gold"]
    assert [len(results(request)) for request in model.asked("two")[1:]] == [1, 1, 1]


async def test_a_change_above_holds_for_agents_after_the_engine_was_opened_anew(tmp_path: Path) -> None:
    desk = Desk()
    model = Cast({MAIN: ["One.", [start("dig here")], "Two."], "dig": [WRITES, "d"]})
    async with scribes(tmp_path, model, desk, allow=["write_down"]) as works:
        session = await works.session()
        await session.run(MAIN)
        await session.change_permissions(RuleChange("addRules", "deny", rules=("write_down",)))
    async with scribes(tmp_path, model, desk, allow=["write_down"]) as works:
        again = await works.open(session.id)
        await again.run("Go on.")
    assert desk.written == []
    assert "denied by rule write_down (session)" in texts(model.asked("dig")[1])[0]


async def test_an_agent_cannot_be_given_more_than_its_parent_has(tmp_path: Path) -> None:
    desk, began, go_on = Desk(), anyio.Event(), anyio.Event()

    def dig(_: ModelRequest) -> Any:
        began.set()
        return [go_on, *WRITES]

    model = Cast({MAIN: [[start("dig here")], "Done."], "dig": [dig, "d"]})
    async with scribes(tmp_path, model, desk) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            await began.wait()
            child = await child_of(works, session)
            await child.change_permissions(
                RuleChange("addRules", "allow", rules=("write_down",)),
                RuleChange("setMode", mode="acceptEdits"),
            )
            go_on.set()
            await session.quiet()
    assert desk.written == []


async def test_an_agent_begins_where_its_parent_stands(tmp_path: Path) -> None:
    (tmp_path / "project" / "below").mkdir(parents=True)

    @tool(read_only=True)
    def where(ctx: CallContext) -> str:
        """Say where."""
        return str(ctx.workspace.cwd)

    model = Cast({
        MAIN: [[call("bash", command="cd below")], [start("dig here")], "Done."],
        "dig": [[call("where")], "d"],
    })  # fmt: skip
    sandbox = {"sandbox": {"kind": "unsafe_plain_process"}}
    async with family(
        tmp_path, model, tools=[*AGENT_TOOLS, "bash", where], settings=sandbox, allow=["Bash(cd *)"]
    ) as works:
        await works.run(MAIN)
    assert texts(model.asked("dig")[1]) == [str(tmp_path / "project" / "below")]


async def test_a_rule_can_deny_agents_of_one_kind_or_all(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here", agent_type="general")], "Done."]})
    async with family(tmp_path, model, deny=["Agent(general)"]) as works:
        await works.run(MAIN)
    assert "denied by rule Agent(general)" in texts(model.asked(MAIN)[1])[0]
    model = Cast({MAIN: ["Done."]})
    async with family(tmp_path, model, deny=["Agent"]) as works:
        await works.run(MAIN)
    assert "agent" not in offered(model, MAIN)


# --- budgets ----------------------------------------------------------------------------------


async def test_what_agents_use_counts_for_whoever_started_them(tmp_path: Path) -> None:
    model = Cast({
        MAIN: [[start("one deep"), start("two deep")], "Done."],
        "one": [[call("look", at="a")], "1"],
        "two": [[start("three deep")], "2"],
        "three": ["3"],
    })  # fmt: skip
    async with scribes(tmp_path, model, Desk()) as works:
        session = await works.session()
        result = await session.run(MAIN)
        spent = (await session.state()).conversation.spent
    assert (result.rounds, result.calls) == (7, 4)
    assert spent.calls_by_tool == {"agent": 3, "look": 1}
    used = sum(request.max_tokens > 0 for word in model.parts for request in model.asked(word))
    assert used == 7


async def test_all_requests_of_a_family_together_keep_to_the_limit(tmp_path: Path) -> None:
    endless = [[call("look", at=str(place))] for place in range(50)]
    both = [start("one deep"), start("two deep")]
    model = Cast({MAIN: [both, "Enough."], "one": endless, "two": list(endless)})
    async with scribes(tmp_path, model, Desk(), agent=AgentDefinition(limits=RunLimits(rounds=10))) as works:
        session = await works.session()
        result = await session.run(MAIN)
    asked = [len(model.asked(word)) for word in (MAIN, "one", "two")]
    assert (result.text, asked) == ("Enough.", [2, 2, 3])  # a third of what was left, each in turn
    assert all("came to a limit" in text for text in texts(model.asked(MAIN)[1]))


async def test_where_nothing_is_left_no_agent_is_started(tmp_path: Path) -> None:
    model = Cast({MAIN: [[start("dig here")], "Alone then."]})
    async with scribes(tmp_path, model, Desk(), agent=AgentDefinition(limits=RunLimits(rounds=2))) as works:
        session = await works.session()
        assert (await session.run(MAIN)).text == "Alone then."
        assert not (await session.state()).children
    (text,) = texts(model.asked(MAIN)[1])
    assert text.startswith("Error [budget_exhausted]: There is nothing left of the requests to the model")


async def test_a_parent_asks_no_more_while_the_rest_is_set_aside(tmp_path: Path) -> None:
    go_on = anyio.Event()
    task = start("dig here", run_in_background=True, max_turns=2)
    model = Cast({MAIN: [[task], [call("look", at="it")], "Done."], "dig": [go_on, "d"]})
    async with scribes(tmp_path, model, Desk(), agent=AgentDefinition(limits=RunLimits(rounds=4))) as works:
        session = await works.session()
        await session.send(MAIN)
        await until_rest(session)
        waits = await session.result()
        go_on.set()
        result = await session.quiet()
    assert waits.end == "limit"
    assert "More is set aside for agents that are running." in waits.message
    assert (result.end, result.text) == ("done", "Done.")  # what the agent left over is its own again


async def test_a_limit_on_calls_of_one_tool_holds_in_the_whole_family(tmp_path: Path) -> None:
    looks = [[call("look", at="a")], [call("look", at="b")], "d"]
    main = [
        [call("look", at="m")],
        [start("dig here")],
        [call("look", at="z")],
        [call("look", at="-")],
        "Done.",
    ]
    model = Cast({MAIN: main, "dig": looks})
    limits = RunLimits(calls_per_tool={"look": 3})
    async with scribes(tmp_path, model, Desk(), agent=AgentDefinition(limits=limits)) as works:
        result = await works.run(MAIN)
    below = [block.is_error for request in model.asked("dig")[1:] for block in results(request)]
    above = [block.is_error for request in model.asked(MAIN)[3:] for block in results(request)]
    assert (below, above) == ([False, True], [False, True])  # half of what was left, and then the rest
    assert result.calls == 4  # a call that a limit refuses uses nothing
