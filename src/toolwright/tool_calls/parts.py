"""What the steps of a call are built from. Wiring gives all of it; tests give fakes."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolwright.contracts.events import CallStarted, Event
from toolwright.contracts.hooks import NO_VERDICT, HookEvent, HookInput, HookVerdict
from toolwright.contracts.permissions import Decision, RuleChange
from toolwright.contracts.ports import Approver, Clock, EventSink
from toolwright.contracts.tool import CallResult, Done, Failed, ToolSpec
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import LiveCall
from toolwright.tool_calls.permissions.reviewing import Reviewer
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.redaction import Redact, scrubbed
from toolwright.tool_calls.results import Bounded


class HookRunner(Protocol):
    """The hooks of a session."""

    def has(self, event: HookEvent) -> bool: ...

    async def run(self, input: HookInput) -> HookVerdict:
        """Must not raise for a handler that fails."""
        ...


class ResultBounds(Protocol):
    """Makes what the model reads fit its limits. Must not raise for a store that fails."""

    async def bounded(
        self, outcome: Done | Failed, spec: ToolSpec, *, call_id: str, tool_name: str = ""
    ) -> Bounded: ...

    async def bounded_turn(self, results: Sequence[CallResult]) -> tuple[CallResult, ...]: ...


class Journal(Protocol):
    """Remembers calls beyond the life of this process. Every method may raise EngineFault."""

    async def starting(self, event: CallStarted) -> None:
        """Return once the tool may be called: a call that cannot be repeated waits until this is durable."""
        ...

    def concluded(self, result: CallResult) -> None:
        """The call has its result, or waits for somebody."""
        ...

    def discarded(self, call_id: str, tool: str) -> None:
        """A call that was started early belongs to an answer that never came to be."""
        ...


@dataclass(frozen=True, slots=True)
class Judge:
    """The rules of permission, as pure functions."""

    denied: Callable[[Policy, Subject], Decision | None]
    """The refusal of a deny rule, for when others are heard before the whole decision."""
    decide: Callable[[Policy, Subject], Decision]
    """The whole decision; deny rules come first in it too."""


ApplyChanges = Callable[[Policy, Sequence[RuleChange]], Awaitable[Policy]]
"""Makes the policy that results from changes a person chose, and saves those that shall last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The collaborators of a pipeline."""

    in_force: InForce
    judge: Judge
    results: ResultBounds
    approver: Approver
    clock: Clock
    hooks: HookRunner | None = None
    apply_changes: ApplyChanges | None = None
    sink: EventSink | None = None
    told: frozenset[type] | None = None
    """The kinds of events that the sink wants; None is all of them."""
    journal: Journal | None = None
    reviewer: Reviewer | None = None
    """Answers in place of a person in mode ``auto``."""
    transcript: Callable[[], Sequence[str]] = tuple
    """What the reviewer may know of the session."""
    load: Callable[[str], None] | None = None
    """Loads a tool that the model knew by name only and calls all the same; None refuses such calls."""
    redact: Redact | None = None
    ask_timeout: float | None = None
    """Seconds a person has to answer; None waits."""

    def tells(self, kind: type[Event]) -> bool:
        """Whether anybody wants events of a kind. Callers ask first, to build no event for nobody."""
        return self.sink is not None and (self.told is None or kind in self.told)

    def emit(self, event: Event) -> None:
        """Tell the sink, secrets removed."""
        if self.sink is not None:
            self.sink.observe(event if self.redact is None else scrubbed(event, self.redact))

    def listens(self, event: HookEvent) -> bool:
        """Whether any hook waits for this event."""
        return self.hooks is not None and self.hooks.has(event)

    async def hooked(self, event: HookEvent, live: LiveCall, **payload: Any) -> HookVerdict:
        """Ask the hooks of one event about a call."""
        if self.hooks is None or not self.listens(event):
            return NO_VERDICT
        policy = self.in_force.policy
        verdict = await self.hooks.run(
            HookInput(
                event=event,
                session_id=live.turn.session_id,
                cwd=policy.cwd,
                permission_mode=policy.mode,
                tool=live.tool_name,
                tool_names=(live.offered_name, live.tool_name, *live.spec.aliases),
                payload={
                    "tool_name": live.offered_name,
                    "tool_input": dict(live.subject.input if live.subject is not None else live.input),
                    "tool_use_id": live.id,
                    **payload,
                },
            )
        )
        live.notes.extend(verdict.contexts)
        if verdict.stop:
            live.halts = True
            live.stop = live.stop or verdict.stop_reason or "A hook asked to stop."
        return verdict
