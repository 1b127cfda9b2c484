"""What is asked besides the conversation: how much to think, whether to call, when to stop (pure)."""

from collections.abc import Sequence
from typing import Any

from toolwright.backends.model_providers.anthropic.claude_models import ClaudeModel
from toolwright.contracts.messages import Message, ThinkingBlock
from toolwright.contracts.models import ModelRequest

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""Without it, thoughts that no longer fit a shortened conversation make the whole request fail."""

_BUDGETS = {"low": 4_096, "medium": 12_288, "high": 24_576}
_LEAST_BUDGET = 1_024
_DROP_WHAT_NO_LONGER_FITS = {"prefix_mismatch_behavior": "drop_block"}


def fields(request: ModelRequest, model: ClaudeModel, *, betas: bool) -> dict[str, Any]:
    """Return everything of a request but its preamble and messages."""
    forced = request.tool_choice == "required" and bool(request.preamble.tools) and model.may_be_forced
    asked: dict[str, Any] = {
        "model": request.model,
        "max_tokens": min(request.max_tokens, model.profile.max_output),
        "stream": True,
        **_thinking(request, model, forced=forced, betas=betas),
    }
    if request.preamble.tools and request.tool_choice != "auto":
        asked["tool_choice"] = {
            "type": "none" if request.tool_choice == "none" else "any" if forced else "auto"
        }
    if request.stop_sequences:
        asked["stop_sequences"] = list(request.stop_sequences)
    return asked


def _thinking(request: ModelRequest, model: ClaudeModel, *, forced: bool, betas: bool) -> dict[str, Any]:
    off = request.effort == "off" or forced
    if model.thinking == "none":
        return {}
    if model.thinking == "budget":
        return {} if off else _budget(request, model)
    if off and model.off == "omit":
        return {}
    if off and model.off == "disabled":
        return {"thinking": {"type": "disabled"}}
    thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
    if model.bound_thoughts and betas:
        thinking["block_binding"] = _DROP_WHAT_NO_LONGER_FITS
    return {"thinking": thinking, "output_config": {"effort": "low" if off else request.effort}}


def _budget(request: ModelRequest, model: ClaudeModel) -> dict[str, Any]:
    """A number of tokens to think with, out of those for the answer; half of them at most."""
    tokens = min(_BUDGETS[request.effort], min(request.max_tokens, model.profile.max_output) // 2)
    if tokens < _LEAST_BUDGET or _goes_on_without_thoughts(request.messages):
        return {}
    effort = {"output_config": {"effort": request.effort}} if model.takes_effort else {}
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}, **effort}


def _goes_on_without_thoughts(messages: Sequence[Message]) -> bool:
    """Whether the last answer called tools and has no thoughts before that.

    A model with a budget must have begun such an answer with a thought, or the request is refused: so it
    happens after another model, or thinking with another effort, began the turn.
    """
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    return last is not None and bool(last.calls) and not isinstance(last.blocks[0], ThinkingBlock)
