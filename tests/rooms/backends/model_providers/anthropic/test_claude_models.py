"""What is known of models by their names."""

import pytest

from toolwright.backends.model_providers.anthropic.claude_models import known_model
from toolwright.contracts.models import Usage


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("claude-opus-4-6@20260205", "claude-opus-4-6"),
        ("Claude-Haiku-4-5-latest", "claude-haiku-4-5"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-opus-4-20250514", "claude-opus-4"),
    ],
)
def test_a_platform_may_decorate_a_name(name: str, same: str) -> None:
    assert known_model(name) is known_model(same)


def test_no_model_is_taken_for_an_older_one_of_its_family() -> None:
    newer = known_model("claude-opus-5-9")
    assert newer is not known_model("claude-opus-5")
    assert newer.profile.prices is None
    assert newer is known_model("claude-saga-7")
    assert known_model("claude-opus-4-5") is not known_model("claude-opus-4")


@pytest.mark.parametrize("name", ["", "glm-5", "claude-3-5-sonnet-20241022", "claude-instant-1.2", "gpt-6"])
def test_models_of_others_and_very_old_ones_are_asked_for_nothing_special(name: str) -> None:
    model = known_model(name)
    assert (model.thinking, model.bound_thoughts, model.profile.prices) == ("none", False, None)


def test_windows_and_prices_are_those_of_the_model() -> None:
    opus = known_model("claude-opus-5-5").profile
    assert (opus.context_window, opus.max_output, opus.images, opus.documents) == (
        1_000_000,
        128_000,
        True,
        True,
    )
    assert opus.prices is not None
    spent = Usage(
        input_tokens=1_000_000,
        output_tokens=1_000_000,
        cache_read_tokens=1_000_000,
        cache_write_tokens=1_000_000,
    )
    assert opus.prices.cost(spent) == pytest.approx(4 + 20 + 0.2 + 5)


def test_a_long_question_costs_what_long_questions_cost() -> None:
    prices = known_model("claude-haiku-5-5").profile.prices
    assert prices is not None
    assert prices.cost(Usage(input_tokens=100_000, output_tokens=1_000)) == pytest.approx(0.0105)
    assert prices.cost(
        Usage(input_tokens=1, cache_read_tokens=100_000, output_tokens=1_000)
    ) == pytest.approx(0.0000005 + 0.005 + 0.0025)
