"""A model for prompts: what becomes of every way in which it may not answer."""

from typing import Any

import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.events import PromptAnswered
from toolwright.contracts.models import Answer, ModelFault, Prices, Usage
from toolwright.contracts.models import ModelProfile as Profile
from toolwright.testing import ScriptedModel
from toolwright.turns.parts import Model
from toolwright.wiring.skills import PromptAsker

pytestmark = pytest.mark.anyio


def asker(*script: Any) -> tuple[PromptAsker, list[PromptAnswered]]:
    model = ScriptedModel(script, profiles={"m": Profile(prices=Prices(output=1_000_000))})
    found: list[PromptAnswered] = []
    made = PromptAsker(
        lookup=lambda _: Model(model, "m", "fake/m"), model=lambda: "fake/m", record=found.append
    )
    return made, found


async def test_an_answer_is_returned_and_paid_for() -> None:
    said = Answer(blocks=(TextBlock("Yes."),), stop="end_turn", usage=Usage(output_tokens=3), model="m-1")
    made, paid = asker(said)
    assert await made.answer("skill a", "Well?") == "Yes."
    assert paid == [PromptAnswered(purpose="skill a", model="m-1", usage=Usage(output_tokens=3), cost=3.0)]


async def test_an_answer_that_was_cut_says_so() -> None:
    made, _ = asker(Answer(blocks=(TextBlock("Yes and"),), stop="max_tokens"))
    assert (await made.answer("skill a", "Well?")).startswith("Yes and\n\n[The answer was cut")


@pytest.mark.parametrize(
    ("said", "code", "again"),
    [
        (Answer(blocks=(TextBlock("No."),), stop="refusal"), "command_failed", False),
        (Answer(blocks=(TextBlock("  "),), stop="end_turn"), "command_failed", True),
        (ModelFault("overloaded", "busy", retry_after=3.0), "network_error", True),
        (ModelFault("unauthorized", "no key"), "network_error", False),
    ],
)
async def test_no_answer_is_a_failure_that_says_why(said: object, code: str, again: bool) -> None:
    made, _ = asker(said)
    with pytest.raises(ToolFailure) as failed:
        await made.answer("skill a", "Well?")
    assert (failed.value.code, failed.value.retryable) == (code, again)


async def test_a_model_that_there_is_not_is_a_failure() -> None:
    def nobody(_: str) -> Model:
        raise SettingsError("there is no model 'x'.")

    made = PromptAsker(lookup=nobody, model=lambda: "x")
    with pytest.raises(ToolFailure, match="there is no model 'x'"):
        await made.answer("skill a", "Well?")


async def test_nothing_is_asked_beyond_a_limit() -> None:
    made, paid = asker("Never.")
    made.used_up = lambda: "The limit of 3 requests to the model is reached."
    with pytest.raises(ToolFailure, match="limit of 3") as failed:
        await made.answer("skill a", "Well?")
    assert (failed.value.code, paid) == ("budget_exhausted", [])
