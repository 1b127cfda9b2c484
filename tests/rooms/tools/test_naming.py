"""Canonical, offered and wire names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.errors import DefinitionError
from toolwright.tools import naming


@pytest.mark.parametrize("name", ["a", "read", "task.create", "Read-2", "x" * 64])
def test_legal_names(name: str) -> None:
    assert naming.check_name(name) == name


@pytest.mark.parametrize("name", ["", "1a", ".a", "a/b", "a b", "é", "x" * 65, "a\n"])
def test_illegal_names(name: str) -> None:
    with pytest.raises(DefinitionError):
        naming.check_name(name)


@pytest.mark.parametrize(
    ("name", "wire", "pascal", "words"),
    [
        ("read", "read", "Read", "Read"),
        ("task_create", "task_create", "TaskCreate", "Task create"),
        ("workspace.apply_patch", "workspace_apply_patch", "WorkspaceApplyPatch", "Workspace apply patch"),
        ("NotebookEdit", "NotebookEdit", "NotebookEdit", "Notebook edit"),
        ("sendHTTPRequest", "sendHTTPRequest", "SendHTTPRequest", "Send HTTP request"),
    ],
)
def test_spellings(name: str, wire: str, pascal: str, words: str) -> None:
    assert (naming.wire_name(name), naming.pascal_name(name), naming.words_of(name)) == (wire, pascal, words)


def test_names_of_servers_and_their_tools_hold_nothing_odd() -> None:
    assert naming.mcp_name("my server", "create.issue") == "mcp.my_server.create_issue"
    assert naming.mcp_offered_name("mcp.my_server.create_issue") == "mcp__my_server__create_issue"


def test_tools_that_would_share_a_name_are_told_apart_by_a_digest() -> None:
    names = naming.mcp_names("srv", ["a.b", "a_b", "c"])
    assert names["c"] == "mcp.srv.c"
    assert len(set(names.values())) == 3
    assert all(re.fullmatch(r"mcp\.srv\.a_b_[0-9a-f]{8}", names[tool]) for tool in ("a.b", "a_b"))
    assert naming.mcp_names("srv", ["c", "a_b", "a.b"]) == names  # whatever came first


@given(
    st.text(alphabet="ab-_9", min_size=1, max_size=64),
    st.lists(st.text(alphabet="ab._-", min_size=1, max_size=128), unique=True, max_size=6),
)
def test_names_of_tools_are_unique_and_fit_every_provider(server: str, tools: list[str]) -> None:
    names = naming.mcp_names(server, tools)
    offered = [naming.mcp_offered_name(name) for name in names.values()]
    assert len(set(offered)) == len(tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in offered)
    assert all(name.count(".") == 2 and naming.check_name(name, mcp=True) for name in names.values())


def test_long_names_keep_their_beginning() -> None:
    name = naming.mcp_offered_name(naming.mcp_name("srv", "x" * 100))
    assert (len(name), name[:55]) == (64, ("mcp__srv__" + "x" * 100)[:55])
