"""One call, from what the model wrote to what the model reads, in eight steps.

0. find the tool and count the call             ``open``
1. read the input, mend it, validate it         ``open``
2. ask the tool whether the input makes sense   ``_check``
3. permission                                   ``Permits.permit``
4. hooks that may still block                   ``_execute``
5. the tool itself                              ``_call``
6. hooks that look at what came out             ``_after``
7. make it fit                                  ``conclude``
8. one result                                   ``conclude``

Every unhappy way is an outcome and ends in step 7. Cancellation and ``EngineFault`` pass through.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toolwright.contracts.content import text_of
from toolwright.contracts.errors import DefinitionError, EngineFault, ToolFailure
from toolwright.contracts.events import CallFinished, LoopDetected
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.contracts.tool import (
    CallContext,
    CallResult,
    Done,
    Failed,
    Input,
    Objection,
    OfferedTool,
    Outcome,
    ToolCall,
    Waiting,
)
from toolwright.contracts.view import View
from toolwright.tool_calls import lookup, loop_guard, quotas, texts, validation
from toolwright.tool_calls.live import LiveCall, Turn
from toolwright.tool_calls.loading import dispatched, loaded
from toolwright.tool_calls.loop_guard import NO_STREAK, LoopLimits
from toolwright.tool_calls.observable import grants
from toolwright.tool_calls.order import ALONE, Order
from toolwright.tool_calls.outcomes import as_outcome, failed_by, with_facts
from toolwright.tool_calls.parts import Parts
from toolwright.tool_calls.permissions.fingerprint import fingerprint
from toolwright.tool_calls.permit import Permits
from toolwright.tool_calls.progress import ProgressFeed
from toolwright.tool_calls.quotas import UNLIMITED, UNUSED, Quotas
from toolwright.tool_calls.redaction import scrubbed
from toolwright.tool_calls.results import Bounded
from toolwright.tool_calls.telling import Telling
from toolwright.tool_calls.timers import Timers

log = logging.getLogger(__name__)
LONGEST_CALL = 600.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A question about a call, and a person's answer to it."""

    request: ApprovalRequest
    answer: ApprovalAnswer


