"""Shows a session: to ``toolwright run`` while it works, to ``toolwright sessions`` as it stands."""

import sys
import time
from collections.abc import Mapping
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TextIO

from toolwright.contracts.events import Record
from toolwright.contracts.tool import Failed
from toolwright.contracts.view import Node, Stack, Text
from toolwright.surfaces.cli.showing import options_for
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.surfaces.rendering.records import record_line
from toolwright.surfaces.rendering.safety import EVERYDAY
from toolwright.surfaces.rendering.session_items import activity, drawn, going_on, set_apart, waited
from toolwright.surfaces.rendering.transcript import CallOver, Item, Spoken, Transcript, Words

if TYPE_CHECKING:
    from rich.console import Console

    from toolwright.surfaces.rendering.terminal import LiveArea

Form = Literal["terminal", "plain", "json"]


class RunScreen:
    """Draws a session while it works. On a terminal, what goes on stands live below what is over.

    Words of the model go to standard output and all else to standard error, so that a pipe gets an answer.
    With ``whole`` everything goes to standard output, also what was said to the session: a transcript.
    ``numbers`` adds to each part the number of the entry it comes from.
    """

    def __init__(
        self,
        form: Form,
        environ: Mapping[str, str],
        *,
        details: Verbosity,
        screen_reader: bool = False,
        whole: bool = False,
        numbers: bool = False,
    ) -> None:
        self._form = form
        self._environ = environ
        self._details = details
        self._screen_reader = screen_reader
        self._whole = whole
        self._numbers = numbers
        self._transcript = Transcript()
        self._before: dict[TextIO, Item] = {}
        self._refused: list[CallOver] = []
        self._main = sys.stdout if whole else sys.stderr
        self._live = self._live_area() if form == "terminal" and self._main.isatty() else None

    @property
    def transcript(self) -> Transcript:
        """All that was shown so far."""
        return self._transcript

    @cached_property
    def err(self) -> "Console":
        """Where questions and live things are drawn."""
        return self._console(sys.stderr)

    @cached_property
    def _out(self) -> "Console":
        return self._console(sys.stdout)

    def _console_of(self, stream: TextIO) -> "Console":
        return self._out if self._whole or stream is sys.stdout else self.err

    def _console(self, stream: TextIO) -> "Console":
        from toolwright.surfaces.rendering.terminal import console_for

        return console_for(stream, self._environ)

    def _live_area(self) -> "LiveArea":
        from toolwright.surfaces.rendering.terminal import LiveArea

        return LiveArea(self._console_of(self._main), screen_reader=self._screen_reader)

    # --- the live area ---

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
        """Draw the live area anew: spinners turn, and seconds go by."""
        if self._live is None:
            return
        now, doing = time.time(), activity(self._transcript)
        running = [call for call in self._transcript.calls.values() if call.phase == "running"]
        if self._transcript.interrupting:
            doing = f"{doing}; Ctrl-C again leaves at once"
        elif len(running) == 1 and not self._screen_reader:
            doing = "Working"  # what the call does stands on its card
        if doing and not self._screen_reader and (so_long := waited(self._transcript, now)):
            doing = f"{doing} · {so_long}"
        self._live.show(doing, going_on(self._transcript, now))
        self._live.tick()

    # --- what happens ---

    def show(self, record: Record) -> None:
        """Show one record of the session."""
        if self._form == "json":
            self.line(record_line(record))
        for item in self._transcript.apply(record):
            if isinstance(item, CallOver) and _needed_approval(item):
                self._refused.append(item)
            if self._form != "json":
                self._draw(item, record.seq)

    def pass_over(self, record: Record) -> None:
        """Take note of a record without showing it."""
        self._transcript.apply(record)

    def show_open(self) -> None:
        """Show what is not over, as it stands."""
        node = going_on(self._transcript, time.time(), spinning=False)
        if node is not None:
            self._draw_node(node, self._main)

    def line(self, line: bytes) -> None:
        """Print one line for a program."""
        sys.stdout.write(line.decode() + "\n")
        sys.stdout.flush()

    def notice(self, text: str) -> None:
        """Tell the person something that is no event of the session."""
        print(f"note: {EVERYDAY.text(text)}", file=sys.stderr, flush=True)

    def head(self, line: str) -> None:
        """Print a line above a transcript."""
        self._print(line, self._main)

    def say(self, text: str) -> None:
        """Print words of our own on standard error, without a line end."""
        print(text, end="", file=sys.stderr, flush=True)

    def ways_on(self) -> list[str]:
        """What a person can do about calls that needed approval where nobody could be asked."""
        ways = [_way(item) for item in self._refused]
        return list(dict.fromkeys(ways))

    def _draw(self, item: Item, seq: int | None) -> None:
        if isinstance(item, Spoken) and item.source == "user" and not self._whole:
            return  # the person has just typed it
        stream = self._stream_of(item)
        before = self._before.get(stream)
        self._before[stream] = item
        if set_apart(before, item):
            self._print("", stream)
        node = drawn(item, self._details)
        if self._numbers:
            node = Stack((Text(f"#{seq}", "dim"), node))
        self._draw_node(node, stream)

    def _stream_of(self, item: Item) -> TextIO:
        apart = isinstance(item, Words) and not self._whole and not self._both_are_terminals()
        return sys.stdout if apart else self._main

    def _draw_node(self, node: Node, stream: TextIO) -> None:
        if self._form == "plain" or not stream.isatty():
            self._print(render_plain(node), stream)
            return
        from toolwright.surfaces.rendering.terminal import render_terminal

        render_terminal(node, self._console_of(stream), screen_reader=self._screen_reader)

    def _print(self, text: str, stream: TextIO) -> None:
        if self._live is not None and stream is self._main:
            self._console_of(stream).print(text, soft_wrap=True)
        else:
            print(text, file=stream, flush=True)

    def _both_are_terminals(self) -> bool:
        return self._form == "terminal" and sys.stdout.isatty() and sys.stderr.isatty()


def _needed_approval(item: CallOver) -> bool:
    outcome = item.state.outcome
    return isinstance(outcome, Failed) and outcome.code == "approval_unavailable"


def _way(item: CallOver) -> str:
    options = [text for change in item.offers for text in options_for(change)]
    way = f"run it again with {' or '.join(options)}" if options else "allow it with --allow RULE"
    tool = item.state.offered_name
    return f"{tool} needed approval and nobody was there to ask: answer on a terminal, or {way}."
