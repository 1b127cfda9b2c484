"""Servers that ask the model: who may, how often, and what the model is asked."""

from collections.abc import Sequence

import pytest

from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.mcp import McpPart, PromptMessage, SamplingRequest
from toolwright.wiring.sampling import Used, messages_of


def text(role: str, words: str) -> PromptMessage:
    return PromptMessage(
        role="user" if role == "user" else "assistant", part=McpPart(kind="text", text=words)
    )


def asked(*messages: PromptMessage) -> SamplingRequest:
    return SamplingRequest(messages=messages, max_tokens=10)


@pytest.mark.parametrize(
    ("said", "messages"),
    [
        ([("user", "a")], [("user", ["a"])]),
        ([("user", "a"), ("user", "b")], [("user", ["a", "b"])]),
        (
            [("user", "a"), ("assistant", "b"), ("user", "c")],
            [("user", ["a"]), ("assistant", ["b"]), ("user", ["c"])],
        ),
        ([("assistant", "a")], [("user", ["Go on."]), ("assistant", ["a"])]),
        ([], [("user", ["Go on."])]),
    ],
)
def test_sides_take_turns_and_a_user_begins(
    said: Sequence[tuple[str, str]], messages: Sequence[tuple[str, Sequence[str]]]
) -> None:
    made = messages_of(asked(*(text(role, words) for role, words in said)))
    assert [(one.role, [words_of(block) for block in one.blocks]) for one in made] == messages


def words_of(block: object) -> str:
    assert isinstance(block, TextBlock)
    return block.text


def test_pictures_of_a_user_are_shown_and_what_nobody_can_show_is_named() -> None:
    picture = PromptMessage(role="user", part=McpPart(kind="image", data="eA==", media_type="image/png"))
    sound = PromptMessage(role="user", part=McpPart(kind="audio", data="eA==", media_type="audio/wav"))
    (made,) = messages_of(asked(picture, sound))
    assert made.blocks == (ImageBlock("eA==", "image/png"), TextBlock("[audio]"))


def test_a_day_has_a_share_for_each_server_and_the_next_day_another(monkeypatch: pytest.MonkeyPatch) -> None:
    today = ["2026-01-01"]
    monkeypatch.setattr("toolwright.wiring.sampling.time.strftime", lambda form: today[0])
    used = Used()
    assert [used.spend("a", 2) for _ in range(3)] == [True, True, False]
    assert used.spend("b", 2)
    today[0] = "2026-01-02"
    assert used.spend("a", 2)