class Pipeline:
    """The steps of a call for one session."""

    def __init__(
        self,
        parts: Parts,
        *,
        quotas: Quotas = UNLIMITED,
        loop_limits: LoopLimits | None = None,
        validators: validation.Validators | None = None,
        longest_call: float = LONGEST_CALL,
    ) -> None:
        self.parts = parts
        self.usage = UNUSED
        self._quotas = quotas
        self._limits = loop_limits or LoopLimits()
        self._streak = NO_STREAK
        self._validators = validators or validation.Validators()
        self._longest_call = longest_call
        self._tell = Telling(parts)
        self._now = parts.clock.monotonic
        self._permits = Permits(parts, read_again=self._read_again, draw=self._tell.question)
        self._keeps_laps = parts.tells(CallFinished)
        self._timers = Timers()
        self._live: dict[LiveCall, None] = {}

    def limit_calls(self, limits: Quotas) -> None:
        """Take other limits for the calls from now on."""
        self._quotas = UNLIMITED if limits == UNLIMITED else limits

    # --- the whole way ------------------------------------------------------------------------

    async def run_call(self, call: ToolCall, turn: Turn) -> CallResult:
        """Run one call through all steps and return its one result. May raise EngineFault."""
        live = self.open(call, turn)
        return await self.conclude(live, await self.carry_out(live))

    async def carry_out(
        self, live: LiveCall, order: Order = ALONE, *, answered: Answered | None = None
    ) -> Outcome:
        """Take an opened call through steps 2 to 5; it can be interrupted at any point.

        ``answered`` says that the call ended in ``Waiting`` before and a person has answered since.
        """
        outcome: Outcome | None = None
        try:
            with live.scope:
                outcome = await self._steps(live, order, answered)
        finally:
            self._live.pop(live, None)
        if outcome is None:
            outcome = live.stopped
        if outcome is None:
            raise EngineFault(f"call {live.id} ended without an outcome")
        return outcome

    async def _steps(self, live: LiveCall, order: Order, answered: Answered | None) -> Outcome:
        return (
            await order.reach(live)
            or await self._check(live)
            or await self._permit(live, order, answered)
            or await self._execute(live, order)
        )

    async def resume(self, request: ApprovalRequest, answer: ApprovalAnswer, turn: Turn) -> CallResult:
        """Go on with a call that ended in ``Waiting`` now that a person has answered.

        The call is found, validated and judged anew. The answer counts only for what was asked; when the
        input or the tool is not any more what was asked about, a new question is put.
        """
        live = self.open(asked_about(request), turn, counted=True)
        return await self.conclude(live, await self.carry_out(live, answered=Answered(request, answer)))

    def taken_over(self, live: LiveCall) -> None:
        """The client has done the work of an opened call; what is left is its result."""
        self.let_go(live)
        live.began = live.failure is None

    def let_go(self, live: LiveCall) -> None:
        """Count an opened call no more among those in flight."""
        self._live.pop(live, None)

    def take_back(self, live: LiveCall) -> None:
        """Forget an opened call of an answer that never came to be. Safe to repeat."""
        self.let_go(live)
        self.uncount(live)

    def uncount(self, live: LiveCall) -> None:
        """Take a call that may never be made out of the account of the run. Safe to repeat."""
        if live.counted:
            live.counted = False
            self.usage = quotas.without_call(self.usage, live.spec.name)

    def count(self, live: LiveCall) -> Failed | None:
        """Put a call into the account of the run, or say which limit is reached."""
        if self._quotas is UNLIMITED or live.found is None:
            return None
        usage = quotas.with_call(self._quotas, self.usage, live.spec.name)
        if isinstance(usage, Failed):
            return usage
        self.usage, live.counted = usage, True
        return None

    def interrupt(self, why: str = "Interrupted by the user") -> None:
        """Stop every call in flight: running ones as their tools declare, waiting ones at once."""
        for live in tuple(self._live):
            live.interrupt(why)

    def open_all(self, calls: Sequence[ToolCall], turn: Turn) -> list[LiveCall]:
        """Open the calls of one message as one more round. Of calls with one id only the first may run."""
        counted = UNUSED if self._quotas is UNLIMITED else quotas.with_round(self._quotas, self.usage)
        if isinstance(counted, quotas.Usage) and counted is not UNUSED:
            self.usage = counted
        seen: set[str] = set()
        lives = []
        for call in calls:
            refused = counted if isinstance(counted, Failed) else None
            if call.id in seen:
                refused = texts.duplicate_call_id(call.id)
            seen.add(call.id)
            lives.append(self.open(call, turn, refused=refused))
        return lives

    # --- steps 0 and 1: find, count, read, validate -------------------------------------------

    def open(
        self, call: ToolCall, turn: Turn, *, refused: Failed | None = None, counted: bool = False
    ) -> LiveCall:
        """Find the tool of a call and read its input. What is wrong is the ``failure`` of the call.

        ``refused`` says that the call may not run in any case, ``counted`` that it was counted before.
        """
        live = LiveCall(call, turn, started_at=self._now())
        if self._keeps_laps:
            live.laps = {}
        live.failure = refused or self._find(live, counted=counted) or self._read(live, live.given)
        self._live[live] = None
        if live.failure is None:
            live.traits = self._tell.promised(live)
            self._tell.opened(live)
        else:
            self._tell.invalid(live, live.failure)
        return live

    def _find(self, live: LiveCall, *, counted: bool) -> Failed | None:
        offered, loads = live.turn.offered, self.parts.load is not None
        found = lookup.found(offered, live.written.name, loads=loads)
        if isinstance(found, OfferedTool) and found.tool.spec.dispatches:
            live.found, live.spec = found, found.tool.spec  # whose failure it is, if it names no other
            meant = dispatched(offered, found, live.given, self._validators, loads=loads)
            found = meant if isinstance(meant, Failed) else meant.tool
            live.given = live.given if isinstance(meant, Failed) else meant.input
        if isinstance(found, Failed):
            return found
        live.found, live.spec = found, found.tool.spec
        return None if counted else self.count(live)

    def _read(self, live: LiveCall, raw: str | Input) -> Failed | None:
        try:
            validator = self._validators.of(live.spec)
        except DefinitionError as error:
            return texts.unusable_schema(live.offered_name, str(error))
        valid = validation.read_input(raw, live.spec, validator)
        if live.found is not None and not live.found.loaded:
            valid = loaded(live.found, valid, self.parts.load)
        if isinstance(valid, Failed):
            return valid
        live.input, live.repairs = valid.input, valid.repairs
        live.unrepaired = valid.unrepaired
        if live.spec.polling:
            return None
        return loop_guard.refusal(self._streak, self._limits, tool=live.spec.name, input=live.input)

    async def _read_again(self, live: LiveCall, raw: Mapping[str, Any]) -> Failed | None:
        """Steps 1 and 2 once more, for an input that a hook or a person wrote."""
        failed = self._read(live, dict(raw))
        if failed is not None:
            return failed
        live.view = None
        before, live.traits = live.traits, self._tell.promised(live)
        live.shifted = live.shifted or live.traits != before
        self._tell.opened(live)
        return await self._check(live)

    # --- step 2: does it make sense? ----------------------------------------------------------

    async def _check(self, live: LiveCall) -> Failed | None:
        live.lap("tool.validate", self._now)
        live.context = self._context(live)
        try:
            objection = await live.tool.check(live.input, live.context)
        except ToolFailure as failure:
            return self._invalid(live, failed_by(failure))
        except EngineFault:
            raise
        except Exception:
            if self._tell.first_complaint(live, "check"):
                log.exception("check of tool %s failed; a person is asked", live.spec.name)
            objection = _CHECK_IF_BROKEN
        live.objection = objection
        if objection is None or objection.verdict != "invalid":
            return None
        return self._invalid(live, Failed(objection.code, objection.message, hint=objection.hint))

    def _invalid(self, live: LiveCall, failed: Failed) -> Failed:
        live.failure = failed
        self._tell.invalid(live, failed)
        return failed

    # --- step 3: may it happen? ---------------------------------------------------------------

    async def _permit(self, live: LiveCall, order: Order, answered: Answered | None) -> Outcome | None:
        try:
            if answered is None:
                return await self._permits.permit(live, order)
            return await self._permits.settle(live, order, request=answered.request, answer=answered.answer)
        finally:
            order.permitted(live)
            live.lap("tool.permission", self._now, without=live.waited)

    # --- steps 4 and 5: the last word of hooks, the work --------------------------------------

    async def _execute(self, live: LiveCall, order: Order) -> Outcome:
        held = await order.reconsider(live) if live.shifted else None
        if held is not None:
            return held
        async with order.slot():
            refusal = await order.admitted(live) or self._changed_since_approval(live)
            if refusal is not None:
                return refusal
            if self.parts.listens("PreToolExecute"):
                verdict = await self.parts.hooked("PreToolExecute", live, approved_by=live.approved_by)
                if verdict.decision == "deny":
                    return texts.blocked_by_hook(verdict.label, verdict.reason)
            live.lap("tool.hooks.pre", self._now)
            return await self._call(live)

    def _changed_since_approval(self, live: LiveCall) -> Failed | None:
        if live.approved is None or live.approved == fingerprint(
            live.spec.name, live.spec.version, live.input
        ):
            return None
        return texts.changed_since_approval(live.offered_name)

    async def _call(self, live: LiveCall) -> Outcome:
        loop = asyncio.get_running_loop()
        context = self._granted(live)
        await self._announced(live, context.idempotency_key)
        live.feed = ProgressFeed(self._tell.progress_of(live), loop=loop, timers=self._timers)
        seconds = min(live.spec.timeout or self._longest_call, self._longest_call)
        timer = self._timers.call_later(seconds, partial(live.expire, seconds))
        live.began = True
        try:
            outcome = as_outcome(await live.tool.call(live.input, context))
            return with_facts(outcome, {"user_modified": True}) if live.edited else outcome
        except ToolFailure as failure:
            return failed_by(failure)
        except EngineFault:
            raise
        except Exception as error:
            log.exception("tool %s failed in call %s", live.spec.name, live.id)
            return texts.crashed(error)
        finally:
            timer.cancel()
            live.feed.close()
            live.feed = None
            live.lap("tool.call", self._now)

    async def _announced(self, live: LiveCall, idempotency_key: str) -> None:
        """Say that the tool is about to be called, before it can do anything."""
        event = self._tell.started(live, idempotency_key)
        if self.parts.journal is not None and event is not None:
            await self.parts.journal.starting(event)

    def _context(self, live: LiveCall) -> CallContext:
        turn = live.turn
        return CallContext(
            workspace=self.parts.in_force.workspace,
            call_id=live.id,
            session_id=turn.session_id,
            turn_id=turn.turn_id,
            agent_id=turn.agent_id,
            depth=turn.depth,
            idempotency_key=f"{turn.session_id}/{turn.turn_id}/{live.id}",
            report=live.report,
            cancel=live.cancel,
        )

    def _granted(self, live: LiveCall) -> CallContext:
        """The context of the work: what was permitted outside the workspace can be reached in it."""
        context = live.context
        if context is None or context.workspace is not self.parts.in_force.workspace:
            context = self._context(live)
        if live.approved is not None:
            context = replace(context, workspace=self.parts.in_force.approved_workspace)
        if live.subject is None or not live.subject.paths:
            return context
        outside = grants(live.subject, context.workspace)
        return replace(context, workspace=context.workspace.granting(outside)) if outside else context

    # --- step 6: hooks afterwards -------------------------------------------------------------

    async def _after(self, live: LiveCall, outcome: Done | Failed) -> Done | Failed:
        if not live.began:
            if live.failure is not None:
                failure = live.failure
                await self.parts.hooked(
                    "ToolValidationFailed", live, code=failure.code, message=failure.message
                )
            return outcome
        took = round(1000 * (self._now() - live.started_at - live.waited))
        if isinstance(outcome, Failed):
            error = text_of(texts.error_text(outcome))
            was_stopped = live.stopped is not None
            await self.parts.hooked(
                "PostToolUseFailure", live, error=error, is_interrupt=was_stopped, duration_ms=took
            )
            return outcome
        if not self.parts.listens("PostToolUse"):
            return outcome
        said = outcome.data if outcome.data is not None else text_of(outcome.content)
        verdict = await self.parts.hooked("PostToolUse", live, tool_response=said, duration_ms=took)
        return (
            self._replaced(live, outcome, verdict.updated_output) if verdict.has_updated_output else outcome
        )

    def _replaced(self, live: LiveCall, done: Done, output: Any) -> Done:
        """Take over the output a hook wrote, unless the tool's own schema says it is none."""
        schema = live.spec.output_schema
        if schema is not None:
            problems = validation.InputValidator(schema).problems(output)
            if problems:
                live.notes.append("\n".join(("A hook's output was not used:", *problems)))
                return done
        content = output if isinstance(output, str) else texts.compact(output)
        return replace(done, content=content, data=output)

    # --- steps 7 and 8: make it fit, hand it over ---------------------------------------------

    async def conclude(self, live: LiveCall, outcome: Outcome) -> CallResult:
        """Turn what a call ended in into its one result."""
        live.context = None  # it leads back to the call: a circle that would wait for the garbage collector
        if isinstance(outcome, Waiting):
            return self._noted(self._unseen(live, outcome, Bounded("", None, spills=False)))
        ended = self._counted(live, await self._after(live, outcome))
        live.lap("tool.hooks.post", self._now)
        if self.parts.redact is not None:
            ended = scrubbed(ended, self.parts.redact)
        bounded = await self.parts.results.bounded(
            ended, live.spec, call_id=live.id, tool_name=live.offered_name
        )
        live.lap("tool.result", self._now)
        if bounded.stored is not None:
            ended = with_facts(ended, {"stored_path": bounded.stored.path})
        duration = self._now() - live.started_at - live.waited
        self._tell.finished(live, ended, bounded, duration)
        return self._noted(self._result(live, ended, bounded, duration=duration, view=live.view))

    async def ended(self, live: LiveCall, way: Awaitable[Outcome]) -> CallResult:
        """Return the one result of a call on its ``way``, also when something crashes that must not."""
        try:
            return await self.conclude(live, await way)
        except EngineFault:
            raise
        except Exception as crash:
            log.exception("call %s crashed", live.id)
            return self.synthetic(live, texts.crashed(crash))

    def _noted(self, result: CallResult) -> CallResult:
        if self.parts.journal is not None:
            self.parts.journal.concluded(result)
        return result

    def _counted(self, live: LiveCall, outcome: Done | Failed) -> Done | Failed:
        """Watch for a model that repeats one failing call."""
        if isinstance(outcome, Done):
            self._streak = NO_STREAK
            return outcome
        if live.spec.polling or outcome.code in {"limit_reached", "not_started", "interrupted"}:
            return outcome
        tool, made_with = live.spec.name, live.input if live.was_read else live.written.input
        self._streak = loop_guard.after_failure(self._streak, tool=tool, input=made_with, failed=outcome)
        line = loop_guard.warning(self._streak, self._limits)
        if not line:
            return outcome
        if self.parts.tells(LoopDetected):
            self.parts.emit(LoopDetected(call_id=live.id, tool=tool, times=self._streak.times))
        return texts.with_line(outcome, line)

    def synthetic(self, live: LiveCall, failed: Failed) -> CallResult:
        """The result of a call that the engine could not finish."""
        self._live.pop(live, None)
        bounded = Bounded(texts.error_text(failed), None, spills=False)
        return self._noted(self._unseen(live, replace(failed, synthetic=True), bounded))

    def _unseen(self, live: LiveCall, outcome: Outcome, bounded: Bounded) -> CallResult:
        """A result that the tool does not draw."""
        duration = self._now() - live.started_at - live.waited
        return self._result(live, outcome, bounded, duration=duration, view=None)

    def _result(
        self, live: LiveCall, outcome: Outcome, bounded: Bounded, *, duration: float, view: View | None
    ) -> CallResult:
        notes = outcome.notes if isinstance(outcome, Done) else ()
        return CallResult(
            call_id=live.id,
            tool=live.tool_name,
            offered_name=live.offered_name,
            outcome=outcome,
            content=bounded.content,
            stored=bounded.stored,
            spills=bounded.spills,
            notes=(*notes, *live.notes),
            stop=live.stop,
            view=view,
            duration=duration,
            waited_for_person=live.waited,
            input=None if live.failure is not None else live.input,
            traits=live.traits,
        )


def asked_about(request: ApprovalRequest) -> ToolCall:
    """Return the call that a question was about, with the input it was about."""
    return ToolCall(request.call_id, request.offered_name, request.input)


_CHECK_IF_BROKEN = Objection("ask", "The tool could not check this call itself.", firm=True)
