"""Requests as bytes: their shape, what is written once, and what two requests of a session share."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.anthropic.encoding import (
    CACHE_MARK,
    body,
    call_id,
    message_bytes,
    preamble_bytes,
)
from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

ORIGIN = "anthropic/claude-sonnet-5"
MARK = {"cache_control": {"type": "ephemeral"}}
PREAMBLE = Preamble(
    ("You are a test.", "", "Be brief."),
    (
        ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {"a": {"type": "string"}}}),
        ToolDefinition("note", "Notes.", {"type": "object"}, strict=True),
    ),
    "one",
)


def user(*blocks: Any) -> Message:
    return Message("user", blocks)


def said(*blocks: Any) -> Message:
    return Message("assistant", blocks)


def sent(
    *messages: Message, preamble: Preamble = PREAMBLE, origin: str = ORIGIN, cached: bool = True
) -> bytes:
    request = ModelRequest(model="claude-sonnet-5", preamble=preamble, messages=messages, max_tokens=9)
    return body(request, {"model": request.model, "stream": True}, origin=origin, cached=cached)


def content(message: Message, origin: str = ORIGIN) -> Any:
    written = message_bytes(message, origin)
    return json.loads(written)["content"] if written else None


def test_a_whole_request_has_this_shape() -> None:
    messages = (
        user(TextBlock("Look at a.txt")),
        said(
            ThinkingBlock("Let me see.", "seal", ORIGIN),
            ThinkingBlock("", "opaque", ORIGIN, redacted=True),
            TextBlock("I shall."),
            CallBlock("toolu_1", "read", '{"a": 1.0}'),
            CallBlock("toolu_2", "note", "{}"),
        ),
        user(
            TextBlock("And be quick."),
            ResultBlock("toolu_1", "line one"),
            ResultBlock("toolu_2", (TextBlock("no"), ImageBlock("aGk=", "image/png")), is_error=True),
        ),
    )
    assert json.loads(sent(*messages)) == {
        "tools": [
            {
                "name": "read",
                "description": "Reads a file.",
                "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
            {
                "name": "note",
                "description": "Notes.",
                "input_schema": {"type": "object"},
                "strict": True,
                **MARK,
            },
        ],
        "system": [
            {"type": "text", "text": "You are a test."},
            {"type": "text", "text": "Be brief.", **MARK},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look at a.txt", **MARK}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Let me see.", "signature": "seal"},
                    {"type": "redacted_thinking", "data": "opaque"},
                    {"type": "text", "text": "I shall."},
                    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"a": 1.0}},
                    {"type": "tool_use", "id": "toolu_2", "name": "note", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "line one"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": [
                            {"type": "text", "text": "no"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                            },
                        ],
                        "is_error": True,
                    },
                    {"type": "text", "text": "And be quick.", **MARK},
                ],
            },
        ],
        "model": "claude-sonnet-5",
        "stream": True,
    }


def turns(count: int) -> list[Message]:
    messages = [user(TextBlock("Go on"))]
    for turn in range(count):
        messages.append(said(TextBlock(f"Turn {turn}"), CallBlock(f"t{turn}", "read", '{ "a" : 1e2 }')))
        messages.append(user(ResultBlock(f"t{turn}", f"é {turn}")))
    return messages


@settings(max_examples=30, derandomize=True)
@given(count=st.integers(min_value=0, max_value=12))
def test_what_two_requests_have_in_common_is_the_same_byte_for_byte(count: int) -> None:
    messages = turns(count + 1)
    before, after = sent(*messages[:-2]), sent(*messages)
    common = before.replace(CACHE_MARK, b"").partition(b'],"model"')[0]
    assert after.replace(CACHE_MARK, b"").startswith(common)
    assert before.count(CACHE_MARK) <= 4
    assert after.count(CACHE_MARK) <= 4


def test_each_message_and_the_preamble_are_written_once() -> None:
    messages = turns(3)
    preamble = Preamble(PREAMBLE.system, PREAMBLE.tools, "one")
    sent(*messages, preamble=preamble)
    kept = [message_bytes(message, ORIGIN) for message in messages]
    written = preamble_bytes(preamble, cached=True)
    sent(*messages, preamble=preamble)
    assert all(message_bytes(message, ORIGIN) is piece for message, piece in zip(messages, kept, strict=True))
    assert preamble_bytes(preamble, cached=True) is written
    assert all(len(message.encoded) == 1 for message in messages)


def marks(*messages: Message) -> list[int]:
    """Which messages carry a mark, by their place in the request."""
    found = json.loads(sent(*messages))["messages"]
    return [place for place, message in enumerate(found) if "cache_control" in message["content"][-1]]


def test_marks_stand_where_this_request_ends_and_where_the_last_one_ended() -> None:
    assert marks(*turns(0)) == [0]
    assert marks(*turns(1)) == [0, 2]
    assert marks(*turns(5)) == [8, 10]
    assert marks(*turns(1), user(TextBlock("More"))) == [0, 3]


def test_marks_are_never_put_on_thoughts() -> None:
    assert marks(user(TextBlock("Hi")), said(ThinkingBlock("Hm", "seal", ORIGIN))) == [0]


def test_marks_can_be_left_out_and_do_not_stay_behind() -> None:
    messages = turns(2)
    assert CACHE_MARK in sent(*messages)
    assert CACHE_MARK not in sent(*messages, cached=False)
    assert CACHE_MARK in sent(*messages)


def test_thoughts_go_back_only_to_the_model_that_thought_them() -> None:
    message = said(ThinkingBlock("Hm", "seal", ORIGIN), TextBlock("So"))
    assert [block["type"] for block in content(message)] == ["thinking", "text"]
    assert [block["type"] for block in content(message, "anthropic/claude-opus-5")] == ["text"]
    assert [block["type"] for block in content(message)] == ["thinking", "text"]
    assert content(said(ThinkingBlock("Hm", "", "openai/gpt-6"))) is None


def test_results_come_first_and_keep_their_order() -> None:
    message = user(TextBlock("Also"), ResultBlock("b", "2"), TextBlock("this"), ResultBlock("a", "1"))
    kinds = [(block["type"], block.get("tool_use_id", block.get("text"))) for block in content(message)]
    assert kinds == [("tool_result", "b"), ("tool_result", "a"), ("text", "Also"), ("text", "this")]


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_texts_without_words_are_left_out_and_messages_without_content_too(text: str) -> None:
    assert content(user(TextBlock(text), TextBlock("Hi"))) == [{"type": "text", "text": "Hi"}]
    assert content(said(TextBlock(text))) is None
    assert content(said()) is None
    whole = json.loads(sent(user(TextBlock("Hi")), said(TextBlock(text)), user(TextBlock("Still there?"))))
    assert [message["role"] for message in whole["messages"]] == ["user", "user"]


@pytest.mark.parametrize("nothing", ["", " \n", (), (TextBlock(""),)])
def test_a_result_without_content_says_so(nothing: Any) -> None:
    (block,) = content(user(ResultBlock("t1", nothing, is_error=True)))
    assert block["content"] == "(empty)"


def test_documents_are_sent_as_the_provider_takes_them() -> None:
    text = base64.b64encode("grüße".encode()).decode()
    blocks = content(
        user(
            DocumentBlock("JVBERg==", "application/pdf", title="Report"),
            DocumentBlock(text, "text/markdown"),
            DocumentBlock("AAAA", "application/zip"),
            DocumentBlock("not base64!", "text/plain"),
            ImageBlock("AAAA", "image/tiff"),
        )
    )
    assert blocks[0] == {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        "title": "Report",
    }
    assert blocks[1]["source"] == {"type": "text", "media_type": "text/plain", "data": "grüße"}
    assert [block["text"] for block in blocks[2:]] == [
        "[a document of the type application/zip, which cannot be shown]",
        "[a document of the type text/plain, which cannot be shown]",
        "[an image of the type image/tiff, which cannot be shown]",
    ]


def test_ids_and_names_from_elsewhere_are_made_acceptable_in_calls_and_results_alike() -> None:
    strange = "functions.read:0|" + "x" * 80
    (call,) = content(said(CallBlock(strange, "fs.read/file", "{}")))
    (result,) = content(user(ResultBlock(strange, "text")))
    assert call["id"] == result["tool_use_id"] == call_id(strange)
    assert call["name"] == "fs_read_file"
    assert call_id("toolu_01AbC-d") == "toolu_01AbC-d"
    assert call_id(strange) != call_id(strange + "y")


def test_input_that_is_no_object_is_shown_to_the_model_and_leaves_the_request_valid() -> None:
    (call,) = content(said(CallBlock("t1", "read", '{"a": "cut o')))
    assert call["input"] == {"unreadable_json": '{"a": "cut o'}


def test_the_numbers_of_a_call_stay_as_the_model_wrote_them() -> None:
    raw = '{"a":1.50,"b":12345678901234567890, "c":1E2}'
    assert raw.encode() in message_bytes(said(CallBlock("t1", "read", raw)), ORIGIN)


def test_halves_of_surrogate_pairs_do_not_break_a_request() -> None:
    whole = json.loads(sent(user(TextBlock("a\ud800b"), ResultBlock("t", "\udc00"))))
    assert whole["messages"][0]["content"][1]["text"] == "a�b"


def test_without_tools_or_system_prompt_their_fields_are_missing() -> None:
    assert set(json.loads(sent(user(TextBlock("Hi")), preamble=Preamble(("",), (), "none")))) == {
        "messages",
        "model",
        "stream",
    }


@settings(max_examples=60, derandomize=True)
@given(
    texts=st.lists(st.text(max_size=20), max_size=4),
    inputs=st.lists(st.text(max_size=20), max_size=3),
)
def test_whatever_was_said_the_request_is_valid_json(texts: list[str], inputs: list[str]) -> None:
    calls = [CallBlock(f"{place}", text or "x", text) for place, text in enumerate(inputs)]
    messages = (
        user(*map(TextBlock, texts)),
        said(*map(TextBlock, texts), *calls),
        user(*(ResultBlock(call.call_id, call.input) for call in calls)),
    )
    whole = json.loads(sent(*messages))
    assert all(message["content"] for message in whole["messages"])
