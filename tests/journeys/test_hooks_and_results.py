"""Hooks from settings to what the model reads, and large results of a whole batch."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import CallContext, Done, Toolbox, tool
from toolwright.contracts.content import text_of
from toolwright.contracts.events import HookFinished
from toolwright.contracts.tool import Failed

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def shout(text: str) -> str:
    """Say something loudly."""
    return text.upper()


@tool(read_only=True)
def repeat(text: str, times: int) -> str:
    """Say something often."""
    return f"{text}\n" * times


def command(line: str, **more: Any) -> list[dict[str, Any]]:
    return [{"matcher": "shout", "hooks": [{"type": "command", "command": line, **more}]}]


def hooked(**hooks: Any) -> Toolbox:
    return Toolbox([shout, repeat], settings={"hooks": hooks})


async def test_a_command_that_exits_with_2_blocks_and_says_why() -> None:
    async with hooked(PreToolUse=command("echo 'be quiet' >&2; exit 2")) as box:
        blocked = await box.call("shout", {"text": "hi"})
        other = await box.call("repeat", {"text": "a", "times": 1})

    assert isinstance(blocked.outcome, Failed)
    assert blocked.outcome.code == "hook_blocked"
    assert "be quiet" in text_of(blocked.content)
    assert other.content == "a\n"


@pytest.mark.parametrize(("text", "blocked"), [("secret plan", True), ("hello", False)])
async def test_a_condition_is_a_rule_about_the_input(text: str, blocked: bool) -> None:
    async with hooked(PreToolUse=command("exit 2", **{"if": "shout(text:secret*)"})) as box:
        result = await box.call("shout", {"text": text})

    assert result.is_error is blocked


async def test_a_hook_may_object_to_a_task_and_to_its_completion(tmp_path: Path) -> None:
    def objecting(word: str) -> list[dict[str, Any]]:
        line = f"grep {word} >&2 && exit 2; exit 0"
        return [{"hooks": [{"type": "command", "command": line}]}]

    hooks = {"TaskCreated": objecting("forbidden"), "TaskCompleted": objecting("completed")}
    tasks = ["task_create", "task_update", "task_list"]
    async with Toolbox(tasks, workspace=str(tmp_path), settings={"hooks": hooks}) as box:
        good = await box.call("task_create", {"subject": "Build"})
        bad = await box.call("task_create", {"subject": "forbidden"})
        started = await box.call("task_update", {"task_id": "1", "status": "in_progress"})
        ended = await box.call("task_update", {"task_id": "1", "status": "completed"})
        left = await box.call("task_list", {})

    assert [one.is_error for one in (good, bad, started, ended)] == [False, True, False, True]
    assert isinstance(bad.outcome, Failed)
    told = json.loads(bad.outcome.message.partition(": ")[2])
    assert (bad.outcome.code, told["task"]) == ("hook_blocked", {"subject": "forbidden"})
    assert told["session_id"]
    assert json.loads(text_of(left.content)) == [
        {"id": "1", "subject": "Build", "status": "in_progress", "owner": "", "blocked_by": []}
    ]


async def test_changed_input_is_what_runs() -> None:
    answer = json.dumps(
        {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"text": "softly"}}}
    )

    async with hooked(PreToolUse=command(f"echo '{answer}'")) as box:
        assert (await box.call("shout", {"text": "loudly"})).content == "SOFTLY"


async def test_the_program_is_told_about_the_call(tmp_path: Path) -> None:
    told = tmp_path / "told.json"

    async with hooked(PostToolUse=command(f"cat > {told}")) as box:
        result = await box.call("shout", {"text": "hi"})

    payload = json.loads(told.read_text())
    assert payload.pop("duration_ms") >= 0
    assert (payload["hook_event_name"], payload["tool_name"], payload["tool_input"]) == (
        "PostToolUse",
        "shout",
        {"text": "hi"},
    )
    assert payload["tool_use_id"] == result.call_id


async def test_nobody_waits_for_a_hook_in_the_background(tmp_path: Path) -> None:
    gate, told = tmp_path / "gate", tmp_path / "told"
    os.mkfifo(gate)
    waiting = command(f"cat {gate} > {told}.new; mv {told}.new {told}", **{"async": True})

    async with hooked(PreToolUse=waiting, PostToolUse=command(f"echo seen > {gate}")) as box:
        with anyio.fail_after(30):
            result = await box.call("shout", {"text": "hi"})

    assert (result.content, told.read_text()) == ("HI", "seen\n")


async def test_a_hook_has_a_word_for_the_person() -> None:
    events: list[Any] = []
    hooks = {"PostToolUse": command("""echo '{"systemMessage": "backup is old"}'""")}

    async with Toolbox([shout], settings={"hooks": hooks}, observe=events.append) as box:
        result = await box.call("shout", {"text": "hi"})

    assert [event.message for event in events if isinstance(event, HookFinished)] == ["backup is old"]
    assert "backup" not in text_of(result.content)


async def test_context_stands_beside_the_result_and_long_context_is_stored() -> None:
    short = command("""echo '{"hookSpecificOutput":{"additionalContext":"mind the gap"}}'""")
    long = command("""printf '{"hookSpecificOutput":{"additionalContext":"%020000d"}}' 0""")

    async with hooked(PostToolUse=[*short, *long]) as box:
        result = await box.call("shout", {"text": "hi"})

    assert result.content == "HI"
    first, second = result.notes
    assert first == "mind the gap"
    assert second.startswith("<stored-result path=")


@pytest.mark.parametrize("fail_closed", [False, True])
async def test_a_broken_hook_lets_through_unless_settings_say_otherwise(fail_closed: bool) -> None:
    settings = {"hooks": {"PreToolUse": command("exit 7")}, "hooks_fail_closed": fail_closed}

    async with Toolbox([shout], settings=settings) as box:
        result = await box.call("shout", {"text": "hi"})

    assert result.is_error is fail_closed


async def test_a_large_result_is_stored_whole_and_can_be_read_on() -> None:
    async with Toolbox([repeat]) as box:
        result = await box.call("repeat", {"text": "line", "times": 20_000})
        assert result.stored is not None
        assert Path(result.stored.path).read_text() == "line\n" * 20_000

    assert text_of(result.content).startswith(
        f'<stored-result path="{result.stored.path}" chars="100000" lines="20000">'
    )
    assert len(text_of(result.content)) < 2_500


async def test_the_data_of_a_command_says_where_its_output_was_stored(tmp_path: Path) -> None:
    async with Toolbox(["bash"], workspace=str(tmp_path), allow=["bash"]) as box:
        small, large = [await box.call("bash", {"command": f"seq {count}"}) for count in (9, 9_000)]

    assert large.stored is not None
    outcomes = [call.outcome for call in (small, large) if isinstance(call.outcome, Done)]
    assert [outcome.data["stored_path"] for outcome in outcomes] == [None, large.stored.path]


async def test_a_batch_stays_within_the_budget_of_its_turn() -> None:
    settings = {"tool_output": {"turn_budget_chars": 60_000}}

    async with Toolbox([repeat], settings=settings) as box:
        batch = await box.batch(
            [("repeat", {"text": "x" * 9, "times": times}) for times in (3_000, 4_000, 2_000)]
        )

    assert [one.stored is not None for one in batch.results] == [False, True, False]
    assert sum(len(text_of(one.content)) for one in batch.results) <= 60_000


async def test_secrets_of_the_environment_reach_neither_model_nor_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "k3y-0123456789")

    @tool(read_only=True)
    def leak(ctx: CallContext) -> Done:
        """Print everything."""
        return Done("the key is k3y-0123456789\n" * 5_000, data={"key": "k3y-0123456789"})

    async with Toolbox([leak]) as box:
        result = await box.call("leak")
        assert result.stored is not None
        kept = Path(result.stored.path).read_text()

    assert "k3y-0123456789" not in repr(result) + kept
    assert kept.startswith("the key is [redacted]\n")
