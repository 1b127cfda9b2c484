"""Tools found by names and words, and when they are told of by name only."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bench.tool_search_set import Described, described, questions, tools

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import OfferedTool
from toolwright.tools import deferring
from toolwright.tools.builtin.call_tool import CallTool
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


def test_own_tools_and_servers_without_number_do_not_make_the_listing_longer() -> None:
    own = [replace(one, tool=Own(one)) for one in tools(2_000)]
    servers = [described(f"server{number}", "look", "Look.", []) for number in range(1_000)]
    failed = {f"gone{number}": "it did not answer within 30 s" for number in range(500)}
    text = listing([*own, *servers], search="tool_search", failed=failed)
    assert len(text) <= deferring.LONGEST_LISTING
    assert text.count("more; search by keyword") >= 2
    assert "more servers; search by keyword" in text
    assert "mcp__server7:\n  look" in text
    assert "failed: mcp__gone0 (it did not answer within 30 s)" in text


class Own(Described):
    """The same tool, as if it were ours."""

    def __init__(self, one: OfferedTool) -> None:
        self.spec = replace(one.tool.spec, mcp=None, source="custom")


def test_what_fills_a_tenth_of_the_window_is_told_by_name_from_there_on() -> None:
    offered = tools(40)
    full = sum(deferring.tokens(tool) for tool in offered)
    search = OfferedTool(ToolSearch(None), "tool_search", "tool_search", "")
    assert is_time(When(), [search, *offered], window=full * 10)
    assert not is_time(When(), [search, *offered], window=full * 10 + 10)
    assert is_time(When(share=20), [search, *offered], window=full * 5)
    assert not is_time(When(share=None), [search, *offered], window=1)
    assert not is_time(When("always"), offered, window=1)  # nobody could find them


def test_a_name_that_is_not_there_yet_is_waited_for() -> None:
    assert INDEX.find("select:github.create_issue", 5).is_good
    assert not INDEX.find("select:github.create_issue,nosuch.create_issue", 5).is_good
    assert not INDEX.find("+nosuch create issue", 5).is_good


@pytest.mark.parametrize(
    ("query", "because"),
    [
        ("frobnicate", "name"),
        ("acme", "server"),
        ("wombats", "hint"),
        ("quokka", "title"),
        ("billing_code", "argument"),
        ("narwhals", "description"),
        ("platypus", "argument text"),
    ],
)
def test_every_word_of_a_tool_finds_it(query: str, because: str) -> None:
    schema = {"type": "object", "properties": {"billing_code": {"description": "Of the platypus."}}}
    one = described("acme", "frobnicate", "About narwhals.", [])
    spec = replace(one.tool.spec, search_hint="count wombats", display_name="Quokka", input_schema=schema)
    own = Own(one)
    own.spec = spec
    index = ToolIndex([*tools(50), replace(one, tool=own, description=spec.description)])
    assert [match.key for match in index.find(query, 1).matches] == ["mcp.acme.frobnicate"], because


@pytest.mark.parametrize(
    ("wanted", "native", "count", "has_caller", "way"),
    [
        ("auto", True, 10, False, "native"),
        ("auto", False, 10, False, "append"),
        ("native", False, 10, False, "append"),
        ("append", True, 10, False, "append"),
        ("auto", True, 10_001, False, "append"),
        ("dispatch", True, 10, True, "dispatch"),
        ("dispatch", True, 10, False, "append"),
    ],
)
def test_definitions_come_as_it_is_wanted_where_that_is_possible(
    wanted: Any, native: bool, count: int, has_caller: bool, way: str
) -> None:
    offered = [described("s", "t", "", [])] * count
    if has_caller:
        offered = [*offered, OfferedTool(CallTool(None), "call_tool", "call_tool", "")]
    assert deferring.way(wanted, offered, native=native) == way
