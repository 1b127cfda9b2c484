"""Tells the sink what happens to a call, and lets the tool speak about it and draw it."""

import logging
from collections.abc import Callable
from typing import TypeVar

from toolwright.contracts.content import text_of
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    CallFinished,
    CallProgressed,
    CallStarted,
    CallViewed,
    InputComplete,
    ValidationFailed,
)
from toolwright.contracts.tool import CallState, Done, Failed, Outcome, Progress, Traits
from toolwright.contracts.view import Phase, View
from toolwright.tool_calls.live import LiveCall
from toolwright.tool_calls.observable import observed_input
from toolwright.tool_calls.parts import Parts
from toolwright.tool_calls.redaction import scrubbed
from toolwright.tool_calls.results import Bounded

log = logging.getLogger(__name__)
Said = TypeVar("Said")
About = TypeVar("About")
_TRAITS_IF_BROKEN = Traits(destructive=True)


class Telling:
    """The events and views of calls. Without a sink nothing is built."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._now = parts.clock.monotonic
        self._tells_input = parts.tells(InputComplete)
        self._tells_start = parts.tells(CallStarted)
        self._tells_end = parts.tells(CallFinished)
        self._tells_views = parts.tells(CallViewed)
        self._keeps_views = self._tells_views or parts.journal is not None
        self._complained: set[tuple[str, str]] = set()

    def opened(self, live: LiveCall) -> None:
        """The input was read and fits."""
        live.lap("tool.resolve", self._now)
        if self._tells_input:
            seen = observed_input(live, self._parts.in_force.workspace)
            self._parts.emit(
                InputComplete(call_id=live.id, tool=live.spec.name, input=seen, repairs=live.repairs)
            )
        if self._tells_views:
            self._draw(live, "queued")

    def invalid(self, live: LiveCall, failed: Failed) -> None:
        """The call ended in steps 0 to 2."""
        if not self._parts.tells(ValidationFailed):
            return
        self._parts.emit(
            ValidationFailed(call_id=live.id, tool=live.tool_name, code=failed.code, message=failed.message)
        )

    def started(self, live: LiveCall, idempotency_key: str) -> CallStarted | None:
        """The tool is about to be called. Returns the event, None when nobody wants to know."""
        parts = self._parts
        if not self._tells_start and parts.journal is None:
            return None
        self._draw(live, "running")
        event = CallStarted(
            call_id=live.id,
            tool=live.spec.name,
            idempotency_key=idempotency_key,
            repeatable=live.changes_nothing or live.spec.idempotent,
            view=live.view,
        )
        if self._tells_start:
            parts.emit(event)
        return event

    def progress_of(self, live: LiveCall) -> Callable[[Progress], None] | None:
        """Where news of a running call go; None when nobody listens."""
        if not self._parts.tells(CallProgressed):
            return None
        started, draws = self._now(), self._tells_views

        def tell(progress: Progress) -> None:
            elapsed = self._now() - started
            self._parts.emit(
                CallProgressed(call_id=live.id, tool=live.spec.name, progress=progress, elapsed=elapsed)
            )
            if draws:
                self._draw(live, "running", progress=progress)

        return tell

    def finished(self, live: LiveCall, outcome: Done | Failed, bounded: Bounded, duration: float) -> None:
        """The one result of the call is there."""
        failed = outcome if isinstance(outcome, Failed) else None
        if self._tells_end:
            self._parts.emit(
                CallFinished(
                    call_id=live.id,
                    tool=live.tool_name,
                    duration=duration,
                    code=failed.code if failed is not None else None,
                    chars=len(text_of(bounded.content)),
                    stored=bounded.stored.path if bounded.stored is not None else None,
                    waited_for_person=live.waited,
                    steps=live.laps or {},
                    attachments=outcome.attachments if isinstance(outcome, Done) else (),
                )
            )
        if self._keeps_views:
            self._draw(live, phase_of(failed), outcome=outcome, duration=duration)

    def question(self, live: LiveCall) -> View | None:
        """Draw a call for the person who is asked about it."""
        return self._draw(live, "waiting_permission")

    def _draw(
        self,
        live: LiveCall,
        phase: Phase,
        *,
        progress: Progress | None = None,
        outcome: Outcome | None = None,
        duration: float | None = None,
    ) -> View | None:
        """Let the tool draw its call; a tool that cannot is drawn by nobody."""
        found = live.found
        if found is None:
            return None
        state = CallState(
            call_id=live.id,
            tool=live.spec.name,
            offered_name=found.name,
            input=live.input,
            phase=phase,
            cwd=self._parts.in_force.policy.cwd,
            progress=progress,
            outcome=outcome,
            duration=duration,
            before=live.view,
        )
        view = self._said(live, "view", None, found.tool.view, state)
        if view is not None and self._keeps_views:
            redact = self._parts.redact
            live.view = view if redact is None else scrubbed(view, redact)
            if self._tells_views:
                self._parts.emit(CallViewed(call_id=live.id, tool=live.spec.name, view=live.view))
        return view

    def promised(self, live: LiveCall) -> Traits:
        """What the tool promises for this input; one that cannot say promises nothing."""
        return self._said(live, "traits", _TRAITS_IF_BROKEN, live.tool.traits, live.input)

    def _said(
        self, live: LiveCall, member: str, if_broken: Said, ask: Callable[[About], Said], about: About
    ) -> Said:
        """Ask a tool about a call; one that raises is taken for the careful answer."""
        try:
            return ask(about)
        except EngineFault:
            raise
        except Exception:
            if self.first_complaint(live, member):
                log.exception("%s of tool %s failed; the careful answer is taken", member, live.spec.name)
            return if_broken

    def first_complaint(self, live: LiveCall, member: str) -> bool:
        """Whether a broken member of a tool was not heard of before; it is logged once."""
        key = (live.spec.name, member)
        known = key in self._complained
        self._complained.add(key)
        return not known


def phase_of(failed: Failed | None) -> Phase:
    """Return the phase in which a call is over."""
    if failed is None:
        return "done"
    if failed.code in {"rejected_by_user", "permission_denied", "hook_blocked", "classifier_blocked"}:
        return "rejected"
    return "cancelled" if failed.code in {"interrupted", "not_started"} else "error"
