"""Tokens of models that count none: the same every time, and no more work for a longer session."""

from collections.abc import Iterator
from typing import Any

import pytest

from toolwright.backends.model_providers.invented_usage import InventedUsage, tokens
from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition, Usage

PREAMBLE = Preamble(("x" * 40,), (ToolDefinition("read", "y" * 36, {}),), "p")
"""40 characters, 4 of a name, 36 of a description, 2 of a schema: 21 tokens."""


def user(text: str) -> Message:
    return Message("user", (TextBlock(text),))


def request(*messages: Message, preamble: Preamble = PREAMBLE, session: str = "s") -> ModelRequest:
    return ModelRequest(model="m", preamble=preamble, messages=messages, max_tokens=9, session_id=session)


@pytest.mark.parametrize(("chars", "count"), [(0, 0), (1, 1), (4, 1), (5, 2), (400, 100)])
def test_a_token_is_four_characters(chars: int, count: int) -> None:
    assert tokens(chars) == count


def test_what_stood_in_the_request_before_is_read_from_a_cache() -> None:
    usage, first, second = InventedUsage(), user("a" * 40), Message("assistant", (TextBlock("b" * 8),))
    assert usage.of(request(first), second.blocks) == Usage(input_tokens=31, output_tokens=2)
    assert usage.of(request(first, second, user("c" * 12)), ()) == Usage(
        input_tokens=5, output_tokens=0, cache_read_tokens=31
    )


def test_sessions_are_counted_apart() -> None:
    usage, first = InventedUsage(), user("a" * 40)
    one = usage.of(request(first), ())
    assert usage.of(request(first, session="t"), ()) == one


@pytest.mark.parametrize("kind", ["preamble", "message", "shorter"])
def test_what_was_changed_before_is_read_anew(kind: str) -> None:
    usage, first, second = InventedUsage(), user("a" * 40), user("b" * 40)
    usage.of(request(first, second), ())
    changed = {
        "preamble": request(first, second, preamble=Preamble(("x" * 40,), PREAMBLE.tools, "q")),
        "message": request(first, user("b" * 40)),
        "shorter": request(first),
    }[kind]
    assert usage.of(changed, ()).cache_read_tokens == 0


def test_everything_that_is_said_counts() -> None:
    blocks = (
        ThinkingBlock("a" * 4),
        TextBlock("b" * 4),
        CallBlock("c", "read", "{}" * 2),
        ResultBlock("c", "d" * 4),
        ResultBlock("c", (TextBlock("e" * 4), ImageBlock("aGk=", "image/png"))),
    )
    assert InventedUsage().of(request(), blocks).output_tokens == 1 + 1 + 2 + 1 + 1 + 1_000


class Watched(tuple[Message, ...]):
    """Messages that note which of them were looked at."""

    looked: list[int]

    def __getitem__(self, place: Any) -> Any:
        self.looked.append(place)
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Message]:
        raise AssertionError("every message was looked at")


def test_the_cost_of_counting_does_not_grow_with_the_session() -> None:
    usage, messages = InventedUsage(), [user(str(number)) for number in range(100)]
    usage.of(request(*messages), ())
    watched = Watched([*messages, user("new")])
    watched.looked = []
    asked = ModelRequest(model="m", preamble=PREAMBLE, messages=watched, max_tokens=9, session_id="s")
    assert usage.of(asked, ()).input_tokens == 1
    assert {place % 101 for place in watched.looked} == {99, 100}


def test_only_so_many_sessions_are_remembered() -> None:
    usage, first = InventedUsage(), user("a")
    for number in range(1_001):
        usage.of(request(first, session=str(number)), ())
    assert usage.of(request(first, session="1000"), ()).cache_read_tokens > 0
    assert usage.of(request(first, session="0"), ()).cache_read_tokens == 0
