"""The calls of one message as a whole: how they may run, how they stand, and what goes back of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.call_events import BatchFinished
from toolwright.contracts.hooks import NO_VERDICT, HookInput, HookVerdict
from toolwright.contracts.tool import CallResult, Done, Failed, Waiting
from toolwright.contracts.values import value
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.parts import Parts
from toolwright.tool_calls.pipeline import Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """How calls of one message may run together."""

    mode: Literal["partitioned", "all"] = "partitioned"
    """``all`` runs everything side by side, whatever it touches."""
    max_concurrency: int = 10
    sibling_policy: Literal["independent", "abort_on_shell_error"] = "independent"


Standing = CallResult | Answered | Done | Failed
"""How a call stands already: it is over or still waits, a person answered, or the client did its work."""


@value(frozen=True, slots=True)
class BatchResult:
    """What goes back to the model: the results in the order of the calls, then the notes."""

    results: tuple[CallResult, ...]
    notes: tuple[str, ...] = ()
    stop: str | None = None
    """Why the run shall end after this batch, if it shall."""

    @property
    def waiting(self) -> tuple[CallResult, ...]:
        """The calls that wait for a person or for the client."""
        return tuple([result for result in self.results if isinstance(result.outcome, Waiting)])


async def handed_over(
    parts: Parts, turn: Turn, results: Sequence[CallResult], *, most: int, started: float
) -> BatchResult:
    """Fit the results into the budget of the turn, and let hooks and the sink know of them.

    ``most`` calls ran side by side, the first since ``started``.
    """
    complete = not any(isinstance(result.outcome, Waiting) for result in results)
    fitted = await parts.results.bounded_turn(results) if complete else tuple(results)
    hooked = complete and parts.listens("PostToolBatch")
    verdict = await _last_hooks(parts, turn, fitted) if hooked else NO_VERDICT
    if parts.tells(BatchFinished):
        wall = parts.clock.monotonic() - started
        work = sum(result.duration for result in fitted)
        parts.emit(BatchFinished(calls=len(fitted), parallel_most=most, wall=wall, work=work))
    stops = [result.stop for result in fitted if result.stop is not None]
    if verdict.stop:
        stops.append(verdict.stop_reason or "A hook asked to stop.")
    notes = [note for result in fitted for note in result.notes]
    return BatchResult(fitted, (*notes, *verdict.contexts), stops[0] if stops else None)


async def _last_hooks(parts: Parts, turn: Turn, results: Sequence[CallResult]) -> HookVerdict:
    if parts.hooks is None:
        return NO_VERDICT
    policy = parts.in_force.policy
    told = [
        {
            "tool_name": result.offered_name,
            "tool_input": dict(result.input or {}),
            "tool_use_id": result.call_id,
            "tool_response": result.content,
        }
        for result in results
    ]
    return await parts.hooks.run(
        HookInput(
            event="PostToolBatch",
            session_id=turn.session_id,
            cwd=policy.cwd,
            permission_mode=policy.mode,
            payload={"tool_calls": told},
        )
    )
