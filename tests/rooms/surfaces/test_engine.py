"""The engine as a Python object: what it refuses at once, what it tells, and its shorter ways."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Engine,
    NotPossible,
    RuleError,
    RunEnded,
    ScriptedModel,
    SettingsError,
    TextDelta,
    UnknownSession,
    call,
    tool,
)
from toolwright.contracts.events import InputAccepted, SessionCreated

GUARD = 30


@tool(read_only=True)
def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def engine(project: Path, *script: Any, **more: Any) -> Engine:
    given: dict[str, Any] = {"tools": [look], "environ": {"HOME": str(project.parent / "home")}, **more}
    return Engine.local(ScriptedModel(script), workspace=project, **given)


def test_a_task_goes_on_in_a_session_that_exists(project: Path) -> None:
    first = engine(project, "One.").run_blocking("First")
    second = engine(project, "Two.").run_blocking("Second", session_id=first.session_id)

    assert (second.text, second.session_id) == ("Two.", first.session_id)
    with pytest.raises(UnknownSession):
        engine(project, "Never said.").run_blocking("Third", session_id="session_none")


@pytest.mark.anyio
async def test_a_list_of_sessions_says_which_model_was_asked_and_what_it_used(project: Path) -> None:
    async with engine(project, "One.") as opened:
        result = await opened.run("First")
        [card] = await opened.sessions()

    assert (card.model, card.tokens) == ("scripted", result.usage.context_tokens)
    assert (card.title, card.status) == ("First", "idle")


@pytest.mark.anyio
async def test_a_task_can_be_streamed_in_one_line(project: Path) -> None:
    async with asyncio.timeout(GUARD), engine(project, [call("look", at="a")], "Seen.", "Again.") as opened:
        session = await opened.session()
        first = [record.event async for record in session.stream("Look")]
        second = [record.event async for record in session.stream("Once more")]
        everything = [record.event async for record in session.stream()]

    assert isinstance(everything[0], SessionCreated)
    assert [type(event) for event in first].count(InputAccepted) == 1
    assert isinstance(first[-1], RunEnded)
    said = [event.content for event in second if isinstance(event, InputAccepted)]
    assert (said, "".join(event.text for event in second if isinstance(event, TextDelta))) == (
        ["Once more"],
        "Again.",
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"allow": ["Bash("]}, RuleError, "permissions.allow[0]: rule 'Bash('"),
        ({"settings": {"tools": {"toolset": "mine"}}}, SettingsError, "there is no toolset 'mine'"),
        ({"settings": {"limits": {"round": 1}}}, SettingsError, "unknown setting 'limits.round'"),
    ],
)
async def test_settings_that_cannot_be_are_refused_when_it_is_opened(
    project: Path, given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        async with engine(project, "Never said.", **given):
            pytest.fail("it was opened")
    assert said in str(caught.value)


@pytest.mark.anyio
async def test_what_its_owner_should_know_is_told(project: Path) -> None:
    async with engine(project, deny=["Bsh(ls)"]) as opened:
        assert any("no tool is named Bsh" in notice for notice in opened.notices)
    async with engine(project, deny=["look"]) as opened:
        assert opened.notices == ()


@pytest.mark.anyio
async def test_a_blocking_run_within_a_loop_says_what_to_do(project: Path) -> None:
    with pytest.raises(NotPossible, match=r"await engine\.run"):
        engine(project, "Never said.").run_blocking("Go")


@pytest.mark.anyio
async def test_before_it_is_open_and_after_it_is_closed_it_says_so(project: Path) -> None:
    closed = engine(project, "One.")
    with pytest.raises(NotPossible, match="the engine is not open"):
        await closed.session()
    async with closed as opened:
        session = await opened.session()
    with pytest.raises(NotPossible, match="the engine is not open"):
        await session.run("Late")
