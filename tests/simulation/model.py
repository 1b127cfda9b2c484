"""What a simulated model answers: drawn by chance from a conversation that it first looks at closely."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio

from toolwright.backends.model_providers.scripted import Item
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, SaidBlock
from toolwright.contracts.models import (
    Answer,
    FaultCode,
    ModelFault,
    ModelProfile,
    ModelRequest,
    StopReason,
    Usage,
)
from toolwright.testing import ScriptedModel, call, thought

NAMES = ("look", "peek", "post", "post", "put", "alone", "spend", "spend", "weigh", "weigh", "stubborn")
HEALING: Sequence[FaultCode] = (
    "overloaded",
    "rate_limited",
    "connection",
    "stalled",
    "server_error",
    "garbage",
)
LASTING: Sequence[FaultCode] = ("unauthorized", "bad_request", "billing", "too_large")
STOPS: Sequence[StopReason] = ("max_tokens", "refusal", "pause_turn", "context_full")
_ANSWERS = 1_000


@dataclass(slots=True)
class SimModel:
    """Chooses answers. ``calm`` lets it say only that it is done."""

    chance: Random
    slowness: float = 0.3
    faults: float = 0.15
    calm: bool = False
    problems: list[str] = field(default_factory=list)

    def provider(self, *, window: int) -> ScriptedModel:
        """Return it as a provider whose window holds so many tokens."""
        return ScriptedModel(
            [self.answer] * _ANSWERS,
            piece=40,
            delay=1e-9,
            sleep=self._sleep,
            remembers=False,
            profiles={"scripted": ModelProfile(context_window=window)},
        )

    async def _sleep(self, seconds: float) -> None:
        del seconds
        if self.chance.random() < 0.5:
            await anyio.sleep(self.chance.random() ** 3 * self.slowness)

    def answer(self, request: ModelRequest) -> Item:
        """Return the next answer."""
        self.problems += wrong(request.messages)
        if self.calm or request.tool_choice == "none":
            return _answer(request, ["All of it is done."])
        chance, luck = self.chance, self.chance.random()
        if luck < self.faults / 2:
            return ModelFault(chance.choice(HEALING if luck < self.faults / 2.5 else LASTING), "by chance")
        said: list[Any] = [thought("Hm.")] if chance.random() < 0.2 else []
        if chance.random() < 0.3:
            return _answer(request, [*said, f"That is all, {chance.randrange(1000)}."])
        said += [self._call() for _ in range(chance.choice((1, 2, 3, 3, 4)))]
        said.insert(chance.randrange(len(said) + 1), "So:")
        if luck < self.faults:
            return [*said[: chance.randrange(1, len(said) + 1)], ModelFault("cut", "by chance")]
        return _answer(request, said, self.chance.choice(STOPS) if luck > 0.92 else None)

    def _call(self) -> CallBlock:
        luck = self.chance.random()
        if luck < 0.03:
            return CallBlock("", self.chance.choice(NAMES), '{"n": ')  # no JSON
        if luck < 0.06:
            return call("unheard_of")
        made = call(self.chance.choice(NAMES), n=self.chance.randrange(3))
        if luck < 0.12:  # an id that small servers use again and again
            return CallBlock(f"call_again_{self.chance.randrange(3)}", made.name, made.input)
        return made


def _answer(request: ModelRequest, said: Sequence[str | SaidBlock], stop: StopReason | None = None) -> Answer:
    """Return a whole answer. What was sent counts by messages, which is all that shortening looks at."""
    blocks = _with_own_ids([TextBlock(one) if isinstance(one, str) else one for one in said])
    if stop in {"refusal", "pause_turn"}:
        blocks = [block for block in blocks if not isinstance(block, CallBlock)]
    calls = any(isinstance(block, CallBlock) for block in blocks)
    return Answer(
        blocks=tuple(blocks),
        stop=stop or ("calls" if calls else "end_turn"),
        usage=Usage(input_tokens=40 * len(request.messages), output_tokens=10),
    )


def _with_own_ids(blocks: Sequence[SaidBlock]) -> list[SaidBlock]:
    """One answer never has two calls with one id: a provider that says so is refused before this."""
    seen: set[str] = set()
    kept: list[SaidBlock] = []
    for block in blocks:
        if isinstance(block, CallBlock) and block.call_id:
            if block.call_id in seen:
                continue
            seen.add(block.call_id)
        kept.append(block)
    return kept


def wrong(messages: Sequence[Message]) -> list[str]:
    """Say what of a request no provider would take: every call is answered once, in the next message."""
    problems = []
    if not messages or messages[0].role != "user":
        problems.append("a request does not begin with the person")
    for place, message in enumerate(messages):
        results = [block.call_id for block in message.blocks if isinstance(block, ResultBlock)]
        made = [block.call_id for block in messages[place - 1].calls] if place else []
        if results != made:
            problems.append(f"message {place} of a request answers {results}, asked was {made}")
    if messages and messages[-1].calls:
        problems.append("a request ends with calls")
    return problems
