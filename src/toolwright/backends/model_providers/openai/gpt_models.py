"""What is known of OpenAI's own models, by name (pure). Of the others, the careful answer."""

import re
from dataclasses import dataclass
from functools import lru_cache

from toolwright.contracts.models import Effort, ModelProfile, Prices

_LONG_FROM = 272_000
_CAREFUL = ModelProfile(context_window=32_768, max_output=8_192, images=True)
"""A model of some other server: most of them, as they are usually started, hold at least so much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GptModel:
    """How one model wants to be asked."""

    profile: ModelProfile
    thinks: bool = True
    off: str = ""
    """The effort that stands for not thinking; empty where there is none."""

    def effort(self, wanted: Effort) -> str:
        """Return the word for how much to think; empty to leave it to the model."""
        if not self.thinks:
            return ""
        return self.off if wanted == "off" else wanted


def _model(
    window: int, output: int, prices: Prices | None, *, thinks: bool = True, off: str = ""
) -> GptModel:
    profile = ModelProfile(context_window=window, max_output=output, documents=True, prices=prices)
    return GptModel(profile=profile, thinks=thinks, off=off)


def _priced(input: float, output: float, cache_read: float, cache_write: float | None = None) -> Prices:
    write = input if cache_write is None else cache_write
    return Prices(input=input, output=output, cache_read=cache_read, cache_write=write)


def _large(input: float, output: float, cache_read: float) -> GptModel:
    """A window of a million tokens, of which the later ones cost more."""
    short = _priced(input, output, cache_read)
    long = _priced(2 * input, 1.5 * output, 2 * cache_read)
    prices = Prices(
        input=short.input,
        output=short.output,
        cache_read=short.cache_read,
        cache_write=short.cache_write,
        long_from=_LONG_FROM,
        long=long,
    )
    return _model(1_050_000, 128_000, prices, off="none")


def _medium(input: float, output: float, cache_read: float, off: str = "none") -> GptModel:
    return _model(400_000, 128_000, _priced(input, output, cache_read), off=off)


def _older(window: int, output: int, prices: Prices) -> GptModel:
    return _model(window, output, prices, thinks=False)


_KNOWN: dict[str, GptModel] = {
    "gpt-6.1-sol": _large(2, 10, 0.1),
    "gpt-6.1-terra": _large(1, 5, 0.05),
    "gpt-6-astra": _large(10, 50, 1),
    "gpt-6-luna": _large(0.1, 0.5, 0.01),
    "gpt-5.6-sol": _large(5, 30, 0.5),
    "gpt-5.6-terra": _large(2.5, 15, 0.25),
    "gpt-5.6-luna": _large(1, 6, 0.1),
    "gpt-5.5": _large(5, 30, 0.5),
    "gpt-5.2": _medium(1.75, 14, 0.175),
    "gpt-5.1": _medium(1.25, 10, 0.125),
    "gpt-5-nano": _medium(0.05, 0.4, 0.005, "minimal"),
    "gpt-5-mini": _medium(0.25, 2, 0.025, "minimal"),
    "gpt-5": _medium(1.25, 10, 0.125, "minimal"),
    "o4-mini": _model(200_000, 100_000, _priced(1.1, 4.4, 0.275), off="low"),
    "o3-mini": _model(200_000, 100_000, _priced(1.1, 4.4, 0.55), off="low"),
    "o3": _model(200_000, 100_000, _priced(2, 8, 0.5), off="low"),
    "o1": _model(200_000, 100_000, _priced(15, 60, 7.5), off="low"),
    "gpt-4.1-nano": _older(1_047_576, 32_768, _priced(0.1, 0.4, 0.025)),
    "gpt-4.1-mini": _older(1_047_576, 32_768, _priced(0.4, 1.6, 0.1)),
    "gpt-4.1": _older(1_047_576, 32_768, _priced(2, 8, 0.5)),
    "gpt-4o-mini": _older(128_000, 16_384, _priced(0.15, 0.6, 0.075)),
    "gpt-4o": _older(128_000, 16_384, _priced(2.5, 10, 1.25)),
}
_NEWER = GptModel(profile=ModelProfile(context_window=400_000, max_output=128_000, documents=True))
"""A model of OpenAI's of which only the name is known: it is left to decide how much it thinks."""
_STRANGE = GptModel(profile=_CAREFUL, thinks=True)
"""Somebody else's model, behind an address that speaks this protocol."""

_DATED = re.compile(r"(?:-[0-9]{4}-[0-9]{2}-[0-9]{2})?")
_SEARCHING = re.compile(r"gpt-(?:5\.(?:[4-9]|[1-9][0-9])|[6-9]|[1-9][0-9])(?![0-9])")
_OF_OPENAI = re.compile(r"(?:gpt-[5-9]|gpt-[1-9][0-9]|o[1-9])(?:[.-]|\Z)")


@lru_cache(maxsize=128)
def known_model(name: str) -> GptModel:
    """Return what is known of a model, also with a vendor before its name or a date behind it."""
    plain = name.lower().rpartition("/")[2]
    for known, model in _KNOWN.items():
        if plain.startswith(known) and _DATED.fullmatch(plain, len(known)):
            return model
    return _NEWER if _OF_OPENAI.match(plain) else _STRANGE


def searches_tools(name: str) -> bool:
    """Whether a model of this name can be left to search for tools, where it is asked by Responses."""
    return _SEARCHING.match(name.lower().rpartition("/")[2]) is not None
