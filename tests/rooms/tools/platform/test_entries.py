"""Entries of a catalog run: their texts and schemas, over the work that they refer to."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.definitions import ToolEntry
from toolwright.contracts.errors import DefinitionError
from toolwright.tools.platform.functions import FUNCTIONS, PlatformFunction, PlatformFunctions, platform_tool
from toolwright.tools.platform.reporting import is_error

from .houses import Desk, desk_of

pytestmark = pytest.mark.anyio
ANYTHING: dict[str, Any] = {"type": "object"}


@platform_tool("entries_test.price", read_only=True)
def price(item: str, currency: str = "EUR") -> Any:
    """Not read: texts come from the entry."""
    if item == "gold":
        return {"error": "rate_limited", "message": "Ask again in a minute.", "retry_after": 60}
    if item == "moon":
        return {"error": "not_for_sale", "message": "Nobody sells it."}
    if item == "crash":
        raise RuntimeError("a secret in a trace")
    return {"item": item, "currency": currency, "error": None}


def entry(name: str, **changes: Any) -> ToolEntry:
    given: dict[str, Any] = {
        "name": name,
        "description": "Return the price of an item.",
        "input_schema": {
            "type": "object",
            "properties": {
                "item": {"type": "string"},
                "currency": {"enum": ["EUR", "CHF"], "default": "CHF"},
            },
            "required": ["item"],
        },
        "kind": "platform",
        "ref": "entries_test.price",
    }
    return ToolEntry(**(given | changes))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    more = (
        entry("shop.price"),
        entry("shop.euros", fixed={"currency": "EUR"}),
        entry("shop.order", confirm="permission"),
        entry("old_price", deprecated="Use shop.price."),
        entry("extract", kind="extractor", ref=""),
        entry("tidy", kind="skill", ref="tidy"),
        entry("gone", ref="no.such.function"),
        entry("slack.say", kind="mcp", ref="slack/send_message"),
    )
    async with desk_of(tmp_path, *more) as desk:
        yield desk


async def test_a_function_of_a_user_runs_with_the_defaults_of_the_schema(desk: Desk) -> None:
    assert json.loads(await desk.text("shop.price", item="tea")) == {
        "item": "tea",
        "currency": "CHF",
        "error": None,
    }
    assert json.loads(await desk.text("shop_euros", item="tea"))["currency"] == "EUR"


async def test_input_that_does_not_fit_never_runs(desk: Desk) -> None:
    error = await desk.error("shop.price", item="tea", currency="USD")
    assert error["error"] == "invalid_input"
    assert "currency" in error["message"]


async def test_an_error_object_is_a_failure_and_stays_what_it_was(desk: Desk) -> None:
    assert await desk.error("shop.price", item="gold") == {
        "error": "rate_limited",
        "message": "Ask again in a minute.",
        "retry_after": 60,
    }
    result = await desk.result("shop.price", item="moon")
    assert result.is_error
    assert json.loads(str(result.content)) == {"error": "not_for_sale", "message": "Nobody sells it."}


async def test_a_crash_is_told_without_its_trace(desk: Desk) -> None:
    error = await desk.error("shop.price", item="crash")
    assert error["error"] == "internal_error"
    assert "Traceback" not in error["message"]


async def test_what_a_person_must_permit_is_refused_where_there_is_none(desk: Desk) -> None:
    assert (await desk.error("shop.order", item="tea"))["error"] in {
        "permission_denied",
        "approval_unavailable",
    }


async def test_an_extractor_takes_its_input(desk: Desk) -> None:
    assert json.loads(await desk.text("extract", item="x")) == {"status": "ok"}
    assert (await desk.error("extract"))["error"] == "invalid_input"


async def test_what_cannot_run_here_says_why(desk: Desk) -> None:
    for name, said in (("tidy", "skills"), ("gone", "no.such.function")):
        error = await desk.error(name, item="x")
        assert error["error"] == "tool_unavailable"
        assert said in error["message"]
    error = await desk.error("slack.say", item="x")
    assert error["error"] == "mcp_disconnected"
    assert "slack" in error["message"]


async def test_a_model_reads_the_texts_of_the_entry(desk: Desk) -> None:
    offered = {tool.name: tool for tool in desk.house.offered.tools}
    assert "Deprecated: Use shop.price." in offered["old_price"].description
    assert offered["shop.price"].wire_name == "shop_price"
    assert "read" not in offered, "built-in tools are not offered beside those of a catalog"


async def test_an_agent_has_its_tools_only(tmp_path: Path) -> None:
    async with desk_of(tmp_path, agent="researcher") as desk:
        assert (await desk.error("bash", command="ls"))["error"] == "unknown_tool"
        assert "web_search" in desk.house.offered.names


def test_a_name_of_a_function_is_taken_once() -> None:
    functions = PlatformFunctions()
    functions.add(PlatformFunction("mine", price, {}))
    functions.add(PlatformFunction("mine", price, {}))
    with pytest.raises(DefinitionError, match="already"):
        functions.add(PlatformFunction("mine", len, {}))


def test_every_function_of_ours_can_be_referred_to() -> None:
    assert {"read_file", "write_file", "bash", "git_log", "ask_user", "edit"} <= set(FUNCTIONS.names())
    assert not {"task_create", "tool_search", "agent"} & set(FUNCTIONS.names())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"error": "x", "message": "y"}, True),
        ({"error": "x"}, True),
        ({"error": "x", "rows": 3}, False),
        ({"error": None, "message": "y"}, False),
        ({"error": "", "message": "y"}, False),
        ({"error": {"code": 1}}, False),
        ("error", False),
    ],
)
def test_what_counts_as_an_error_object(value: Any, expected: bool) -> None:
    assert is_error(value) is expected
