"""What becomes of a tool of which only name, schema and work are known: every question that has a default."""

import json
from typing import Any

import anyio
import pytest

from toolwright import Failed, Toolbox, build_tool
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.contracts.tool import CallState, Tool
from toolwright.contracts.view import Line, Text

pytestmark = pytest.mark.anyio

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
ALLOWED: dict[str, Any] = {"allow": ["bare"]}


def bare(call: Any) -> Tool:
    return build_tool(name="bare", description="Do something unknown.", input_schema=SCHEMA, call=call)


async def echo(word: str = "") -> str:
    return word


async def test_it_runs_beside_no_other_call() -> None:
    running, most = 0, 0

    async def work(word: str = "") -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return word

    async with Toolbox([bare(work)], **ALLOWED) as box:
        block = await box.batch([("bare", {"word": str(number)}) for number in range(5)])

    assert ([result.content for result in block.results], most) == (list("01234"), 1)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan"])
async def test_a_person_is_asked_before_it_runs(mode: Any) -> None:
    asked: list[ApprovalRequest] = []

    def refuse(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    async with Toolbox([bare(echo)], mode=mode, approve=refuse) as box:
        result = await box.call("bare", {"word": "x"})

    assert isinstance(result.outcome, Failed)
    assert ([request.tool for request in asked], result.outcome.code) == (["bare"], "rejected_by_user")


async def test_it_is_denied_where_nothing_is_asked() -> None:
    async with Toolbox([bare(echo)], mode="dontAsk", approve=lambda _: True) as box:
        result = await box.call("bare", {"word": "x"})

    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == "permission_denied"


async def test_it_runs_unasked_only_where_everything_does() -> None:
    settings = {"permissions": {"bypass_as_root": True}}
    async with Toolbox([bare(echo)], mode="bypassPermissions", settings=settings) as box:
        assert (await box.call("bare", {"word": "x"})).content == "x"


async def test_its_large_result_is_stored_whole_and_shown_in_part() -> None:
    async def much(word: str = "") -> str:
        return "line of text\n" * 10_000

    async with Toolbox([bare(much)], **ALLOWED) as box:
        result = await box.call("bare")
        assert result.stored is not None
        with open(result.stored.path) as stored:
            assert stored.read() == "line of text\n" * 10_000

    assert isinstance(result.content, str)
    assert len(result.content) < 10_000
    assert result.stored.path in result.content


async def test_an_interrupt_cancels_it() -> None:
    started = anyio.Event()

    async def endless(word: str = "") -> str:
        started.set()
        await anyio.sleep_forever()
        return word

    async with Toolbox([bare(endless)], **ALLOWED) as box, anyio.create_task_group() as group:

        async def interrupt() -> None:
            await started.wait()
            box.interrupt()

        group.start_soon(interrupt)
        with anyio.fail_after(30):
            result = await box.call("bare")

    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == "interrupted"


async def test_it_is_found_by_its_name_its_description_and_its_arguments() -> None:
    async with Toolbox([bare(echo)]) as box:
        (offered,) = json.loads(box.payload)

    assert (offered["name"], offered["description"]) == ("bare", "Do something unknown.")
    assert list(offered["input_schema"]["properties"]) == ["word"]


async def test_it_is_drawn_like_any_tool() -> None:
    state = CallState(call_id="c", tool="bare", offered_name="bare", input={"word": "x"}, phase="running")

    view = bare(echo).view(state)

    assert (view.title, view.activity) == ("Bare", "Running Bare")
    assert view.use == Line((Text("Bare", "bold"), Text(" x", "dim")))
