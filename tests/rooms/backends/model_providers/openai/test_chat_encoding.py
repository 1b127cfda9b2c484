"""Requests of Chat Completions as bytes: their shape for each kind of server, and what is written once."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.openai.chat_encoding import (
    body,
    call_id,
    message_bytes,
    system_bytes,
    tools_bytes,
)
from toolwright.backends.model_providers.openai.traits import Traits
from toolwright.contracts.content import Block, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

ORIGIN = "openai/qwen3"
TRAITS = Traits()
TOLD = Traits(native_tools=False)
READ = ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {"a": {"type": "string"}}})
NOTE = ToolDefinition("note", "Notes.", {"type": "object"}, strict=True)
PREAMBLE = Preamble(("You are a test.", " ", "Be brief."), (READ, NOTE), "one")
IMAGE = ImageBlock("aGk=", "image/png")
PDF = DocumentBlock("JVBERg==", "application/pdf", "paper")


def user(*blocks: Any) -> Message:
    return Message("user", blocks)


def said(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def sent(*messages: Message, preamble: Preamble = PREAMBLE, traits: Traits = TRAITS) -> bytes:
    request = ModelRequest(model="qwen3", preamble=preamble, messages=messages, max_tokens=9)
    return body(request, {"model": request.model, "stream": True}, traits, ORIGIN)


def written(message: Message, traits: Traits = TRAITS, origin: str = ORIGIN) -> Any:
    """Their messages that one of ours becomes."""
    return json.loads(b"[%b]" % message_bytes(message, traits, origin))


def test_a_whole_request_has_this_shape() -> None:
    messages = (
        user(TextBlock("Look at a.txt"), IMAGE),
        said(
            ThinkingBlock("Let me see.", "reasoning_content", ORIGIN),
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
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert json.loads(sent(*messages)) == {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read",
                    "description": "Reads a file.",
                    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
                },
            },
            {
                "type": "function",
                "function": {
                    "name": "note",
                    "description": "Notes.",
                    "parameters": {"type": "object"},
                    "strict": True,
                },
            },
        ],
        "messages": [
            {"role": "system", "content": "You are a test.\n\nBe brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look at a.txt"}, url]},
            {
                "role": "assistant",
                "content": "I shall.",
                "reasoning_content": "Let me see.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"a": 1.50}'},
                    },
                    {"id": "call_2", "type": "function", "function": {"name": "note", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "line one"},
            {"role": "tool", "tool_call_id": "call_2", "content": "Error: no"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Shown by the result of the call call_2:"},
                    url,
                    {"type": "text", "text": "And be quick."},
                ],
            },
        ],
        "model": "qwen3",
        "stream": True,
    }


@pytest.mark.parametrize(
    ("block", "traits", "part"),
    [
        (TextBlock("a"), TRAITS, {"type": "text", "text": "a"}),
        (IMAGE, TRAITS, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        (
            IMAGE,
            replace(TRAITS, images=False),
            {"type": "text", "text": "[an image of the type image/png, which this model cannot see]"},
        ),
        (
            ImageBlock("aGk=", "image/tiff"),
            TRAITS,
            {"type": "text", "text": "[an image of the type image/tiff, which this model cannot see]"},
        ),
        (
            PDF,
            replace(TRAITS, documents=True),
            {
                "type": "file",
                "file": {"filename": "paper.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            },
        ),
        (
            DocumentBlock("JVBERg==", "application/pdf"),
            replace(TRAITS, documents=True),
            {
                "type": "file",
                "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
            },
        ),
        (
            PDF,
            TRAITS,
            {
                "type": "text",
                "text": "[a document 'paper' of the type application/pdf, which this model cannot read]",
            },
        ),
        (
            DocumentBlock(base64.b64encode("Grüße".encode()).decode(), "text/plain", "a.txt"),
            TRAITS,
            {"type": "text", "text": "a.txt\n\nGrüße"},
        ),
        (
            DocumentBlock("no base64", "text/plain"),
            TRAITS,
            {"type": "text", "text": "[a document of the type text/plain, which this model cannot read]"},
        ),
    ],
)
def test_what_a_person_shows_is_sent_as_the_server_takes_it(
    block: Block, traits: Traits, part: dict[str, Any]
) -> None:
    (message,) = written(user(TextBlock("Look:"), block), traits)
    content = message["content"]
    if part["type"] == "text":
        assert content == f"Look:\n\n{part['text']}"
    else:
        assert content == [{"type": "text", "text": "Look:"}, part]


@pytest.mark.parametrize(
    ("content", "failed", "text"),
    [
        ("fine", False, "fine"),
        ("", False, "(empty)"),
        ("  \n", False, "(empty)"),
        ("not there", True, "Error: not there"),
        ("Error: not there", True, "Error: not there"),
        ("", True, "Error: "),
        ((TextBlock("a"), TextBlock("b")), False, "a\nb"),
        ((IMAGE,), False, "(empty)"),
    ],
)
def test_a_result_is_a_text_that_says_when_it_is_a_failure(content: Any, failed: bool, text: str) -> None:
    first, *_ = written(user(ResultBlock("call_1", content, is_error=failed)))
    assert first == {"role": "tool", "tool_call_id": "call_1", "content": text}


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ('{"a": 1.50, "b": [1]}', '{"a": 1.50, "b": [1]}'),
        ("", "{}"),
        ("[1]", '{"unreadable_json":"[1]"}'),
        ('{"a": NaN}', '{"unreadable_json":"{\\"a\\": NaN}"}'),
        ('{"a', '{"unreadable_json":"{\\"a"}'),
        ('{"a": "\ud800"}', '{"unreadable_json":"{\\"a\\": \\"�\\"}"}'),
    ],
)
def test_the_input_of_a_call_is_the_models_own_or_wrapped_so_that_it_can_be_read(
    raw: str, arguments: str
) -> None:
    (message,) = written(said(CallBlock("call_1", "read", raw)))
    assert message["tool_calls"][0]["function"]["arguments"] == arguments
    assert message["content"] is None


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ((), {"role": "assistant", "content": ""}),
        ((TextBlock("a"), TextBlock(" "), TextBlock("b")), {"role": "assistant", "content": "a\n\nb"}),
        (
            (ThinkingBlock("x", "reasoning", ORIGIN), ThinkingBlock("y", "reasoning", ORIGIN)),
            {"role": "assistant", "content": "", "reasoning": "xy"},
        ),
        ((ThinkingBlock("x", "reasoning", "openai/other"),), {"role": "assistant", "content": ""}),
        ((ThinkingBlock("x", "", ORIGIN),), {"role": "assistant", "content": ""}),
    ],
)
def test_what_a_model_said_goes_back_to_it(blocks: tuple[Any, ...], message: dict[str, Any]) -> None:
    assert written(said(*blocks)) == [message]


def test_thoughts_are_left_out_where_they_are_not_taken() -> None:
    thought = said(ThinkingBlock("x", "reasoning_content", ORIGIN), TextBlock("a"))
    assert written(thought, replace(TRAITS, thoughts=False)) == [{"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    ("given_id", "short", "expected"),
    [
        ("call_1", False, "call_1"),
        ("chatcmpl-tool-1.2:3", False, "chatcmpl-tool-1.2:3"),
        ("abcDEF123", True, "abcDEF123"),
    ],
)
def test_ids_that_a_server_takes_stay_as_they_are(given_id: str, short: bool, expected: str) -> None:
    assert call_id(given_id, replace(TRAITS, short_ids=short)) == expected


@settings(max_examples=100, derandomize=True)
@given(given_id=st.text(max_size=60), short=st.booleans())
def test_every_id_becomes_one_that_the_server_takes_always_the_same(given_id: str, short: bool) -> None:
    traits = replace(TRAITS, short_ids=short)
    made = call_id(given_id, traits)
    assert made == call_id(given_id, traits)
    assert made.isascii()
    assert len(made) == 9 if short else 1 <= len(made) <= 40
    assert written(user(ResultBlock(given_id, "x")), traits)[0]["tool_call_id"] == made
    assert written(said(CallBlock(given_id, "read", "{}")), traits)[0]["tool_calls"][0]["id"] == made


# --- systems, roles and turns ----------------------------------------------------------------


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_system_prompt_has_the_role_that_the_server_takes(role: Any) -> None:
    message = json.loads(system_bytes(PREAMBLE, replace(TRAITS, system_role=role)))
    assert message == {"role": role, "content": "You are a test.\n\nBe brief."}


def test_without_any_system_prompt_there_is_no_message_of_it() -> None:
    bare = Preamble(("", " "), (), "bare")
    assert system_bytes(bare, TRAITS) == b""
    assert json.loads(sent(user(TextBlock("Hi")), preamble=bare))["messages"] == [
        {"role": "user", "content": "Hi"}
    ]
    assert tools_bytes(bare, TRAITS) == b""


def roles(*messages: Message, traits: Traits) -> list[str]:
    return [message["role"] for message in json.loads(sent(*messages, traits=traits))["messages"]]


CALLED = said(CallBlock("call_1", "read", "{}"))


@pytest.mark.parametrize(
    ("messages", "traits", "expected"),
    [
        (
            (user(TextBlock("a")), user(TextBlock("b"))),
            replace(TRAITS, alternates=True),
            "system user assistant user",
        ),
        (
            (user(TextBlock("a")), said(TextBlock("b")), user(TextBlock("c"))),
            replace(TRAITS, alternates=True),
            "system user assistant user",
        ),
        (
            (user(TextBlock("a")), CALLED, user(ResultBlock("call_1", "x"), TextBlock("c"))),
            replace(TRAITS, alternates=True),
            "system user assistant tool assistant user",
        ),
        (
            (user(TextBlock("a")), CALLED, user(ResultBlock("call_1", "x"))),
            replace(TRAITS, alternates=True),
            "system user assistant tool",
        ),
        (
            (user(TextBlock("a")), CALLED, user(ResultBlock("call_1", "x"), TextBlock("c"))),
            TRAITS,
            "system user assistant tool user",
        ),
        (
            (user(TextBlock("a")), user(TextBlock("b"))),
            replace(TRAITS, system_role="user", alternates=True),
            "user assistant user assistant user",
        ),
        (
            (user(TextBlock("a")), CALLED, user(ResultBlock("call_1", "x"), TextBlock("c"))),
            replace(TOLD, system_role="user", alternates=True),
            "user assistant user assistant user",
        ),
    ],
)
def test_user_and_model_take_turns_where_a_template_insists(
    messages: tuple[Message, ...], traits: Traits, expected: str
) -> None:
    assert " ".join(roles(*messages, traits=traits)) == expected


# --- tools told of in words ------------------------------------------------------------------


def test_calls_without_native_tools_are_told_of_in_words_and_go_back_as_they_came() -> None:
    body = json.loads(
        sent(
            user(TextBlock("Look at a.txt")),
            said(TextBlock("I shall."), CallBlock("call_1", "read", '{"a": 1.50}')),
            user(
                ResultBlock("call_1", (TextBlock("line one"), IMAGE)),
                ResultBlock("call_2", "gone", is_error=True),
                TextBlock("Well?"),
            ),
            said(TextBlock("It is one line.")),
            traits=TOLD,
        )
    )
    assert "tools" not in body
    system, _, called, results, answered = body["messages"]
    assert '{"calls": [{"name": "...", "input": {...}}]}' in system["content"]
    assert "read: Reads a file.\nInput: " in system["content"]
    assert called["content"] == '{"calls":[{"name":"read","input":{"a": 1.50}}]}'
    assert results["content"] == [
        {"type": "text", "text": "Result of call 1:\nline one"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "text", "text": "Failure of call 2:\nError: gone"},
        {"type": "text", "text": "Well?"},
    ]
    assert answered == {"role": "assistant", "content": '{"text":"It is one line."}'}


def test_tools_are_told_of_in_few_words_where_the_window_is_small() -> None:
    system = json.loads(system_bytes(PREAMBLE, replace(TOLD, brief=True)))["content"]
    assert system.endswith("Tools:\nread(): Reads a file.\nnote(): Notes.")


# --- written once ----------------------------------------------------------------------------


def test_strictness_is_left_out_where_it_is_not_taken() -> None:
    loose = json.loads(b"{%b}" % tools_bytes(PREAMBLE, replace(TRAITS, strict=False)).rstrip(b","))
    assert "strict" not in json.dumps(loose)


def test_a_message_is_written_once_for_each_kind_of_server() -> None:
    message = user(TextBlock("Look"), IMAGE)
    first = message_bytes(message, TRAITS, ORIGIN)
    assert message_bytes(message, TRAITS, "another/model") is first
    assert message_bytes(message, replace(TRAITS, limit_field="none"), ORIGIN) is first
    assert message_bytes(message, replace(TRAITS, images=False), ORIGIN) is not first
    assert message_bytes(message, TRAITS, ORIGIN) is first


def test_a_message_with_thoughts_is_written_once_for_each_model() -> None:
    message = said(ThinkingBlock("x", "reasoning", ORIGIN), TextBlock("a"))
    mine, others = message_bytes(message, TRAITS, ORIGIN), message_bytes(message, TRAITS, "another/model")
    assert b"reasoning" in mine
    assert b"reasoning" not in others
    assert message_bytes(message, TRAITS, ORIGIN) is mine
    assert message_bytes(message, TRAITS, "another/model") is others


SURROGATES = st.text(alphabet=st.characters(), max_size=20)


@settings(max_examples=100, derandomize=True)
@given(text=SURROGATES, raw=SURROGATES, told=st.booleans())
def test_every_message_is_valid_json_whatever_was_said(text: str, raw: str, told: bool) -> None:
    traits = TOLD if told else TRAITS
    messages = (
        user(TextBlock(text)),
        said(TextBlock(text), CallBlock(text, text, raw)),
        user(ResultBlock(text, text, is_error=True)),
    )
    made = json.loads(sent(*messages, preamble=Preamble((text,), (READ,), "x"), traits=traits))
    for message in made["messages"]:
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert 1 <= len(call["function"]["name"]) <= 64
