"""Giving an agent something to do by its name: a new one, one that was started before, none that is there."""

from pathlib import Path

import pytest

from toolwright.contracts.tool import Done, Failed, ToolCall
from toolwright.settings import load
from toolwright.testing import MemoryChildren
from toolwright.wiring import House, Wanted, build

pytestmark = pytest.mark.anyio


def house_with(folder: Path, children: MemoryChildren) -> House:
    written = {"tools": {"toolset": "coordinator_20260401"}}
    loaded = load(str(folder), environ={}, cli=written, read_files=False)
    return build(loaded, Wanted(session_dir=str(folder / "session"), children=children))


async def test_a_new_agent_begins_in_the_background_and_a_known_one_goes_on(tmp_path: Path) -> None:
    children = MemoryChildren()
    house = house_with(tmp_path, children)
    started = await house.call(ToolCall("c1", "send_to_agent", {"agent_name": "general", "message": "Dig."}))
    assert isinstance(started.outcome, Done)
    [task] = children.tasks
    assert (task.agent, task.prompt, task.background, task.call_id) == ("general", "Dig.", True, "c1")
    child = started.outcome.data["agent_id"]
    more = {"agent_name": "general", "message": "Deeper.", "agent_id": child}
    again = await house.call(ToolCall("c2", "send_to_agent", more))
    assert isinstance(again.outcome, Done)
    assert (len(children.tasks), children.said) == (1, [(child, "Deeper.")])
    await house.close()


@pytest.mark.parametrize(
    ("input", "code", "said"),
    [
        ({"agent_name": "nobody", "message": "x"}, "validation_failed", "Known: general."),
        (
            {"agent_name": "general", "message": "x", "agent_id": "s_9"},
            "file_not_found",
            "Of that name: none.",
        ),
    ],
)
async def test_an_agent_that_is_not_there_is_named(
    tmp_path: Path, input: dict[str, str], code: str, said: str
) -> None:
    house = house_with(tmp_path, MemoryChildren())
    result = await house.call(ToolCall("c1", "send_to_agent", input))
    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == code
    assert said in str(result.content)
    await house.close()


def test_only_toolsets_that_name_it_offer_it(tmp_path: Path) -> None:
    loaded = load(str(tmp_path), environ={}, read_files=False)
    usual = build(loaded, Wanted(session_dir=str(tmp_path / "session"), children=MemoryChildren()))
    assert "send_to_agent" not in usual.offered.names
    assert "send_message" in usual.offered.names
