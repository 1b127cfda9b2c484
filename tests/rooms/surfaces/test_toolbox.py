"""The engine as a Python object."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from toolwright import (
    ApprovalAnswer,
    ApprovalRequest,
    CallContext,
    DefinitionError,
    Done,
    Failed,
    Hook,
    HookInput,
    HookOutput,
    SettingsError,
    Toolbox,
    Waiting,
    tool,
)
from toolwright.contracts.events import CallFinished, Event
from toolwright.contracts.tool import Attachment

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def change(value: str) -> str:
    """Change something that matters."""
    return f"changed to {value}"


async def test_a_call_goes_through_and_gives_what_the_model_reads() -> None:
    async with Toolbox([add]) as box:
        result = await box.call("add", {"a": 1, "b": 2})
    assert (result.content, result.is_error, result.tool) == ("3", False, "add")
    assert isinstance(result.outcome, Done)
    assert result.outcome.data == 3


async def test_input_may_be_the_text_a_model_wrote() -> None:
    async with Toolbox([add]) as box:
        assert (await box.call("add", '{"a": 1, "b": 2}')).content == "3"
        broken = await box.call("add", '{"a": 1, "b": ')
    assert isinstance(broken.outcome, Failed)
    assert broken.outcome.code == "invalid_json"


async def test_a_tool_that_promises_nothing_is_refused_where_nobody_answers() -> None:
    async with Toolbox([change]) as box:
        result = await box.call("change", {"value": "x"})
    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == "approval_unavailable"


BYPASS = {"mode": "bypassPermissions", "settings": {"permissions": {"bypass_as_root": True}}}


@pytest.mark.parametrize("way", [{"allow": ["change"]}, BYPASS, {"approve": lambda _: True}])
async def test_a_rule_a_mode_or_a_person_lets_it_run(way: dict[str, Any]) -> None:
    async with Toolbox([change], **way) as box:
        assert (await box.call("change", {"value": "x"})).content == "changed to x"


async def test_a_mode_that_is_refused_is_said_and_not_replaced_silently() -> None:
    with pytest.raises(SettingsError, match="disabled by the settings"):
        await Toolbox(
            [change],
            mode="bypassPermissions",
            settings={"permissions": {"disable_bypass": True, "bypass_as_root": True}},
        ).call("change", {"value": "x"})


async def test_a_deny_rule_takes_a_tool_out_of_sight() -> None:
    async with Toolbox([add, change], deny=["change"]) as box:
        assert [entry["name"] for entry in json.loads(box.payload)] == ["add"]
        result = await box.call("change", {"value": "x"})
    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == "unknown_tool"


async def test_what_a_person_edits_is_what_runs() -> None:
    def edit(request: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(
            request_id=request.request_id,
            fingerprint=request.fingerprint,
            behavior="allow",
            updated_input={"value": "better"},
        )

    async with Toolbox([change], approve=edit) as box:
        assert (await box.call("change", {"value": "x"})).content == "changed to better"


async def test_an_answer_may_come_later_and_counts_only_for_what_was_asked() -> None:
    async with Toolbox([change], approve=lambda _: None) as box:
        first = (await box.call("change", {"value": "x"})).outcome
        second = (await box.call("change", {"value": "y"})).outcome
        assert isinstance(first, Waiting)
        assert isinstance(second, Waiting)
        assert first.request is not None
        assert second.request is not None
        yes = ApprovalAnswer(
            request_id=first.request.request_id, fingerprint=first.request.fingerprint, behavior="allow"
        )
        mismatched = await box.resume(second.request, yes)
        assert isinstance(mismatched.outcome, Failed)
        assert (await box.resume(first.request, yes)).content == "changed to x"


async def test_an_asynchronous_person_is_awaited() -> None:
    async def think(request: ApprovalRequest) -> bool:
        await anyio.sleep(0)
        return bool(request.input["value"] == "good")

    async with Toolbox([change], approve=think) as box:
        assert (await box.call("change", {"value": "good"})).content == "changed to good"
        assert (await box.call("change", {"value": "bad"})).is_error


async def test_a_batch_keeps_the_order_of_its_calls() -> None:
    async with Toolbox([add]) as box:
        batch = await box.batch([("add", {"a": number, "b": 0}) for number in range(20)])
    assert [result.content for result in batch.results] == [str(number) for number in range(20)]


async def test_built_in_tools_work_in_the_folder_given(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    async with Toolbox(["grep", "Glob"], workspace=str(tmp_path)) as box:
        assert (await box.call("grep", {"pattern": "needle"})).content == f"{tmp_path}/a.txt"
        assert (await box.call("glob", {"pattern": "*.txt"})).content == f"{tmp_path}/a.txt"
        assert [entry.name for entry in box.offered.tools] == ["glob", "grep"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]


async def test_names_follow_the_toolset(tmp_path: Path) -> None:
    async with Toolbox(["grep"], workspace=str(tmp_path), toolset="harness") as box:
        assert [entry.name for entry in box.offered.tools] == ["Grep"]


async def test_a_built_in_tool_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no built-in tool 'gerp'"):
        await Toolbox(["gerp"], workspace=str(tmp_path)).call("gerp", {})


async def test_events_are_seen_in_order() -> None:
    seen: list[Event] = []
    async with Toolbox([add], observe=seen.append) as box:
        await box.call("add", {"a": 1, "b": 2})
    names = [type(event).__name__ for event in seen if type(event).__name__ != "CallViewed"]
    assert names == ["InputComplete", "PermissionDecided", "CallStarted", "CallFinished"]


async def test_a_hook_of_the_program_may_change_the_input() -> None:
    async def double(call: HookInput) -> HookOutput:
        given = call.payload["tool_input"]
        return HookOutput(updated_input={**given, "a": given["a"] * 2})

    hook = Hook(event="PreToolUse", handler=double, label="double", in_process=True)
    async with Toolbox([add], hooks=[hook]) as box:
        assert (await box.call("add", {"a": 2, "b": 1})).content == "5"


async def test_interrupting_stops_what_runs() -> None:
    started = anyio.Event()

    @tool(pre_approved=True)
    async def forever(ctx: CallContext) -> str:
        """Never end."""
        started.set()
        await anyio.sleep_forever()
        return ctx.call_id

    async with Toolbox([forever]) as box, anyio.create_task_group() as group:
        results = []

        async def call() -> None:
            results.append(await box.call("forever"))

        group.start_soon(call)
        with anyio.fail_after(30):
            await started.wait()
        box.interrupt()
    outcome = results[0].outcome
    assert isinstance(outcome, Failed)
    assert outcome.code == "interrupted"


@tool(read_only=True)
def level(urgency: Literal["low", "high"]) -> str:
    """Say how urgent it is."""
    return urgency


@pytest.mark.parametrize("spelled", ["high", "HIGH"])
async def test_a_rule_about_a_field_sees_what_the_model_sent_and_what_will_run(spelled: str) -> None:
    for rule in ("level(urgency:high)", f"level(urgency:{spelled})"):
        async with Toolbox([level], deny=[rule]) as box:
            result = await box.call("level", {"urgency": spelled})
        assert isinstance(result.outcome, Failed)
        assert result.outcome.code == "permission_denied"


@pytest.mark.parametrize("way", ["deny", "ask"])
async def test_what_may_not_be_read_unasked_is_left_out_of_searches(tmp_path: Path, way: str) -> None:
    (tmp_path / ".env").write_text("needle")
    (tmp_path / "a.txt").write_text("needle")
    rules: dict[str, Any] = {way: ["Read(.env)"]}
    async with Toolbox(["grep", "glob", "list_dir"], workspace=str(tmp_path), **rules) as box:
        for name, input in (("grep", {"pattern": "needle"}), ("glob", {"pattern": "*"}), ("list_dir", {})):
            result = await box.call(name, input)
            assert "a.txt" in str(result.content)
            assert ".env" not in str(result.content)


async def test_a_question_about_a_file_comes_before_anything_of_it_is_told(tmp_path: Path) -> None:
    """A failed edit shows the closest lines; of a file that rules ask about only after the answer."""
    (tmp_path / ".env").write_text("KEY=hidden\n")
    edit = {"file_path": ".env", "old_string": "KEY=other", "new_string": "KEY=new"}
    rules: dict[str, Any] = {"allow": ["Edit"], "ask": ["Read(.env)"]}
    async with Toolbox(["read", "edit"], workspace=str(tmp_path), **rules) as box:
        assert "hidden" not in str((await box.call("edit", edit)).content)
    async with Toolbox(["read", "edit"], workspace=str(tmp_path), **rules, approve=lambda _: True) as box:
        assert "KEY=hidden" in str((await box.call("read", {"file_path": ".env"})).content)
        assert "KEY=hidden" in str((await box.call("edit", edit)).content)
        assert not (await box.call("edit", {**edit, "old_string": "KEY=hidden"})).is_error
    assert (tmp_path / ".env").read_text() == "KEY=new\n"


@tool
def enter(folder: str) -> Done:
    """Make a folder the working directory."""
    return Done("entered", new_cwd=folder)


async def test_a_call_may_move_the_calls_after_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("inside\n")
    folder = {"folder": str(tmp_path / "sub")}
    async with Toolbox([enter, "read"], workspace=str(tmp_path), allow=["enter"]) as box:
        await box.call("enter", folder)
        assert (await box.call("read", {"file_path": "a.txt"})).content == "     1\tinside"


async def test_a_call_that_waited_may_move_the_calls_after_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("inside\n")
    async with Toolbox([enter, "read"], workspace=str(tmp_path), approve=lambda _: None) as box:
        waiting = (await box.call("enter", {"folder": str(tmp_path / "sub")})).outcome
        assert isinstance(waiting, Waiting)
        assert waiting.request is not None
        asked = waiting.request
        yes = ApprovalAnswer(request_id=asked.request_id, fingerprint=asked.fingerprint, behavior="allow")
        await box.resume(asked, yes)
        assert (await box.call("read", {"file_path": "a.txt"})).content == "     1\tinside"


async def test_files_for_the_person_are_announced(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("four")
    seen: list[Event] = []
    async with Toolbox(["send_file"], workspace=str(tmp_path), observe=seen.append) as box:
        await box.call("send_file", {"paths": ["report.txt"], "display": "render"})
    [finished] = [event for event in seen if isinstance(event, CallFinished)]
    assert finished.attachments == (Attachment(f"{tmp_path}/report.txt", 4, "text/plain", "render"),)


async def test_the_first_answer_to_a_request_counts_and_a_second_changes_nothing() -> None:
    ran = []

    @tool
    def once(value: str) -> str:
        """Note that it ran."""
        ran.append(value)
        return value

    async with Toolbox([once], approve=lambda _: None) as box:
        waiting = (await box.call("once", {"value": "x"})).outcome
        assert isinstance(waiting, Waiting)
        assert waiting.request is not None
        yes = ApprovalAnswer(
            request_id=waiting.request.request_id, fingerprint=waiting.request.fingerprint, behavior="allow"
        )
        crossed = await box.resume(waiting.request, replace(yes, fingerprint="another"))
        assert crossed.is_error
        assert (await box.resume(waiting.request, yes)).content == "x"
        again = (await box.resume(waiting.request, yes)).outcome
    assert isinstance(again, Failed)
    assert again.code == "conflict"
    assert ran == ["x"]


async def test_a_rule_that_names_no_tool_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async with Toolbox([add], deny=["addd"]) as box:
        await box.call("add", {"a": 1, "b": 2})
    assert "addd" in caplog.text
