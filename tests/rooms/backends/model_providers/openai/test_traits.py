"""What refusals teach, in the words in which servers refuse; and what a request then looks like."""

from dataclasses import replace
from typing import Any

import pytest

from toolwright.backends.model_providers.openai import chat, responses
from toolwright.backends.model_providers.openai.traits import Lesson, Sent, Traits, learned, sent
from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.messages import Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import (
    FaultCode,
    ModelFault,
    ModelProfile,
    ModelRequest,
    Preamble,
    ToolDefinition,
)

TRAITS = Traits()
OFFICIAL = Traits(limit_field="max_completion_tokens")
FIELDS: dict[str, object] = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 8_192,
    "reasoning_effort": "high",
    "stop": ["END"],
    "tools": True,
    "tool_choice": "required",
    "prompt_cache_key": "s",
}
ALL = Sent(FIELDS, images=True, thoughts=True)
WINDOW = "This model's maximum context length is 4096 tokens"
WANTED = f"{WINDOW}. However, you requested"


def refused(said: str, status: int = 400, code: FaultCode = "bad_request") -> ModelFault:
    return ModelFault(code, f"there answered {status}: {said}", status=status)


def changes(lesson: Lesson | None, before: Traits = TRAITS) -> dict[str, Any]:
    assert lesson is not None
    after = lesson.traits
    return {
        name: getattr(after, name)
        for name in Traits.__dataclass_fields__
        if getattr(after, name) != getattr(before, name)
    }


REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "ollama: tools": ('"gemma:latest" does not support tools', {"native_tools": False}),
    "ollama: tools of a library": (
        "registry.ollama.ai/library/gemma:latest does not support tools",
        {"native_tools": False},
    ),
    "ollama: thinking": ('"llama3.2" does not support thinking', {"effort": False}),
    "vllm: tools": (
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        {"native_tools": False},
    ),
    "vllm: a forced tool": (
        'tool_choice="required" requires --tool-call-parser to be set',
        {"tool_choice": False},
    ),
    "vllm: no system role": ("System role not supported", {"system_role": "user", "alternates": True}),
    "vllm: turns": (
        "Conversation roles must alternate user/assistant/user/assistant/...",
        {"alternates": True},
    ),
    "llama.cpp: tools": ("tools param requires --jinja flag", {"native_tools": False}),
    "llama.cpp: a forced tool": ("tool_choice param requires --jinja flag", {"tool_choice": False}),
    "llama.cpp: images": (
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        {"images": False},
    ),
    "openai: the name of the limit": (
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        {"limit_field": "max_completion_tokens"},
    ),
    "openai: too long an answer": (
        "max_tokens is too large: 8192. This model supports at most 4096 completion tokens",
        {"most_tokens": 4096},
    ),
    "openai: effort": (
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        {"effort": False},
    ),
    "openai: system role": (
        "Unsupported value: 'messages[0].role' does not support 'system' with this model. Use 'developer'.",
        {"system_role": "developer"},
    ),
    "openai: stop": ("Unsupported parameter: 'stop' is not supported with this model.", {"stop": False}),
    "openai: strict": ("Unknown parameter: 'tools[0].function.strict'.", {"strict": False}),
    "mistral: unknown fields": (
        "body.stream_options: Extra inputs are not permitted",
        {"usage": False},
    ),
    "mistral: another unknown field": (
        "body.prompt_cache_key: Extra inputs are not permitted",
        {"cache_key": False},
    ),
    "mistral: ids": (
        "Tool call id was call_abcdefghijkl but must be a-z, A-Z, 0-9, with a length of 9.",
        {"short_ids": True},
    ),
    "openrouter: tools": ("No endpoints found that support tool use.", {"native_tools": False}),
    "openrouter: images": ("No endpoints found that support image input", {"images": False}),
    "deepseek: thoughts": (
        "reasoning_content is not allowed in the messages of this request",
        {"thoughts": False},
    ),
    "a range": ("Range of max_tokens should be [1, 2048]", {"most_tokens": 2048}),
    "a limit that nobody names": ("max_tokens: Extra inputs are not permitted", {"limit_field": "none"}),
}


