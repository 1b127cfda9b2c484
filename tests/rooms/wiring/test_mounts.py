"""Mounts in a house: seen by the first session of a line and by those that it has started."""

from pathlib import Path

import pytest

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import SessionCreated
from toolwright.contracts.hooks import HookInput
from toolwright.contracts.mounts import Mount
from toolwright.contracts.tool import Done, ToolCall
from toolwright.settings import load
from toolwright.wiring import Wanted, build
from toolwright.wiring.rights import Member
from toolwright.wiring.settling_mounts import settling

pytestmark = pytest.mark.anyio


async def test_a_child_sees_the_mounts_of_the_session_that_a_person_started(tmp_path: Path) -> None:
    for name in ("project", "given", "first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "a.txt").write_text("alpha")
    mount = Mount(path="/mnt/given", folder=str(tmp_path / "given"))
    agent = AgentDefinition()
    line = (
        Member(agent=agent, session_dir=str(tmp_path / "first"), mounts=(mount,)),
        Member(agent=agent, session_dir=str(tmp_path / "second"), depth=1),
    )
    loaded = load(str(tmp_path / "project"), environ={"HOME": str(tmp_path / "home")})
    house = build(loaded, Wanted(builtins=["read"], line=line, session_dir=str(tmp_path / "second")))
    try:
        assert house.in_force.workspace.mounts == house.in_force.policy.mounts == (mount,)
        result = await house.call(ToolCall("call_1", "read", {"file_path": "/mnt/given/a.txt"}))
        assert isinstance(result.outcome, Done)
        assert "alpha" in str(result.content)
        assert str(tmp_path / "given") not in str(result.content)
    finally:
        await house.close()


class Settled:
    """Notes what it was asked to bring in step."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def settle(self, workspace: str, session_id: str, mounts: object) -> str:
        self.asked.append((workspace, session_id))
        return "a note"


async def test_mounts_are_brought_in_step_after_batches_where_there_are_any_to_be() -> None:
    settled, bare = Settled(), Mount(path="/mnt/a", folder="/srv/a")
    kept = Mount(path="/mnt/b", folder="/srv/b", source="store_1")
    first = SessionCreated(session_id="one", agent=AgentDefinition(), workspace="team", mounts=(bare, kept))
    [hook] = settling(settled, first)
    told = HookInput(event="PostToolBatch", session_id="child", cwd="/", permission_mode="default")
    answer = await hook.handler(told)
    assert answer is not None
    assert (hook.event, answer.context, settled.asked) == ("PostToolBatch", "a note", [("team", "one")])
    unkept = SessionCreated(session_id="one", agent=AgentDefinition(), mounts=(bare,))
    assert settling(settled, unkept) == settling(None, first) == ()
