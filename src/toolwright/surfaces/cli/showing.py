"""What a person sees of calls: something while they run, and each call drawn when they are over."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

import orjson

from toolwright.contracts.content import text_of
from toolwright.contracts.events import CallViewed, Event, HookFinished, InputComplete, PermissionRequested
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import CallResult, CallState, Done, Failed, OfferedTool
from toolwright.contracts.view import Node, View
from toolwright.surfaces.rendering.call_view import Views
from toolwright.surfaces.rendering.calls import draw_call
from toolwright.surfaces.rendering.generic import generic_view
from toolwright.surfaces.rendering.machine import call_to_json
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.tool_calls.telling import phase_of
from toolwright.wiring import House

if TYPE_CHECKING:
    from rich.console import Console

    from toolwright.surfaces.rendering.terminal import LiveArea

Form = Literal["terminal", "plain", "json", "raw"]


class Screen:
    """Draws on the terminal a person sits at. Results go to standard output, all else to standard error."""

    def __init__(self, form: Form, environ: Mapping[str, str], *, screen_reader: bool = False) -> None:
        self._form = form
        self._screen_reader = screen_reader or form == "plain"
        self._environ = environ
        self._inputs: dict[str, Mapping[str, Any]] = {}
        self._offers: dict[str, tuple[RuleChange, ...]] = {}
        self._live = self._live_area() if form == "terminal" and self._is_terminal(sys.stderr) else None

    # What draws on a terminal is large, and only imported where there is one.

    @cached_property
    def err(self) -> "Console":
        """Where questions are drawn."""
        from toolwright.surfaces.rendering.terminal import console_for

        return console_for(sys.stderr, self._environ)

    def _live_area(self) -> "LiveArea":
        from toolwright.surfaces.rendering.terminal import LiveArea

        return LiveArea(self.err, screen_reader=self._screen_reader)

    def _is_terminal(self, stream: TextIO) -> bool:
        return stream.isatty() or bool(self._environ.get("FORCE_COLOR"))

    # --- while calls run ---

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pause()

    def pause(self) -> None:
        """Take the live area away, so that something else can be printed or typed."""
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def resume(self) -> None:
        """Bring the live area back."""
        if self._live is not None:
            self._live.__enter__()

    def tick(self) -> None:
        """Draw anew what goes on."""
        if self._live is not None:
            self._live.tick()

    def observe(self, event: Event) -> None:
        """Show what is going on."""
        if isinstance(event, HookFinished):
            for text in filter(None, (event.message, event.problem)):
                self.notice(f"hook {event.label}: {text}")
        elif isinstance(event, InputComplete):
            self._inputs[event.call_id] = event.input
        elif isinstance(event, PermissionRequested):
            self._offers[event.call_id] = event.request.suggestions
        elif isinstance(event, CallViewed) and self._live is not None and event.view.activity:
            self._live.show(event.view.activity, event.view.progress)

    def notice(self, text: str) -> None:
        """Tell the person something that is no result."""
        from toolwright.surfaces.rendering.safety import EVERYDAY

        print(f"note: {EVERYDAY.text(text)}", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Print words of our own on standard error, without a line end."""
        print(text, end="", file=sys.stderr, flush=True)

    # --- when they are over ---

    def show(self, house: House, results: tuple[CallResult, ...]) -> None:
        """Draw every call in the form that was asked for, and say how a refused one could be run."""
        views = Views()
        for result in results:
            found = house.offered.names.get(result.offered_name)
            state = self._state_of(house, result)
            if self._form == "raw":
                print(text_of(result.content))
                continue
            view = views.of(found.tool, state) if found is not None else generic_view(state)
            if self._form == "json":
                print(_json_line(_as_json(result, found, state, view)))
            else:
                self._draw(draw_call(view, state))
        for text in dict.fromkeys(way for result in results for way in self._ways_on(house, result)):
            self.notice(text)

    def _ways_on(self, house: House, result: CallResult) -> Iterator[str]:
        """What the person at the command line can do, which a model cannot."""
        code = result.outcome.code if isinstance(result.outcome, Failed) else None
        if code == "approval_unavailable":
            options = [
                text for change in self._offers.get(result.call_id, ()) for text in options_for(change)
            ]
            way = f"run it again with {' or '.join(options)}" if options else "add a rule with --allow"
            yield f"{result.offered_name} needs approval: answer on a terminal, or {way}."
        if code == "unknown_tool":
            for tool in house.left_out:
                if tool.name == result.offered_name:
                    yield f"{tool.name} is not offered here: {tool.reason}."

    def _state_of(self, house: House, result: CallResult) -> CallState:
        """What is known of a finished call. One that was turned away early has an input all the same."""
        return CallState(
            call_id=result.call_id,
            tool=result.tool,
            offered_name=result.offered_name,
            input=result.input or self._inputs.get(result.call_id, {}),
            phase=phase_of(result.outcome if isinstance(result.outcome, Failed) else None),
            cwd=house.in_force.policy.cwd,
            outcome=result.outcome,
            duration=result.duration,
        )

    def _draw(self, node: Node) -> None:
        if self._form == "plain" or not self._is_terminal(sys.stdout):
            print(render_plain(node))
            return
        from toolwright.surfaces.rendering.terminal import console_for, render_terminal

        render_terminal(node, console_for(sys.stdout, self._environ), screen_reader=self._screen_reader)


def options_for(change: RuleChange) -> Iterator[str]:
    """The options of this command that mean the same as a change of the permissions."""
    if change.kind == "addRules":
        yield from (f"--{change.behavior} {shlex.quote(rule)}" for rule in change.rules)
    if change.kind == "setMode":
        yield f"--mode {change.mode}"


def _json_line(value: dict[str, Any]) -> str:
    """One line of JSON, whatever a tool returned."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # Half a character or a number of any size: the slow writer escapes the one and spells the other.
        return json.dumps(value, default=str)


def _as_json(result: CallResult, found: OfferedTool | None, state: CallState, view: View) -> dict[str, Any]:
    outcome = result.outcome
    failed = outcome if isinstance(outcome, Failed) else None
    return {
        "id": result.call_id,
        "name": result.offered_name,
        "tool": result.tool,
        "ok": failed is None,
        "content": text_of(result.content),
        "data": outcome.data if isinstance(outcome, Done | Failed) else None,
        "error": None
        if failed is None
        else {
            "code": failed.code,
            "message": failed.message,
            "hint": failed.hint,
            "retryable": failed.retryable,
            "retry_after": failed.retry_after,
            "details": dict(failed.details),
        },
        "stored": None if result.stored is None else result.stored.path,
        "notes": list(result.notes),
        "duration_ms": round(result.duration * 1000, 1),
        "view": call_to_json(
            view, state, seq=1, spec=found.tool.spec if found else None, traits=result.traits
        ),
    }
