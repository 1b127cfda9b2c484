"""Requests are put together from pieces that were written before: a turn serialises what is new, no more."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from toolwright.backends.model_providers.anthropic import encoding
from toolwright.backends.model_providers.openai import chat_encoding, responses_encoding
from toolwright.backends.model_providers.openai.traits import Traits
from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

ORIGIN = "here/m"
SEALED = '{"type":"reasoning","summary":[],"encrypted_content":"opaque"}'
Encode = Callable[[ModelRequest], bytes]


def _anthropic(request: ModelRequest) -> bytes:
    return encoding.body(request, {"model": "m"}, origin=ORIGIN, cached=True)


def _chat(traits: Traits) -> Encode:
    return lambda request: chat_encoding.body(request, {"model": "m"}, traits, ORIGIN)


def _responses(request: ModelRequest) -> bytes:
    return responses_encoding.body(request, {"model": "m"}, Traits(documents=True), ORIGIN)


PROTOCOLS: Mapping[str, Encode] = {
    "anthropic": _anthropic,
    "chat": _chat(Traits()),
    "chat, told in words": _chat(Traits(native_tools=False)),
    "chat, taking turns": _chat(Traits(system_role="user", alternates=True)),
    "responses": _responses,
}


@pytest.fixture(params=list(PROTOCOLS))
def encode(request: pytest.FixtureRequest) -> Encode:
    return PROTOCOLS[request.param]


class Sealed:
    """What nobody may look into any more."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a message was serialised again")

    def __getitem__(self, place: object) -> Any:
        raise AssertionError("a message was serialised again")


def sealed(value: Message | Preamble, *names: str) -> None:
    for name in names:
        object.__setattr__(value, name, Sealed())


def turn(number: int) -> list[Message]:
    """Everything that a message can hold, said once."""
    call = f"call_{number}"
    return [
        Message("user", (TextBlock(f"Question {number}"), ImageBlock("aGk=", "image/png"))),
        Message(
            "assistant",
            (
                ThinkingBlock("Hm", SEALED, ORIGIN),
                TextBlock("I look."),
                CallBlock(call, "read", '{"a": 1.50}'),
            ),
        ),
        Message(
            "user",
            (ResultBlock(call, (TextBlock("seen"), ImageBlock("aGk=", "image/png"))), TextBlock("A note.")),
        ),
        Message("assistant", (TextBlock("Done."),)),
        Message("user", (DocumentBlock("JVBERg==", "application/pdf", "a.pdf"),)),
        Message("assistant", ()),
    ]


def preamble() -> Preamble:
    tools = tuple(
        ToolDefinition(name, f"Does {name}.", {"type": "object", "properties": {"a": {"type": "number"}}})
        for name in ("read", "write")
    )
    return Preamble(("You are a test.", "Be brief."), tools, "one")


def test_a_turn_serialises_only_what_is_new(encode: Encode) -> None:
    messages: list[Message] = []
    head = preamble()
    for number in range(5):
        messages += turn(number)
        orjson.loads(encode(ModelRequest(model="m", preamble=head, messages=messages, max_tokens=9)))
        for message in messages:
            sealed(message, "blocks")
        sealed(head, "system", "tools")


def test_the_pieces_are_the_same_objects_from_turn_to_turn(encode: Encode) -> None:
    messages: list[Message] = []
    head = preamble()
    kept: list[dict[str, bytes]] = []
    for number in range(3):
        messages += turn(number)
        encode(ModelRequest(model="m", preamble=head, messages=messages, max_tokens=9))
        for message, before in zip(messages, kept, strict=False):
            assert message.encoded.keys() == before.keys()
            assert all(message.encoded[name] is before[name] for name in before)
        kept = [dict(message.encoded) for message in messages]
    assert all(len(encoded) == 1 for encoded in kept)


def test_a_request_begins_as_the_one_before_it(encode: Encode) -> None:
    messages: list[Message] = []
    head = preamble()
    before = b""
    for number in range(4):
        messages += turn(number)
        body = encode(ModelRequest(model="m", preamble=head, messages=messages, max_tokens=9))
        plain = body.replace(encoding.CACHE_MARK, b"")
        assert plain.startswith(before)
        before = plain[: plain.index(b'],"model":"m"')]


def test_two_sessions_with_the_same_preamble_and_beginning_share_its_bytes(encode: Encode) -> None:
    one = encode(ModelRequest(model="m", preamble=preamble(), messages=turn(0), max_tokens=9))
    two = encode(ModelRequest(model="m", preamble=preamble(), messages=turn(0), max_tokens=9))
    assert one == two
