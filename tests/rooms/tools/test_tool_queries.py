"""Tools found by names and words, and when they are told of by name only."""

from collections.abc import Sequence

import pytest
from bench.tool_search_set import questions, tools

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import OfferedTool
from toolwright.tools import deferring
from toolwright.tools.builtin.tool_search import ToolSearch
from toolwright.tools.deferring import When, is_time, listing, read_when
from toolwright.tools.tool_queries import ToolIndex

INDEX = ToolIndex(tools(1_000))


def found(query: str, limit: int = 5) -> list[str]:
    return [match.key for match in INDEX.find(query, limit).matches]


def test_the_tool_that_is_meant_is_found_by_most_questions() -> None:
    asked = questions()
    hits = [meant in found(question) for question, meant in asked]
    assert len(asked) >= 60
    assert sum(hits) / len(hits) >= 0.9


@pytest.mark.parametrize(
    "query",
    [
        "select:mcp__github__create_issue",
        "select: MCP.GitHub.create_issue",
        "select:github.create_issue",
        "mcp__github__create_issue",
        "please load mcp__github__create_issue now",
    ],
)
def test_a_named_tool_comes_first_in_whatever_spelling(query: str) -> None:
    assert found(query)[0] == "mcp.github.create_issue"


def test_all_named_tools_come_whatever_the_limit_and_unknown_ones_are_told() -> None:
    answer = INDEX.find("select:github.create_issue,slack.post_message,github.creat_issue", 1)
    assert [match.key for match in answer.matches] == ["mcp.github.create_issue", "mcp.slack.post_message"]
    assert [(one.name, "mcp__github__create_issue" in one.near) for one in answer.unknown] == [
        ("github.creat_issue", True)
    ]


def test_a_word_with_a_plus_must_stand_in_the_name() -> None:
    assert all("stripe" in key for key in found("+stripe create", 20))
    assert found("+nosuchservice create") == []
    assert found("xyzzy plugh") == []


def test_no_more_are_found_than_wanted_and_none_twice() -> None:
    keys = found("create a new report for the customer account", 50)
    assert len(keys) <= 50
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("written", "when"),
    [
        ("auto", When()),
        ("AUTO:5", When(tools=None, share=5)),
        ("count:100", When(tools=100, share=None)),
        ("always", When("always")),
        ("true", When("always")),
        ("never", When("never")),
        ("false", When("never")),
    ],
)
def test_the_setting_is_read(written: str, when: When) -> None:
    assert read_when(written) == when


@pytest.mark.parametrize("written", ["", "10", "auto:", "count", "sometimes", "auto:x", "count:-1"])
def test_any_other_setting_is_refused(written: str) -> None:
    with pytest.raises(SettingsError, match=r"tool_search\.mode"):
        read_when(written)


def offered(count: int) -> Sequence[OfferedTool]:
    search = ToolSearch(None)
    return [OfferedTool(search, "tool_search", "tool_search", "Search."), *tools(count)]


def test_tools_are_told_by_name_past_the_count_and_past_the_share_of_the_window() -> None:
    some = offered(deferring.MOST_TOOLS - 1)
    assert not is_time(When(share=None), some, window=1)
    assert is_time(When(share=None), offered(deferring.MOST_TOOLS), window=1)
    cost = sum(deferring.tokens(tool) for tool in some[1:])
    assert is_time(When(tools=None, share=10), some, window=cost * 10)
    assert not is_time(When(tools=None, share=10), some, window=cost * 10 + 10)
    assert not is_time(When("always"), some[1:], window=1)  # without the search nothing is


def test_the_listing_groups_tools_by_server_and_is_bounded() -> None:
    text = listing(
        tools(3_000),
        search="tool_search",
        about={"github": "Issues and code. More."},
        failed={"jira": "refused"},
    )
    assert len(text) < deferring.LONGEST_LISTING
    assert "mcp__github: (Issues and code.)\n  create_issue, " in text
    assert "more; search by keyword" in text
    assert "failed: mcp__jira (refused)" in text
