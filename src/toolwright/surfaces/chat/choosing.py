"""Choosing one row of a list at a terminal, before there is a conversation."""

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput

from toolwright.surfaces.chat import view
from toolwright.surfaces.chat.keys import Lists, list_keys
from toolwright.surfaces.chat.painter import Painter
from toolwright.surfaces.chat.picking import Picker, Row
from toolwright.surfaces.chat.terminal_output import TerminalOutput


class _Choosing(Lists):
    def __init__(self, picker: Picker, painter: Painter, *, input: Input, output: TerminalOutput) -> None:
        self._picker = picker
        self._painter = painter
        self._output = output
        typed = Buffer(multiline=False, on_text_changed=lambda buffer: self._narrow(buffer.text))
        keys = KeyBindings()
        list_keys(keys, self)
        for key in ("escape", "c-c", "c-d", "<sigint>"):
            keys.add(key)(lambda event: event.app.exit())
        rows = Window(FormattedTextControl(self._rows), dont_extend_height=True)
        line = Window(BufferControl(typed, input_processors=[BeforeInput(view.FIND)]), height=1)
        self.app: Application[Row | None] = Application(
            Layout(HSplit([rows, line]), focused_element=line),
            key_bindings=keys,
            erase_when_done=True,
            input=input,
            output=output,
        )
        self.app.ttimeoutlen, self.app.timeoutlen = 0.05, 0.25

    def _rows(self) -> ANSI:
        size = self._output.get_size()
        node = view.picker(self._picker, width=size.columns, height=size.rows - 1)
        return ANSI(self._painter.text(node, size.columns).rstrip("\n"))

    def _narrow(self, typed: str) -> None:
        self._picker = self._picker.narrowed(typed)

    def move(self, step: int) -> None:
        self._picker = self._picker.moved(step)

    def choose(self) -> None:
        if self._picker.chosen is not None:
            self.app.exit(result=self._picker.chosen)


async def chosen_row(picker: Picker, painter: Painter, *, input: Input, output: TerminalOutput) -> Row | None:
    """Return the row that a person chooses; None for somebody who leaves."""
    return await _Choosing(picker, painter, input=input, output=output).app.run_async()
