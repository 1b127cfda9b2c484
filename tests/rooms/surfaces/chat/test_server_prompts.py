"""Prompts of MCP servers as commands."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.rooms.surfaces.chat.sitting import ENTER, sitting
from tests.servers.everything import everything

from toolwright import ScriptedModel
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mcp import ListedPrompt, PromptArgument
from toolwright.surfaces.chat.server_prompts import Found, arguments_of, listing

pytestmark = pytest.mark.anyio
POEM = ListedPrompt(
    name="write a poem",
    arguments=(
        PromptArgument(name="topic", required=True),
        PromptArgument(name="style", required=False),
    ),
)


async def test_a_prompt_is_listed_taken_and_said_to_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(["Waves, waves."])
    async with sitting(tmp_path, model, rows=50, mcp_servers={"srv": everything()}) as one:
        parts = await one.talk.parts()
        assert parts.servers is not None
        await parts.servers.wait([], 20)
        one.press("/mcp", ENTER)
        await one.until_printed("/mcp__srv__poem")
        one.press('/mcp__srv__poem "the sea" short', ENTER)
        await one.until_printed("Waves, waves.")
    assert model.asked[0].messages[0].text == "Write a short poem about the sea."


async def test_a_prompt_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    async with sitting(tmp_path, [], rows=50) as one:
        one.press("/mcp__srv__poem the sea", ENTER)
        await one.until_printed("there is no prompt /mcp__srv__poem", "no connected server has any")
        one.press("/mcp", ENTER)
        await one.until_printed("no connected MCP server has prompts.")


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("sea", {"topic": "sea"}),
        ("sea haiku", {"topic": "sea", "style": "haiku"}),
        ('"the sea" in three lines', {"topic": "the sea", "style": "in three lines"}),
        ("style=haiku the wide sea", {"style": "haiku", "topic": "the wide sea"}),
        ("it's the sea", {"topic": "it's", "style": "the sea"}),
        ("a=b c", {"topic": "a=b", "style": "c"}),
    ],
)
def test_words_fill_the_gaps_of_a_prompt(written: str, given: Mapping[str, str]) -> None:
    assert arguments_of(POEM, written) == given


def test_a_gap_that_has_to_be_filled_is_asked_for() -> None:
    with pytest.raises(SettingsError, match="needs topic"):
        arguments_of(POEM, "style=haiku")


def test_what_names_may_not_hold_is_written_with_a_line() -> None:
    assert listing([Found("srv", POEM)]).startswith("/mcp__srv__write_a_poem  ")
