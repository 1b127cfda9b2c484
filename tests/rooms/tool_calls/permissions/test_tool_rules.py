"""Rules that remove a tool, and the simple pattern they share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.permissions import RuleSet
from toolwright.contracts.tool import McpOrigin, Source, ToolSpec
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.tool_rules import removing
from toolwright.tool_calls.permissions.wildcards import covers, covers_words


def spec(name: str, *, source: Source = "builtin", mcp: McpOrigin | None = None) -> ToolSpec:
    return ToolSpec(name=name, description="", input_schema={}, source=source, mcp=mcp)


BASH = spec("bash")
SERVER = spec("mcp.github.search", source="mcp", mcp=McpOrigin("github", "search"))
RUNTIME = spec("task_return", source="runtime")


@pytest.mark.parametrize(
    ("text", "tool", "removed"),
    [
        ("Bash", BASH, True),
        ("Bash(*)", BASH, True),
        ("B*", BASH, True),
        ("*", BASH, True),
        ("Bash(rm *)", BASH, False),
        ("Read", BASH, False),
        ("mcp__github", SERVER, True),
        ("mcp__github__*", SERVER, True),
        ("mcp__*", SERVER, True),
        ("mcp.github.search", SERVER, True),
        ("mcp__git", SERVER, False),
        ("mcp__github__get_*", SERVER, False),
        ("task_return", RUNTIME, False),
        ("task_*", RUNTIME, False),
        ("*", RUNTIME, True),
    ],
)
def test_rules_without_content_remove_a_tool(text: str, tool: ToolSpec, removed: bool) -> None:
    rule = parse_rule(text, behavior="deny", source="user", names={})
    assert removing(RuleSet(deny=(rule,)), tool) == (rule if removed else None)


def test_a_tool_is_removed_under_the_name_it_is_offered() -> None:
    rule = parse_rule("run_shell", behavior="deny", source="user", names={})
    assert removing(RuleSet(deny=(rule,)), BASH, "run_shell") == rule


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True),
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a*", "a", True),
        ("*b*", "abc", True),
        ("a*b*c", "a1b2c", True),
        ("a*b*c", "acb", False),
        ("ab*ba", "aba", False),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("a*a", "aa", True),
    ],
)
def test_stars_stand_for_any_text(pattern: str, text: str, expected: bool) -> None:
    assert covers(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("go *", "go", True),
        ("go *", "go on", True),
        ("go *", "gone", False),
        ("go:*", "go", True),
        ("go:*", "go on", True),
        ("go*", "gone", True),
        ("x", "x", True),
    ],
)
def test_a_trailing_star_after_a_blank_may_stand_for_nothing(pattern: str, text: str, expected: bool) -> None:
    assert covers_words(pattern, text) is expected


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=4), st.text("ab", max_size=6))
def test_a_text_made_from_a_pattern_is_covered(pieces: list[str], filler: str) -> None:
    assert covers("*".join(pieces), filler.join(pieces))