@pytest.mark.parametrize("who", list(REFUSALS))
def test_a_refusal_teaches_what_it_names(who: str) -> None:
    said, expected = REFUSALS[who]
    assert changes(learned(refused(said), TRAITS, ALL)) == expected


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        (f"{WINDOW} and your request has 96 input tokens (8192 > 4096 - 96).", 4000),
        (
            f"{WANTED} 8192 output tokens and your prompt contains 96 input tokens, for a total of 8288.",
            4000,
        ),
        (
            f"{WANTED} 8288 tokens (96 in the messages, 8192 in the completion).",
            4000,
        ),
        (
            f"{WANTED} 4000 output tokens and your prompt contains at least 97 input tokens, in all 4097.",
            2000,
        ),
        (
            f"{WANTED} 4000 output tokens and your prompt contains 9000 characters (more than 768).",
            2000,
        ),
    ],
)
def test_a_window_that_an_answer_does_not_fit_in_makes_it_shorter_this_once(said: str, limit: int) -> None:
    assert learned(refused(said, code="too_large"), TRAITS, ALL) == Lesson(TRAITS, limit)


@pytest.mark.parametrize(
    "said",
    [
        f"{WINDOW} and your request has 4090 input tokens.",
        f"{WANTED} 8192 output tokens and your prompt contains 5000 input tokens, in all",
        f"{WANTED} 20 output tokens and your prompt contains at least 4077 input tokens",
        "prompt is too long",
    ],
)
def test_a_conversation_that_leaves_no_room_teaches_nothing(said: str) -> None:
    assert learned(refused(said, code="too_large"), TRAITS, ALL) is None


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I do not like this.",
        "Invalid schema for function 'read': 'oneOf' is not permitted.",
        "tools[0].function.name: not supported: a dot",
        "messages[2].content must be a string",
        "model 'x' not found, try pulling it first",
        "Function tools are not supported for this model here. Please use /v1/responses instead.",
    ],
)
def test_a_refusal_that_names_nothing_that_could_be_changed_teaches_nothing(said: str) -> None:
    plain = Sent({"model": "m", "tools": True}, images=True, thoughts=True)
    assert learned(refused(said), TRAITS, plain) is None


@pytest.mark.parametrize("who", list(REFUSALS))
def test_nothing_is_given_up_that_was_not_sent(who: str) -> None:
    said, expected = REFUSALS[who]
    nothing = Sent({"model": "m", "stream": True})
    lesson = learned(refused(said), TRAITS, nothing)
    assert lesson is None or set(expected) & {"short_ids", "system_role", "alternates"}


@pytest.mark.parametrize("status", [401, 402, 403, 408, 429, 502, 503, 529])
def test_only_statuses_that_mean_a_refusal_teach(status: int) -> None:
    said = "'reasoning_effort' is not supported"
    assert learned(refused(said, status), TRAITS, ALL) is None
    assert learned(refused(said, 400), TRAITS, ALL) is not None


@pytest.mark.parametrize("who", list(REFUSALS))
def test_asking_anew_comes_to_an_end_also_where_a_server_refuses_for_ever(who: str) -> None:
    traits, seen = TRAITS, {TRAITS}
    while (lesson := learned(refused(REFUSALS[who][0]), traits, ALL)) is not None:
        assert lesson.traits not in seen
        seen.add(lesson.traits)
        traits = lesson.traits
    assert len(seen) < 6


def test_the_form_of_an_answer_is_forced_as_the_server_can() -> None:
    told = Traits(native_tools=False)
    forms = [told.form]
    for said in (
        "Invalid schema for response_format 'answer': schema must be an object",
        "Unrecognized request argument supplied: json_schema",
        "response_format is not supported",
    ):
        fields = chat.fields(asked(), Lesson(told), ModelProfile())
        lesson = learned(refused(said), told, Sent(fields))
        assert lesson is not None
        told = lesson.traits
        forms.append(told.form)
    assert forms == ["json_schema", "schema", "json_object", "none"]
    assert not {"response_format", "json_schema"} & set(chat.fields(asked(), Lesson(told), ModelProfile()))


