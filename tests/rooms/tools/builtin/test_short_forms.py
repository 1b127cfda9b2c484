"""Forms of built-in tools with fewer parameters, as the toolset of the Managed Agents API offers them."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.rooms.tools.builtin.conftest import Desk

from toolwright.tools.toolsets import toolset

pytestmark = pytest.mark.anyio
SET = toolset("agent_toolset_20260401")


@pytest.fixture
def short(desk: Desk) -> Desk:
    desk.options = {**SET.options["read"], **SET.options["grep"], **SET.options["edit"]}
    return desk


def parameters(desk: Desk, name: str) -> set[str]:
    return set(desk.tool(name).spec.input_schema["properties"])


def test_they_take_what_their_users_know(short: Desk) -> None:
    assert parameters(short, "read") == {"file_path", "view_range"}
    assert parameters(short, "grep") == {"pattern", "path"}
    assert parameters(short, "edit") == {"file_path", "old_string", "new_string", "replace_all"}


@pytest.mark.parametrize(
    ("given", "lines"),
    [([1, 1], ["1"]), ([2, 3], ["2", "3"]), ([4, 0], ["4", "5"]), ([4, -1], ["4", "5"]), ([5, 9], ["5"])],
)
async def test_a_range_of_lines_is_read(short: Desk, given: Sequence[int], lines: list[str]) -> None:
    path = short.put("five.txt", "1\n2\n3\n4\n5\n")
    data: Any = (await short.call("read", file_path=path, view_range=list(given))).data
    assert data["content"].split("\n") == lines


@pytest.mark.parametrize("given", [[0, 3], [-1, 0], [4, 3]])
async def test_what_is_no_range_is_said_so(short: Desk, given: list[int]) -> None:
    path = short.put("five.txt", "1\n2\n3\n4\n5\n")
    failure = await short.failure("read", file_path=path, view_range=given)
    assert (failure.code, str(given) in str(failure)) == ("validation_failed", True)


async def test_a_long_file_says_with_which_range_to_go_on(short: Desk) -> None:
    path = short.put("long.txt", "".join(f"{number}\n" for number in range(1, 2_502)))
    said = await short.text("read", file_path=path)
    assert said.endswith("PARTIAL: lines 1-2000 of 2501 are shown. Continue with view_range=[2001, 0].")
    rest: Any = (await short.call("read", file_path=path, view_range=[2001, 0])).data
    assert (rest["start_line"], rest["num_lines"]) == (2_001, 501)


async def test_a_search_shows_every_line_that_matches(short: Desk) -> None:
    path = short.put("code.py", "".join(f"needle {number}\n" for number in range(300)))
    said = await short.text("grep", pattern="needle")
    assert said.splitlines()[0] == f"{path}:1:needle 0"
    assert len(said.splitlines()) == 300
    assert await short.text("grep", pattern="nothing of that kind") == "No matches."


async def test_a_file_is_changed_without_being_read_first(short: Desk) -> None:
    path = short.put("a.txt", "one\n")
    await short.call("edit", file_path=path, old_string="one", new_string="two")
    assert short.bytes_of("a.txt") == b"two\n"
    other = short.put("b.txt", "one\n")
    await short.call("write", file_path=other, content="three\n")
    assert short.bytes_of("b.txt") == b"three\n"
