"""Which tools a hook speaks of."""

import pytest

from toolwright.tool_calls.hooks.matching import name_test


@pytest.mark.parametrize(
    ("matcher", "name", "expected"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Bash", "bash", False),
        ("Bash|Edit", "Edit", True),
        ("Bash, Edit", "Edit", True),
        ("web-fetch_2", "web-fetch_2", True),
        ("mcp__github__.*", "mcp__github__search", True),
        ("^Bash$", "BashOutput", False),
        ("Edit.?", "NotebookEdit", True),
        ("mcp.github.search", "mcp.github.search", True),
        ("(?i)bash", "BASH", True),
    ],
)
def test_matchers(matcher: str, name: str, expected: bool) -> None:
    assert name_test(matcher)((name,)) is expected


def test_any_name_of_a_tool_will_do() -> None:
    assert name_test("Bash")(("shell", "Bash"))
    assert not name_test("Bash")(())