def test_what_was_in_a_request_is_found_also_in_results() -> None:
    image = ImageBlock("aGk=", "image/png")
    plain = asked(Message("user", (TextBlock("Hi"),)))
    shown = asked(Message("user", (ResultBlock("c", (image,)),)))
    thought = asked(Message("assistant", (ThinkingBlock("Hm"),)))
    assert sent(plain, {}, tools=True) == Sent({"tools": True})
    assert sent(plain, {}, tools=False) == Sent({})
    assert sent(shown, {}, tools=False) == Sent({}, images=True)
    assert sent(thought, {}, tools=False) == Sent({}, thoughts=True)


# --- what is asked besides the conversation --------------------------------------------------


def asked(*messages: Message, **members: Any) -> ModelRequest:
    preamble = Preamble((), (ToolDefinition("read", "Reads.", {"type": "object"}),), "x")
    return ModelRequest(**{
        "model": "m", "preamble": preamble, "messages": messages, "max_tokens": 50_000, **members
    })  # fmt: skip


PROFILE = ModelProfile(max_output=10_000)


@pytest.mark.parametrize(
    ("traits", "members", "fields"),
    [
        (TRAITS, {}, {"stream_options": {"include_usage": True}, "max_tokens": 10_000}),
        (replace(TRAITS, usage=False, most_tokens=99), {}, {"max_tokens": 99}),
        (replace(TRAITS, usage=False, limit_field="none"), {}, {}),
        (replace(OFFICIAL, usage=False), {"max_tokens": 7}, {"max_completion_tokens": 7}),
        (
            replace(TRAITS, usage=False, limit_field="none"),
            {"effort": "low", "stop_sequences": ("END",), "session_id": "s" * 80, "tool_choice": "required"},
            {
                "reasoning_effort": "low",
                "stop": ["END"],
                "prompt_cache_key": "s" * 64,
                "tool_choice": "required",
            },
        ),
        (
            replace(
                TRAITS,
                usage=False,
                limit_field="none",
                effort=False,
                stop=False,
                cache_key=False,
                tool_choice=False,
            ),
            {"effort": "low", "stop_sequences": ("END",), "session_id": "s", "tool_choice": "required"},
            {},
        ),
        (
            replace(TRAITS, usage=False, limit_field="none"),
            {"tool_choice": "required", "preamble": Preamble((), (), "none")},
            {},
        ),
    ],
)
def test_chat_asks_for_what_the_server_takes(
    traits: Traits, members: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert chat.fields(asked(**members), Lesson(traits), PROFILE) == {"model": "m", "stream": True, **fields}


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        (
            "gpt-6.1-terra",
            "off",
            {"reasoning": {"effort": "none"}, "include": ["reasoning.encrypted_content"]},
        ),
        (
            "gpt-6.1-terra",
            "high",
            {
                "reasoning": {"effort": "high", "summary": "auto"},
                "include": ["reasoning.encrypted_content"],
            },
        ),
        ("gpt-4.1", "high", {}),
        ("m", "off", {"include": ["reasoning.encrypted_content"]}),
    ],
)
def test_responses_asks_how_much_to_think(model: str, effort: Any, fields: dict[str, Any]) -> None:
    traits = Traits(limit_field="max_output_tokens")
    request = asked(model=model, effort=effort, max_tokens=3)
    assert responses.fields(request, Lesson(traits), PROFILE) == {
        "model": model, "stream": True, "store": False, "max_output_tokens": 16, **fields,
    }  # fmt: skip


def test_responses_leaves_out_what_was_refused() -> None:
    traits = Traits(limit_field="none", effort=False, sealed=False, tool_choice=False, cache_key=False)
    request = asked(model="gpt-6.1-terra", effort="high", tool_choice="required", session_id="s")
    assert responses.fields(request, Lesson(traits), PROFILE) == {
        "model": "gpt-6.1-terra", "stream": True, "store": False,
    }  # fmt: skip


def test_a_limit_of_one_request_counts_for_it() -> None:
    assert chat.fields(asked(), Lesson(TRAITS, 500), PROFILE)["max_tokens"] == 500
    official = Traits(limit_field="max_output_tokens")
    assert responses.fields(asked(), Lesson(official, 500), PROFILE)["max_output_tokens"] == 500
