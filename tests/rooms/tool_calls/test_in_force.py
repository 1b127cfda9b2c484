"""The policy and the workspace of a session, and who hears of their change."""

from dataclasses import replace

from tests.rooms.tool_calls.fakes import FakeWorkspace

from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.permissions.subject import Policy


def test_moving_changes_policy_and_workspace_together() -> None:
    in_force = InForce(policy=Policy(cwd="/work"), workspace=FakeWorkspace())
    in_force.move("/work/sub")
    assert (in_force.policy.cwd, in_force.workspace.cwd) == ("/work/sub", "/work/sub")


def test_listeners_hear_of_changes_while_they_listen() -> None:
    in_force = InForce(policy=Policy(), workspace=FakeWorkspace())
    heard: list[str] = []
    with in_force.telling(lambda: heard.append(in_force.policy.mode)):
        in_force.change(replace(in_force.policy, mode="plan"))
    in_force.change(replace(in_force.policy, mode="default"))
    assert heard == ["plan"]


def test_the_workspace_stays_the_same_object_until_something_changes() -> None:
    in_force = InForce(policy=Policy(), workspace=FakeWorkspace())
    assert in_force.workspace is in_force.workspace
