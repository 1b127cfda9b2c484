"""Whom a session may start, and what an agent is hired with."""

from typing import Any

import pytest

from toolwright.catalog.folders import KnownAgent, KnownAgents
from toolwright.contracts.children import ChildTask
from toolwright.contracts.definitions import AgentDefinition, RunLimits
from toolwright.contracts.errors import RuleError, SettingsError, ToolFailure
from toolwright.contracts.events import ModelChosen, SessionCreated
from toolwright.sessions.rights import Rights
from toolwright.sessions.state import SessionState
from toolwright.settings import load
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.wiring.rights import Member
from toolwright.wiring.staff import HouseStaff

KNOWN = (
    AgentDefinition(name="explore", tools=("read", "grep"), model="small/one", effort="low"),
    AgentDefinition(name="general", limits=RunLimits(rounds=9)),
    AgentDefinition(name="main"),
)


def looked_up(written: str) -> Any:
    if written.startswith("no"):
        raise SettingsError(f"there is no provider {written!r}")
    return None


def staff(mine: AgentDefinition | None = None, *, only: set[str] | None = None) -> HouseStaff:
    agent = mine or AgentDefinition(model="big/two", toolset="harness", max_tokens=77)
    state = SessionState(SessionCreated(session_id="s", agent=agent), 0.0)
    return HouseStaff(
        load("/", environ={"TOOLWRIGHT_MAX_SUBAGENTS": "4"}, read_files=False),
        KnownAgents(tuple(KnownAgent(agent, "built in") for agent in KNOWN)),
        state,
        may_start=lambda name: only is None or name in only,
        lookup=looked_up,
        model="default/three",
    )


def task(agent: str, **more: Any) -> ChildTask:
    return ChildTask(agent=agent, prompt="Dig.", **more)


def test_all_but_the_main_agent_may_be_started() -> None:
    assert [agent.name for agent in staff().agents] == ["explore", "general"]
    assert [agent.name for agent in staff(only={"general"}).agents] == ["general"]
    assert staff().limits.max_running == 4


def test_agents_that_came_along_are_found_before_others_even_a_main_one() -> None:
    own = (AgentDefinition(name="general", system="Mine."), AgentDefinition(name="main", system="Ours."))
    found = {agent.name: agent.system for agent in staff(AgentDefinition(roster=own)).agents}
    assert found == {"explore": "", "general": "Mine.", "main": "Ours."}


def test_what_a_definition_leaves_open_is_as_its_parent_has_it() -> None:
    hired = staff().hired(task("general"))
    assert (hired.model, hired.toolset, hired.max_tokens) == ("big/two", "harness", 77)
    own = staff().hired(task("explore"))
    assert (own.model, own.effort) == ("small/one", "low")
    assert staff(AgentDefinition()).hired(task("general")).model == "default/three"


def test_the_model_of_the_call_goes_before_all_and_the_one_chosen_last_before_the_parents() -> None:
    assert staff().hired(task("explore", model="other/four")).model == "other/four"
    chosen = staff()
    chosen._state.apply(ModelChosen(model="last/five"), 1.0)
    assert chosen.hired(task("general")).model == "last/five"


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (task("digger"), "There is no agent 'digger'."),
        (task("main"), "There is no agent 'main'."),
        (task("general", model="nobody/six"), "there is no provider 'nobody/six'"),
    ],
)
def test_who_cannot_be_hired(wanted: ChildTask, said: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        staff().hired(wanted)
    assert (caught.value.code, caught.value.message) == ("validation_failed", said)


def test_one_without_any_of_its_tools_is_not_hired() -> None:
    one = staff()
    seen: list[Member] = []

    def rights(member: Member) -> Rights:
        seen.append(member)
        return Rights(policy=Policy())

    one.rights_of = rights
    with pytest.raises(ToolFailure, match="None of the tools of explore is there for it: read, grep"):
        one.hired(task("explore", background=True))
    assert [(member.depth, member.background) for member in seen] == [(1, True)]
    assert one.hired(task("general")).name == "general"  # it asked for none


def test_one_whose_rules_cannot_be_read_is_not_hired() -> None:
    def rights(member: Member) -> Rights:
        raise RuleError("rule 'Bash(' cannot be read")

    one = staff()
    one.rights_of = rights
    with pytest.raises(ToolFailure, match="explore cannot work: rule"):
        one.hired(task("explore"))
