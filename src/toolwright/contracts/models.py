"""Asking a model: the request, what comes back while it speaks, and the port behind which providers stand."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.messages import CallBlock, Message, SaidBlock
from toolwright.contracts.tool import Schema
from toolwright.contracts.values import value

Effort = Literal["off", "low", "medium", "high"]
StopReason = Literal[
    "end_turn", "calls", "max_tokens", "stop_sequence", "refusal", "pause_turn", "context_full"
]
"""Why a model stopped: it was done, wants calls, hit a limit, refused, or asks to be let go on."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it. ``name`` is the wire name."""

    name: str
    description: str
    input_schema: Schema
    strict: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Preamble:
    """The part of every request that stays the same, byte for byte, for one epoch of a session."""

    system: tuple[str, ...]
    """Parts of the system prompt in a stable order; the last ones change most easily."""
    tools: tuple[ToolDefinition, ...]
    fingerprint: str
    encoded: dict[str, bytes] = field(default_factory=dict, repr=False)
    """The preamble as a provider sends it, by the provider's dialect."""
    search: str = ""
    """The wire name of the tool that finds those kept aside. Empty where the provider keeps none: only one
    whose profile says ``tool_search`` is ever given a name here."""
    aside: Mapping[str, ToolDefinition] = field(default_factory=dict, repr=False)
    """By name, tools that the provider shows to the model once a result names them, and not before."""


@value(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model."""

    model: str
    preamble: Preamble
    messages: Sequence[Message]
    max_tokens: int
    effort: Effort = "off"
    """How much the model may think before it speaks."""
    tool_choice: Literal["auto", "none", "required"] = "auto"
    stop_sequences: tuple[str, ...] = ()
    session_id: str = ""


@value(frozen=True, kw_only=True)
class Usage:
    """Tokens of one answer or of many. Input tokens are those that no cache held."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        """How full the window was when the answer ended."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read_tokens=self.cache_read_tokens - other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens - other.cache_write_tokens,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Dollars for a million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    long_from: int = 0
    """A question of more tokens than this costs what ``long`` says; 0 when there is one price for all."""
    long: "Prices | None" = None

    def cost(self, usage: Usage) -> float:
        """Dollars for what one answer used."""
        asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long is not None and asked > self.long_from > 0:
            return self.long.cost(usage)
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What one model can do. Where it is not known the careful answer stands."""

    context_window: int = 200_000
    max_output: int = 32_000
    images: bool = True
    documents: bool = False
    native_tools: bool = True
    """Off for models that must be forced to write calls by a schema."""
    tool_search: bool = False
    """Definitions may be kept aside at the provider until the result of a search names them."""
    prices: Prices | None = None


# --- what comes back -------------------------------------------------------------------------


@value(frozen=True, slots=True)
class TextDelta:
    """More of the text that the model is writing."""

    text: str


@value(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@value(frozen=True, slots=True)
class CallDelta:
    """More of the input of a call that the model is writing; ``name`` and ``call_id`` are complete."""

    call_id: str
    name: str
    json: str


@value(frozen=True, slots=True)
class BlockDone:
    """A block is complete, though the answer is not: nothing of it counts before ``Answer`` comes."""

    block: SaidBlock


@value(frozen=True, slots=True, kw_only=True)
class Answer:
    """A complete answer, the last thing of a stream. Only this is ever recorded."""

    blocks: tuple[SaidBlock, ...]
    stop: StopReason
    usage: Usage = NO_USAGE
    model: str = ""
    answer_id: str = ""

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        return tuple([block for block in self.blocks if isinstance(block, CallBlock)])

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))


Delta = TextDelta | ThinkingDelta | CallDelta
ModelEvent = TextDelta | ThinkingDelta | CallDelta | BlockDone | Answer

FaultCode = Literal[
    "connection",  # nobody there, or the line broke before an answer began
    "cut",  # the stream ended before the answer did
    "stalled",  # nothing came for too long
    "garbage",  # what came is not what the protocol says (HTML with 200, broken frames, two equal ids)
    "timeout",  # the whole answer took too long
    "overloaded",  # 529, or 503 from a busy server
    "rate_limited",  # 429
    "server_error",  # other 5xx, and error events in mid-stream
    "bad_request",  # 400, 405, 409, 422
    "unauthorized",  # 401, 403
    "not_found",  # 404: no such model or address
    "too_large",  # 413, or the conversation does not fit the window
    "billing",  # 402, or the provider says the account has no credit
    "script_ended",  # a scripted or recorded model has nothing more to say
]
_HEALING: frozenset[FaultCode] = frozenset({
    "connection", "cut", "stalled", "garbage", "timeout", "overloaded", "rate_limited", "server_error",
})  # fmt: skip


class ModelFault(ToolwrightError):
    """A model could not be asked, or did not answer completely."""

    def __init__(
        self,
        code: FaultCode,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code: FaultCode = code
        self.message = message
        self.status = status
        self.retry_after = retry_after
        """Seconds the provider asked to wait."""
        self.request_id = request_id

    @property
    def may_heal(self) -> bool:
        """Whether asking again may help."""
        return self.code in _HEALING


class ModelProvider(Protocol):
    """Speaks one provider's protocol."""

    @property
    def name(self) -> str:
        """The word before the slash in ``provider/model``."""
        ...

    def profile(self, model: str) -> ModelProfile:
        """What is known of a model, without asking anybody."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Ask once, without repeating; leaving the context ends the connection.

        The iterator gives deltas and finished blocks as they come and ends with exactly one ``Answer``. What
        is not a complete, strictly parsed answer raises ModelFault instead, from entering on, and gives no
        ``Answer``. The ids of the calls of an answer differ from each other. Safe to cancel.
        """
        ...

    async def close(self) -> None:
        """Let go of connections. Safe to repeat."""
        ...
