"""What is known of the Claude models, by name (pure). Of the others, the careful answer."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from toolwright.contracts.models import ModelProfile, Prices

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeModel:
    """How one model wants to be asked."""

    profile: ModelProfile
    thinking: Literal["adaptive", "budget", "none"] = "adaptive"
    """The model decides how much it thinks, or is given a number of tokens, or does not think."""
    off: Literal["omit", "disabled", "never"] = "omit"
    """How it is asked not to think; a model that always thinks is asked to think little."""
    takes_effort: bool = True
    may_be_forced: bool = True
    """Whether it accepts being told that it must call a tool; a model that thinks does not."""
    bound_thoughts: bool = False
    """Its thoughts count only in the conversation they were thought in, unchanged up to there."""


def _profile(window: int, output: int, prices: Prices | None, *, tool_search: bool = True) -> ModelProfile:
    return ModelProfile(
        context_window=window, max_output=output, documents=True, prices=prices, tool_search=tool_search
    )


def _priced(input: float, output: float, cache_read: float) -> Prices:
    """Writing to the cache for five minutes costs a quarter more than reading without one."""
    return Prices(input=input, output=output, cache_read=cache_read, cache_write=input * 1.25)


def _large(prices: Prices | None) -> ModelProfile:
    return _profile(_MILLION, 128_000, prices)


_HAIKU = Prices(
    input=0.1,
    output=0.5,
    cache_read=0.01,
    cache_write=0.125,
    long_from=100_000,
    long=_priced(0.5, 2.5, 0.05),
)
_FABLE = ClaudeModel(
    profile=_large(_priced(10, 50, 0.25)), off="never", may_be_forced=False, bound_thoughts=True
)
_FIRST_FABLE = ClaudeModel(profile=_large(_priced(10, 50, 1)), off="never", may_be_forced=False)
_OPUS_PRICES = _priced(5, 25, 0.5)
_OPUS_4 = ClaudeModel(
    profile=_profile(200_000, 32_000, _priced(15, 75, 1.5), tool_search=False),
    thinking="budget",
    takes_effort=False,
)
_SONNET_4_5 = ClaudeModel(
    profile=_profile(200_000, 64_000, _priced(3, 15, 0.3)), thinking="budget", takes_effort=False
)
_SONNET_4 = replace(_SONNET_4_5, profile=replace(_SONNET_4_5.profile, tool_search=False))

_KNOWN: dict[str, ClaudeModel] = {
    "claude-fable-5-1": _FABLE,
    "claude-mythos-5-1": _FABLE,
    "claude-fable-5": _FIRST_FABLE,
    "claude-mythos-5": _FIRST_FABLE,
    "claude-opus-5-5": ClaudeModel(
        profile=_large(_priced(4, 20, 0.2)), off="never", may_be_forced=False, bound_thoughts=True
    ),
    "claude-opus-5": ClaudeModel(profile=_large(_OPUS_PRICES), off="disabled"),
    "claude-opus-4-8": ClaudeModel(profile=_large(_OPUS_PRICES)),
    "claude-opus-4-7": ClaudeModel(profile=_large(_OPUS_PRICES)),
    "claude-opus-4-6": ClaudeModel(profile=_large(_OPUS_PRICES)),
    "claude-opus-4-5": ClaudeModel(profile=_profile(200_000, 64_000, _OPUS_PRICES), thinking="budget"),
    "claude-opus-4-1": _OPUS_4,
    "claude-opus-4": _OPUS_4,
    "claude-sonnet-5-5": ClaudeModel(
        profile=_large(_priced(2, 10, 0.1)), off="never", may_be_forced=False, bound_thoughts=True
    ),
    "claude-sonnet-5": ClaudeModel(profile=_large(_priced(2, 10, 0.2)), off="disabled"),
    "claude-sonnet-4-6": ClaudeModel(profile=_profile(_MILLION, 64_000, _priced(3, 15, 0.3))),
    "claude-sonnet-4-5": _SONNET_4_5,
    "claude-sonnet-4": _SONNET_4,
    "claude-haiku-5-5": ClaudeModel(
        profile=_large(_HAIKU), off="never", may_be_forced=False, bound_thoughts=True
    ),
    "claude-haiku-4-5": ClaudeModel(
        profile=_profile(200_000, 64_000, _priced(1, 5, 0.1)), thinking="budget", takes_effort=False
    ),
}
_NEWER = ClaudeModel(
    profile=ModelProfile(documents=True, tool_search=True), may_be_forced=False, bound_thoughts=True
)
"""A Claude of which only the name is known: asked as the newest are, and sent nothing it may refuse."""
_STRANGE = ClaudeModel(profile=ModelProfile(), thinking="none", takes_effort=False)
"""No Claude at all, behind an address that speaks this protocol."""

_NAME = re.compile(r"claude-[a-z0-9-]+")
_SAME_MODEL = re.compile(r"(?:-[0-9]{8}|-latest|-v[0-9]+)*")


@lru_cache(maxsize=128)
def known_model(name: str) -> ClaudeModel:
    """Return what is known of the model, however a platform decorates its name."""
    found = _NAME.search(name.lower().replace(".", "-"))
    if found is None:
        return _STRANGE
    plain = found.group()
    for known, model in _KNOWN.items():
        if plain.startswith(known) and _SAME_MODEL.fullmatch(plain, len(known)):
            return model
    return _STRANGE if plain.startswith(("claude-2", "claude-3", "claude-instant")) else _NEWER
