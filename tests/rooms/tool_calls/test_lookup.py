"""Which names reach a tool, and what is said when none does."""

from dataclasses import replace

from tests.rooms.tool_calls.fakes import FakeTool, offered

from toolwright.contracts.tool import Failed, Offered, OfferedTool, Tool
from toolwright.tool_calls.lookup import found, near_names


def failure(name: str, within: Offered) -> Failed:
    failed = found(within, name)
    assert isinstance(failed, Failed)
    return failed


def test_name_and_alias_reach_the_tool() -> None:
    within = offered(FakeTool("web_fetch", aliases=("WebFetch",)))
    assert found(within, "web_fetch") is found(within, "WebFetch") is within.tools[0]


def test_unknown_name_names_what_is_near_among_the_offered() -> None:
    within = offered(FakeTool("read_file"), FakeTool("write_file"), FakeTool("bash"))
    failed = failure("readFile", within)
    assert failed == Failed(
        "unknown_tool", "There is no tool named 'readFile'.", hint="Did you mean read_file, write_file?"
    )


def test_at_most_three_names_are_suggested() -> None:
    within = offered(*(FakeTool(f"tool_{n}") for n in range(9)))
    assert len(near_names(within, "tool_x")) == 3


def test_nothing_near_is_no_suggestion() -> None:
    failed = failure("x" * 5000, offered(FakeTool("read")))
    assert failed.hint == "Call one of the tools you were given."
    assert len(failed.message) < 200


def test_deferred_and_unavailable_tools_say_so() -> None:
    assert failure("grep", offered(FakeTool("grep"), loaded=False)).code == "tool_not_loaded"
    failed = failure("bash", offered(FakeTool("bash", unavailable="no sandbox works on this machine")))
    assert failed.code == "tool_unavailable"
    assert failed.message == "bash cannot be used here: no sandbox works on this machine."


def test_ten_thousand_tools_are_searched_for_a_near_name() -> None:
    one: Tool = FakeTool("issue_create")
    shown = tuple(OfferedTool(one, f"server{n}_issue_create", "", "") for n in range(10_000))
    within = Offered((*shown, replace(shown[0], name="issue_close")), {})
    assert "issue_close" in near_names(within, "issue_clos")
