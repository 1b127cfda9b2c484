"""What a run of a session is built from. Wiring gives all of it; tests give fakes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol

import anyio

from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.contracts.events import LiveDelta, LoggedEvent, RunEndKind
from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.models import Effort, ModelProfile, ModelProvider, Preamble
from toolwright.contracts.ports import BlobStore, Clock
from toolwright.contracts.tool import Offered
from toolwright.contracts.values import value
from toolwright.tool_calls.batch import Batch, Scheduling
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.scopes import cancel_scope
from toolwright.turns.conversation import Conversation
from toolwright.turns.retrying import Retries


@value(frozen=True, slots=True)
class RunEnd:
    """Why a run is over, and what a person should know about it."""

    end: RunEndKind
    message: str = ""


REFUSED = RunEnd("refusal", "The model refused to go on.")


class Log(Protocol):
    """The log of a session, as its turns see it. ``record`` and ``durable`` may raise EngineFault."""

    @property
    def conversation(self) -> Conversation:
        """What was said up to the last recorded event."""
        ...

    def record(self, event: LoggedEvent) -> None:
        """Put an event behind all others; it is durable some time later."""
        ...

    async def durable(self) -> None:
        """Return once everything recorded up to now is durable."""
        ...

    async def acknowledged(self) -> None:
        """Return once everything that a client asked for is durable: nobody acts upon it before."""
        ...

    async def room(self) -> None:
        """Let others come to their turn; wait while too much of what was recorded is not durable yet."""
        ...

    def show(self, delta: LiveDelta) -> None:
        """Show words of an answer that is not complete yet. Must not raise."""
        ...


@value(frozen=True, slots=True)
class Model:
    """One model of one provider."""

    provider: ModelProvider
    name: str
    """As the provider knows it."""
    written: str
    """As it was asked for: ``provider/model``."""

    @property
    def profile(self) -> ModelProfile:
        return self.provider.profile(self.name)


ModelLookup = Callable[[str], Model]
"""Finds a model by what a person wrote. May raise SettingsError, saying what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """When and how a conversation is shortened."""

    auto: bool = True
    at: float = 0.8
    """Share of the model's window that may be full."""
    keep_messages: int = 6
    """So many of the last messages stay as they are, where calls and results allow it ..."""
    keep_tokens: int = 20_000
    """... unless they take more than about so many tokens."""


class Stopper:
    """Ends what a run is doing, at once and for one reason."""

    def __init__(self, interrupt_calls: Callable[[str], None]) -> None:
        self.end: RunEnd | None = None
        self.after_block: RunEnd | None = None
        """Ends the run once the calls of the present answer have their results."""
        self._interrupt_calls = interrupt_calls
        self._scopes: list[anyio.CancelScope] = []

    def stop(self, end: RunEnd) -> None:
        """Let the model be quiet and calls end. The first reason stays."""
        if self.end is not None:
            return
        self.end = end
        for scope in self._scopes:
            scope.cancel()
        self._interrupt_calls(end.message or "The run was stopped.")

    def stoppable(self) -> "_Stoppable":
        """A context to leave early when the run is stopped; ``end`` says whether it was."""
        return _Stoppable(self, self._scopes)


class _Stoppable:
    __slots__ = ("_scope", "_scopes", "_stopper")

    def __init__(self, stopper: Stopper, scopes: list[anyio.CancelScope]) -> None:
        self._stopper = stopper
        self._scopes = scopes
        self._scope = cancel_scope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._scopes.append(self._scope)
        if self._stopper.end is not None:
            self._scope.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._scopes.remove(self._scope)
        return self._scope.__exit__(kind, raised, trace)


def _nothing_refused() -> str:
    return ""


def _nothing_new() -> str:
    return ""


@dataclass(slots=True, kw_only=True)
class TurnParts:
    """The collaborators of the loop, for one session."""

    log: Log
    pipeline: Pipeline
    offered: Offered
    preamble: Preamble
    """Said to models; where it keeps definitions aside, only to those that can."""
    lookup: ModelLookup
    model: str
    """The model to ask unless the session chose another."""
    clock: Clock
    random: Callable[[], float]
    scheduling: Scheduling = field(default_factory=Scheduling)
    session_id: str = ""
    agent_id: str | None = None
    depth: int = 0
    effort: Effort = "off"
    max_tokens: int | None = None
    limits: RunLimits = NO_LIMITS
    over_budget: Callable[[], str] = _nothing_refused
    """Why nothing more may be used, for reasons beyond this session; empty when it may."""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    """What the prompt says of where the session began, for when it is opened again."""
    plain: Preamble | None = None
    """The same for models that keep nothing aside; None where ``preamble`` does for all."""
    renew: Callable[[], str] = _nothing_new
    """Puts what is offered now into ``offered`` and ``preamble``; why it is another, or nothing. Asked before
    every request, and only then: what a request offered is what its calls may reach."""
    retries: Retries = field(default_factory=Retries)
    fallback_model: str = ""
    compaction: Compaction = field(default_factory=Compaction)
    blobs: BlobStore | None = None
    """Keeps what a shortened conversation said, to be read back."""
    patience: float = 0.0
    """Seconds that a run waits for its client's results before it ends waiting."""
    news: anyio.Event = field(default_factory=anyio.Event)
    """Set when somebody answers while no call is at work."""
    servers: McpServers | None = None
    """Whose prompts a person can take."""
    stopper: Stopper = field(init=False)
    batch: Batch | None = None
    """The calls that are at work, for answers that come meanwhile."""

    def __post_init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Forget why an earlier run was stopped."""
        self.stopper = Stopper(self.pipeline.interrupt)

    def frame(self, turn_id: str) -> Turn:
        """What the calls of one answer share."""
        return Turn(
            offered=self.offered,
            session_id=self.session_id,
            turn_id=turn_id,
            agent_id=self.agent_id,
            depth=self.depth,
        )

    def preamble_for(self, model: Model) -> Preamble:
        """What this model is told before all else."""
        return self.preamble if self.plain is None or model.profile.tool_search else self.plain

    def chosen_model(self) -> Model:
        """The model to ask now. May raise SettingsError."""
        return self.lookup(self.log.conversation.model or self.model)
