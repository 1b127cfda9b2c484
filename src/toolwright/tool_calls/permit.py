"""Step 3: may this call happen? Rules, decision hooks, the reviewer of the automatic mode, a person.

Deny rules come first and nothing overrules them. Whoever changes the input sends the call back to
validation and to the rules. What a person approves is remembered by its fingerprint.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.to_thread import run_sync

from toolwright.contracts.errors import EngineFault, NoUserChannel, ToolFailure
from toolwright.contracts.events import PermissionAnswered, PermissionDecided, PermissionRequested
from toolwright.contracts.hooks import HookVerdict
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Decision, Reason, RuleChange
from toolwright.contracts.tool import Failed, Outcome, Waiting
from toolwright.contracts.view import View
from toolwright.tool_calls import texts
from toolwright.tool_calls.live import LiveCall
from toolwright.tool_calls.observable import subject_of
from toolwright.tool_calls.order import Queue
from toolwright.tool_calls.outcomes import failed_by
from toolwright.tool_calls.parts import Parts
from toolwright.tool_calls.permissions.fingerprint import accepts, fingerprint
from toolwright.tool_calls.permissions.reviewing import Blocks, Review
from toolwright.tool_calls.permissions.subject import Policy, Subject

Ruling = Decision | Outcome | None
"""An allowing decision, the end of the call, or "still open"."""


class _Overtaken:
    """A question that needs no answer any more."""


_OVERTAKEN = _Overtaken()


class Permits:
    """Decides about calls, one at a time where a person is asked."""

    def __init__(
        self,
        parts: Parts,
        *,
        read_again: Callable[[LiveCall, Mapping[str, Any]], Awaitable[Failed | None]],
        draw: Callable[[LiveCall], View | None],
    ) -> None:
        """``read_again`` puts another input into a call and validates it, returning a failure."""
        self._parts = parts
        self._read_again = read_again
        self._draw = draw
        self._one_question = anyio.Lock()
        self._blocks = Blocks()
        self._tells_decisions = parts.tells(PermissionDecided)

    async def permit(self, live: LiveCall, queue: Queue) -> Outcome | None:
        """Return None when the call may happen, else what it ends in."""
        end: Outcome | None = await self._look(live)
        if end is None and self._parts.listens("PreToolUse"):
            end = self._refused_by_rule(live) or await self._decision_hooks(live)
        return end or self._ended(live, await self._ruling(live, queue))

    async def settle(
        self, live: LiveCall, queue: Queue, *, request: ApprovalRequest, answer: ApprovalAnswer
    ) -> Outcome | None:
        """Go on with a call that waited for this answer; like ``permit`` in what it returns."""
        end = await self._look(live) or self._refused_by_rule(live)
        if end is not None:
            return end
        ruling: Ruling = None
        if self._fingerprint(live) == request.fingerprint:
            decision = self._judged(live)
            if decision.behavior == "deny":
                return self._no(live, decision)
            ruling = await self._answered(live, queue, request=request, answer=answer, decision=decision)
        return self._ended(live, ruling or await self._ruling(live, queue))

    # --- rules ---

    async def _look(self, live: LiveCall) -> Failed | None:
        """Work out what the rules judge. Following paths looks at the disk, so it happens in a thread."""
        in_force = self._parts.in_force
        before, seen = live.subject, (live, in_force.policy, in_force.workspace)
        try:
            subject = await run_sync(subject_of, *seen) if live.traits.touches else subject_of(*seen)
        except ToolFailure as failure:
            return failed_by(failure)
        if before is not None:
            subject = replace(
                subject,
                hook=before.hook,
                hook_reason=before.hook_reason,
                hook_updated_input=before.hook_updated_input,
            )
        live.subject = subject
        return None

    def _refused_by_rule(self, live: LiveCall) -> Failed | None:
        decision = self._parts.judge.denied(self._parts.in_force.policy, _subject(live))
        return None if decision is None else self._no(live, decision)

    def _judged(self, live: LiveCall) -> Decision:
        return self._parts.judge.decide(self._parts.in_force.policy, _subject(live))

    def _no(self, live: LiveCall, decision: Decision) -> Failed:
        self._record(live, decision)
        return texts.denied(live.offered_name, decision)

    def _record(self, live: LiveCall, decision: Decision) -> None:
        live.approved_by = decision.reason.kind
        if self._tells_decisions:
            event = PermissionDecided(
                call_id=live.id, tool=live.spec.name, decision=decision, waited=live.waited
            )
            self._parts.emit(event)

    def _ended(self, live: LiveCall, ruling: Ruling) -> Outcome | None:
        if not isinstance(ruling, Decision):
            return ruling
        self._record(live, ruling)
        return None

    async def _ruling(self, live: LiveCall, queue: Queue) -> Ruling:
        """Judge until somebody has the last word; a changed policy or input starts over."""
        heard: Mapping[str, Any] | None = None
        while True:
            policy = self._parts.in_force.policy
            decision = self._judged(live)
            if decision.behavior == "allow":
                return decision
            if decision.behavior == "deny":
                return self._no(live, decision)
            ruling: Ruling = None
            if heard is not live.input:
                heard = live.input
                ruling = await self._by_reviewer(live, decision) or await self._by_hooks(live, decision)
            ruling = ruling or await self._by_person(live, queue, decision=decision, policy=policy)
            if ruling is not None:
                return ruling

    # --- hooks ---

    async def _decision_hooks(self, live: LiveCall) -> Outcome | None:
        verdict = await self._parts.hooked("PreToolUse", live)
        if verdict.decision == "deny":
            return self._blocked(live, verdict)
        if verdict.updated_input is not None and verdict.updated_input != live.input:
            end = await self._with_input(live, verdict.updated_input)
            if end is not None:
                return end
        live.subject = replace(
            _subject(live),
            hook="ask" if verdict.decision == "defer" else verdict.decision,
            hook_reason=verdict.reason,
            hook_updated_input=verdict.updated_input is not None,
        )
        return None

    def _blocked(self, live: LiveCall, verdict: HookVerdict) -> Failed:
        detail = f"{verdict.label}: {verdict.reason}" if verdict.reason else verdict.label
        self._record(live, Decision("deny", Reason("hook", detail)))
        return texts.blocked_by_hook(verdict.label, verdict.reason)

    async def _with_input(self, live: LiveCall, input: Mapping[str, Any]) -> Outcome | None:
        """Go back to step 1 with another input, and hear the deny rules about it."""
        failed = await self._read_again(live, input)
        live.subject = None
        return failed or await self._look(live) or self._refused_by_rule(live)

    async def _by_hooks(self, live: LiveCall, decision: Decision) -> Ruling:
        """``PermissionRequest`` handlers may answer in the person's place, but not what only a person may."""
        parts = self._parts
        if not parts.listens("PermissionRequest"):
            return None
        verdict = await parts.hooked(
            "PermissionRequest", live, permission_suggestions=list(decision.suggestions)
        )
        await self._apply(verdict.changes)
        if verdict.decision == "deny":
            if verdict.interrupt:
                live.stop = live.stop or verdict.reason or "A hook asked to stop."
            return self._blocked(live, verdict)
        if verdict.decision != "allow" or decision.forced:
            return None
        reason = Reason("hook", verdict.label)
        if verdict.updated_input is None or verdict.updated_input == live.input:
            return Decision("allow", reason)
        return await self._edited(live, verdict.updated_input, decision=decision, by=reason)

    # --- the reviewer of the automatic mode ---

    async def _by_reviewer(self, live: LiveCall, decision: Decision) -> Ruling:
        parts = self._parts
        if parts.reviewer is None or parts.in_force.policy.mode != "auto" or self._blocks.exhausted:
            return None
        review = await parts.reviewer.classify(parts.transcript(), _subject(live))
        if decision.forced and review.verdict != "block":
            return None
        if review.verdict != "allow":
            self._blocks = self._blocks.blocked()
            return await self._turned_down(live, review)
        self._blocks = self._blocks.approved()
        return Decision("allow", Reason("classifier", review.reason))

    async def _turned_down(self, live: LiveCall, review: Review) -> Failed:
        self._record(live, Decision("deny", Reason("classifier", review.reason)))
        verdict = await self._parts.hooked("PermissionDenied", live, reason=review.reason)
        said_no = review.verdict == "block"
        failed = texts.blocked_by_reviewer(review.reason) if said_no else texts.not_reviewable()
        return texts.with_line(failed, "You may try this call again.") if verdict.retry else failed

    # --- the person ---

    async def _by_person(self, live: LiveCall, queue: Queue, *, decision: Decision, policy: Policy) -> Ruling:
        in_force = self._parts.in_force
        held = await queue.before_asking(live) if in_force.policy is policy else None
        if held is not None or in_force.policy is not policy:
            return held or await self._look(live) or self._refused_by_rule(live)
        if not policy.can_ask:
            failed = texts.needs_nobody_there(live.offered_name, decision.reason)
            return self._unanswered(live, decision, failed)
        request = self._request(live, decision)
        try:
            answer = await self._ask(live, request)
        except NoUserChannel:
            failed = texts.needs_nobody_there(live.offered_name, decision.reason)
            return self._unanswered(live, decision, failed)
        except TimeoutError:
            failed = texts.nobody_answered(live.offered_name, self._parts.ask_timeout or 0)
            return self._unanswered(live, decision, failed)
        if isinstance(answer, _Overtaken):
            return await self._look(live) or self._refused_by_rule(live)
        if answer is None:
            return Waiting("permission", request)
        return await self._answered(live, queue, request=request, answer=answer, decision=decision)

    def _unanswered(self, live: LiveCall, decision: Decision, failed: Failed) -> Failed:
        """Refuse, and note what would have allowed it."""
        once = decision.one_time_only or live.traits.destructive
        offers = () if once else decision.suggestions
        self._record(live, Decision("deny", Reason("default", failed.message), suggestions=offers))
        return failed

    def _request(self, live: LiveCall, decision: Decision) -> ApprovalRequest:
        view = self._draw(live)
        once = decision.one_time_only or live.traits.destructive
        request = ApprovalRequest(
            request_id=new_id("req"),
            call_id=live.id,
            tool=live.spec.name,
            offered_name=live.offered_name,
            title=view.title if view is not None else live.offered_name,
            description=decision.reason.detail,
            input=live.input,
            fingerprint=self._fingerprint(live),
            reason=decision.reason,
            preview=view.use if view is not None else None,
            session_id=live.turn.session_id,
            agent_id=live.turn.agent_id,
            blocked_path=decision.blocked_path,
            suggestions=() if once else decision.suggestions,
            destructive=live.traits.destructive,
            one_time_only=once,
        )
        if self._parts.tells(PermissionRequested):
            self._parts.emit(PermissionRequested(call_id=live.id, tool=live.spec.name, request=request))
        return request

    def _fingerprint(self, live: LiveCall) -> str:
        return fingerprint(live.spec.name, live.spec.version, live.input)

    async def _ask(self, live: LiveCall, request: ApprovalRequest) -> ApprovalAnswer | _Overtaken | None:
        """Put one question; a policy that settles it in the meantime takes it back.

        May raise NoUserChannel, and TimeoutError when nobody answers in time.
        """
        answer: ApprovalAnswer | _Overtaken | None = _OVERTAKEN
        question = anyio.CancelScope()

        def look_again() -> None:
            if self._judged(live).behavior != "ask":
                question.cancel()

        started = self._parts.clock.monotonic()
        try:
            async with self._one_question:
                with (
                    anyio.fail_after(self._parts.ask_timeout),
                    self._parts.in_force.telling(look_again),
                    question,
                ):
                    answer = await self._parts.approver.ask(request)
        finally:
            live.waited += self._parts.clock.monotonic() - started
        return answer

    async def _answered(
        self,
        live: LiveCall,
        queue: Queue,
        *,
        request: ApprovalRequest,
        answer: ApprovalAnswer,
        decision: Decision,
    ) -> Ruling:
        if accepts(request, answer) is not None:
            return self._unanswered(live, decision, texts.answer_mismatch(live.offered_name))
        if self._parts.tells(PermissionAnswered):
            self._parts.emit(PermissionAnswered(call_id=live.id, tool=live.spec.name, answer=answer))
        await self._apply(answer.changes)
        if answer.behavior == "deny":
            return self._rejected(live, queue, answer)
        if answer.updated_input is not None and answer.updated_input != live.input:
            return await self._edited(live, answer.updated_input, decision=decision, by=Reason("user"))
        live.approved = request.fingerprint
        return Decision("allow", Reason("user"))

    def _rejected(self, live: LiveCall, queue: Queue, answer: ApprovalAnswer) -> Failed:
        self._record(live, Decision("deny", Reason("user", answer.message)))
        without_a_word = not answer.message and live.turn.depth == 0
        if answer.interrupt or without_a_word:
            live.stop = live.stop or "The user rejected a call."
        if without_a_word:
            queue.ask_no_more()
        return texts.rejected(answer.message)

    async def _edited(
        self, live: LiveCall, input: Mapping[str, Any], *, decision: Decision, by: Reason
    ) -> Ruling:
        """Accept an input that the one who answered wrote, unless it raises a question of its own."""
        end = await self._with_input(live, input)
        if end is not None:
            return end
        again = self._judged(live)
        if again.behavior == "deny":
            return self._no(live, again)
        if again.behavior == "ask" and again.forced and again.reason != decision.reason:
            return None
        live.approved = self._fingerprint(live)
        live.edited = by.kind == "user"
        return Decision("allow", by)

    async def _apply(self, changes: tuple[RuleChange, ...]) -> None:
        parts = self._parts
        if changes and parts.apply_changes is not None:
            parts.in_force.change(await parts.apply_changes(parts.in_force.policy, changes))


def _subject(live: LiveCall) -> Subject:
    if live.subject is None:
        raise EngineFault(f"call {live.id} was judged before it was looked at")
    return live.subject
