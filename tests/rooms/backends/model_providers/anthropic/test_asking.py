"""What is asked besides the conversation, for each way a model may want it."""

from typing import Any

import pytest

from toolwright.backends.model_providers.anthropic.asking import fields
from toolwright.backends.model_providers.anthropic.claude_models import known_model
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

TOOL = ToolDefinition("read", "Reads.", {"type": "object"})
HELLO = Message("user", (TextBlock("Hello?"),))
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
BOUND = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def asked(model: str, *, betas: bool = True, **members: Any) -> dict[str, Any]:
    tools = members.pop("tools", (TOOL,))
    given = {"max_tokens": 32_000, "messages": (HELLO,), "preamble": Preamble((), tools, "one"), **members}
    request = ModelRequest(model=model, **given)
    found = fields(request, known_model(model), betas=betas)
    assert (found.pop("model"), found.pop("stream")) == (model, True)
    return found


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-opus-5-5", "high", {"thinking": BOUND, "output_config": {"effort": "high"}}),
        ("claude-opus-5-5", "off", {"thinking": BOUND, "output_config": {"effort": "low"}}),
        ("claude-sonnet-5-5", "off", {"thinking": BOUND, "output_config": {"effort": "low"}}),
        ("claude-fable-5", "medium", {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}),
        ("claude-fable-5", "off", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
        ("claude-opus-5", "low", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
        ("claude-opus-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-opus-4-6", "high", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        ("claude-opus-4-6", "off", {}),
        ("claude-sonnet-4-5", "low", {"thinking": {"type": "enabled", "budget_tokens": 4_096}}),
        ("claude-sonnet-4-5", "high", {"thinking": {"type": "enabled", "budget_tokens": 16_000}}),
        ("claude-sonnet-4-5", "off", {}),
        (
            "claude-opus-4-5",
            "medium",
            {
                "thinking": {"type": "enabled", "budget_tokens": 12_288},
                "output_config": {"effort": "medium"},
            },
        ),
        ("claude-saga-9", "high", {"thinking": BOUND, "output_config": {"effort": "high"}}),
        ("claude-saga-9", "off", {}),
        ("glm-5", "high", {}),
    ],
)
def test_a_model_is_asked_to_think_the_way_it_takes_it(
    model: str, effort: str, expected: dict[str, Any]
) -> None:
    found = asked(model, effort=effort)
    assert {name: value for name, value in found.items() if name != "max_tokens"} == expected


def test_features_in_trial_can_be_left_out() -> None:
    assert asked("claude-opus-5-5", effort="high", betas=False)["thinking"] == ADAPTIVE


def test_no_model_is_asked_for_more_than_it_can_write() -> None:
    assert asked("claude-sonnet-4-6", max_tokens=128_000)["max_tokens"] == 64_000
    assert asked("claude-sonnet-4-6", max_tokens=100)["max_tokens"] == 100


def test_a_budget_leaves_half_of_the_tokens_for_the_answer_or_there_is_none() -> None:
    assert asked("claude-sonnet-4-5", effort="high", max_tokens=3_000)["thinking"]["budget_tokens"] == 1_500
    assert "thinking" not in asked("claude-sonnet-4-5", effort="high", max_tokens=2_000)


def test_a_model_with_a_budget_does_not_think_where_the_turn_began_without_thoughts() -> None:
    result = Message("user", (ResultBlock("t1", "text"),))
    call = CallBlock("t1", "read", "{}")
    without = (HELLO, Message("assistant", (call,)), result)
    thought = (HELLO, Message("assistant", (ThinkingBlock("Hm", "seal", "anthropic/x"), call)), result)
    done = (*without, Message("assistant", (TextBlock("Done."),)), HELLO)
    assert "thinking" not in asked("claude-sonnet-4-5", effort="low", messages=without)
    assert "thinking" in asked("claude-sonnet-4-5", effort="low", messages=thought)
    assert "thinking" in asked("claude-sonnet-4-5", effort="low", messages=done)
    assert "thinking" in asked("claude-opus-4-6", effort="low", messages=without)


@pytest.mark.parametrize(
    ("model", "choice", "expected"),
    [
        ("claude-opus-5", "auto", None),
        ("claude-opus-5", "none", {"type": "none"}),
        ("claude-opus-5", "required", {"type": "any"}),
        ("claude-opus-5-5", "required", {"type": "auto"}),
        ("claude-sonnet-4-5", "required", {"type": "any"}),
        ("glm-5", "required", {"type": "any"}),
    ],
)
def test_calls_are_demanded_only_of_models_that_take_it(
    model: str, choice: str, expected: dict[str, str] | None
) -> None:
    assert asked(model, tool_choice=choice).get("tool_choice") == expected


@pytest.mark.parametrize(
    ("model", "thinking"),
    [("claude-opus-5", {"type": "disabled"}), ("claude-sonnet-4-5", None), ("claude-opus-5-5", BOUND)],
)
def test_a_model_that_must_call_does_not_think_first(model: str, thinking: Any) -> None:
    assert asked(model, tool_choice="required", effort="high").get("thinking") == thinking


@pytest.mark.parametrize("choice", ["none", "required"])
def test_without_tools_there_is_nothing_to_choose(choice: str) -> None:
    assert "tool_choice" not in asked("claude-opus-5", tool_choice=choice, tools=())


def test_stop_sequences_are_passed_on() -> None:
    assert asked("claude-opus-5", stop_sequences=("END", "\n\n"))["stop_sequences"] == ["END", "\n\n"]
