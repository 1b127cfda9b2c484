"""Requests of the Responses protocol as bytes: their shape, thoughts that go back, what is written once."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.openai.responses_encoding import (
    body,
    call_id,
    message_bytes,
    preamble_bytes,
)
from toolwright.backends.model_providers.openai.traits import Traits
from toolwright.contracts.content import Block, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

ORIGIN = "openai/gpt-6.1-terra"
TRAITS = Traits(limit_field="max_output_tokens")
READ = ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {"a": {"type": "string"}}})
NOTE = ToolDefinition("note", "Notes.", {"type": "object"}, strict=True)
PREAMBLE = Preamble(("You are a test.", " ", "Be brief."), (READ, NOTE), "one")
IMAGE = ImageBlock("aGk=", "image/png")
IMAGE_PART = {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
PDF = DocumentBlock("JVBERg==", "application/pdf", "paper.pdf")
PDF_PART = {
    "type": "input_file",
    "filename": "paper.pdf",
    "file_data": "data:application/pdf;base64,JVBERg==",
}
SEALED = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"opaque"}'


def user(*blocks: Any) -> Message:
    return Message("user", blocks)


def said(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def sent(*messages: Message, preamble: Preamble = PREAMBLE, traits: Traits = TRAITS) -> Any:
    request = ModelRequest(model="gpt-6.1-terra", preamble=preamble, messages=messages, max_tokens=9)
    return json.loads(body(request, {"model": request.model, "stream": True}, traits, ORIGIN))


def items(message: Message, traits: Traits = TRAITS, origin: str = ORIGIN) -> Any:
    return json.loads(b"[%b]" % message_bytes(message, traits, origin))


def thought(seal: str, origin: str = ORIGIN) -> ThinkingBlock:
    return ThinkingBlock("Let me see.", seal, origin)


def test_a_whole_request_has_this_shape() -> None:
    messages = (
        user(TextBlock("Look at a.txt"), IMAGE),
        said(
            thought(SEALED),
            TextBlock("I shall."),
            CallBlock("call_1", "read", '{"a": 1.50}'),
            CallBlock("call_2", "note", ""),
        ),
        user(
            TextBlock("And be quick."),
            ResultBlock("call_1", "line one"),
            ResultBlock("call_2", (TextBlock("no"), IMAGE), is_error=True),
        ),
    )
    assert sent(*messages) == {
        "instructions": "You are a test.\n\nBe brief.",
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Reads a file.",
                "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
                "strict": False,
            },
            {
                "type": "function",
                "name": "note",
                "description": "Notes.",
                "parameters": {"type": "object"},
                "strict": True,
            },
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look at a.txt"}, IMAGE_PART]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
            {"role": "assistant", "content": "I shall."},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"a": 1.50}'},
            {"type": "function_call", "call_id": "call_2", "name": "note", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "line one"},
            {
                "type": "function_call_output",
                "call_id": "call_2",
                "output": [{"type": "input_text", "text": "no"}, IMAGE_PART],
            },
            {"role": "user", "content": [{"type": "input_text", "text": "And be quick."}]},
        ],
        "model": "gpt-6.1-terra",
        "stream": True,
    }


@pytest.mark.parametrize(
    ("block", "traits", "part"),
    [
        (IMAGE, TRAITS, IMAGE_PART),
        (
            IMAGE,
            replace(TRAITS, images=False),
            {"type": "input_text", "text": "[an image of the type image/png, which this model cannot see]"},
        ),
        (PDF, replace(TRAITS, documents=True), PDF_PART),
        (
            PDF,
            TRAITS,
            {
                "type": "input_text",
                "text": "[a document 'paper.pdf' of the type application/pdf, which this model cannot read]",
            },
        ),
        (
            DocumentBlock(base64.b64encode(b"Hi").decode(), "text/markdown", "a.md"),
            TRAITS,
            {"type": "input_text", "text": "a.md\n\nHi"},
        ),
    ],
)
def test_what_is_shown_is_sent_as_the_model_takes_it(
    block: Block, traits: Traits, part: dict[str, Any]
) -> None:
    assert items(user(block), traits) == [{"role": "user", "content": [part]}]


@pytest.mark.parametrize(
    ("content", "failed", "output"),
    [
        ("fine", False, "fine"),
        ("", False, "(empty)"),
        ("gone", True, "Error: gone"),
        ("Error: gone", True, "Error: gone"),
        ((TextBlock("a"), TextBlock(" "), TextBlock("b")), False, "a\nb"),
        ((), False, "(empty)"),
        ((IMAGE,), True, [IMAGE_PART]),
    ],
)
def test_a_result_is_a_text_or_parts_and_says_when_it_is_a_failure(
    content: Any, failed: bool, output: Any
) -> None:
    (item,) = items(user(ResultBlock("call_1", content, is_error=failed)))
    assert item == {"type": "function_call_output", "call_id": "call_1", "output": output}


@pytest.mark.parametrize(
    ("blocks", "kinds"),
    [
        ((thought(SEALED), CallBlock("c", "read", "{}")), ["reasoning", "function_call"]),
        ((thought(SEALED), TextBlock("So")), ["reasoning", "message"]),
        ((thought(SEALED),), []),
        ((thought(SEALED), TextBlock("  ")), []),
        ((TextBlock("So"), thought(SEALED)), ["message"]),
        ((thought(SEALED, "openai/other"), TextBlock("So")), ["message"]),
        ((thought('{"type":"reasoning","id":"rs_1","summary":[]}'), TextBlock("So")), ["message"]),
        ((thought("a seal of somebody else"), TextBlock("So")), ["message"]),
    ],
)
def test_thoughts_go_back_only_where_they_can_be_taken(blocks: tuple[Any, ...], kinds: list[str]) -> None:
    assert [item.get("type", "message") for item in items(said(*blocks))] == kinds
    assert "reasoning" not in [
        item.get("type") for item in items(said(*blocks), replace(TRAITS, thoughts=False))
    ]


def test_the_phase_of_a_text_goes_back_with_it_and_with_no_other() -> None:
    phased = ThinkingBlock("", '{"phase":"commentary"}', ORIGIN, redacted=True)
    assert items(said(phased, TextBlock("I look."), TextBlock("So."))) == [
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"role": "assistant", "content": "So."},
    ]


def test_without_any_system_prompt_or_tools_nothing_stands_before_the_input() -> None:
    bare = Preamble((" ",), (), "bare")
    assert list(sent(user(TextBlock("Hi")), preamble=bare)) == ["input", "model", "stream"]


def test_strictness_is_left_out_where_it_is_not_taken() -> None:
    assert all("strict" not in tool for tool in sent(traits=replace(TRAITS, strict=False))["tools"])


def test_what_is_written_once_is_the_same_object_from_then_on() -> None:
    plain, thinks = user(TextBlock("Hi"), IMAGE), said(thought(SEALED), TextBlock("So"))
    assert message_bytes(plain, TRAITS, ORIGIN) is message_bytes(plain, TRAITS, "another/model")
    assert message_bytes(plain, replace(TRAITS, images=False), ORIGIN) != message_bytes(plain, TRAITS, ORIGIN)
    mine, others = message_bytes(thinks, TRAITS, ORIGIN), message_bytes(thinks, TRAITS, "another/model")
    assert mine != others
    assert message_bytes(thinks, TRAITS, ORIGIN) is mine
    assert message_bytes(thinks, TRAITS, "another/model") is others
    assert preamble_bytes(PREAMBLE, TRAITS) is preamble_bytes(PREAMBLE, TRAITS)


@settings(max_examples=100, derandomize=True)
@given(
    text=st.text(alphabet=st.characters(), max_size=70), raw=st.text(alphabet=st.characters(), max_size=20)
)
def test_every_request_is_valid_whatever_was_said(text: str, raw: str) -> None:
    made = sent(
        user(TextBlock(text)),
        said(ThinkingBlock(text, raw, ORIGIN), TextBlock(text), CallBlock(text, text, raw)),
        user(ResultBlock(text, text, is_error=True)),
        preamble=Preamble((text,), (READ,), "x"),
    )
    calls = [item for item in made["input"] if item.get("type") == "function_call"]
    results = [item for item in made["input"] if item.get("type") == "function_call_output"]
    assert [call["call_id"] for call in calls] == [result["call_id"] for result in results] == [call_id(text)]
    assert isinstance(json.loads(calls[0]["arguments"]), dict)
    assert 1 <= len(calls[0]["name"]) <= 64
    assert 1 <= len(call_id(text)) <= 64
