"""The end of the terminal: what goes on, the place to type, a last line. All else is printed above it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    ScrollOffsets,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import AfterInput, ConditionalProcessor
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from toolwright.surfaces.chat.fitting import joined
from toolwright.surfaces.chat.state import At
from toolwright.surfaces.chat.terminal_output import TerminalOutput
from toolwright.surfaces.chat.view import FIND, INSTEAD

_PLACEHOLDER = ("Say what to do", "/ for commands", "@ for files")
_MOST_COMPLETIONS = 8
_LEAST_LIVE = 2
_STYLE = Style.from_dict({
    "prompt": "ansicyan bold",
    "placeholder": "dim",
    "completion-menu": "noinherit",
    "completion-menu.completion": "noinherit",
    "completion-menu.completion.current": "noinherit reverse",
    "completion-menu.meta.completion": "noinherit dim",
    "completion-menu.meta.completion.current": "noinherit reverse",
    "search-toolbar": "dim",
})  # fmt: skip


class Shown(Protocol):
    """What the screen shows, asked for whenever it is drawn. Texts may have colours."""

    @property
    def at(self) -> At:
        """Where keys go."""
        ...

    def live(self, width: int, height: int) -> str:
        """What goes on, in at most ``height`` lines."""
        ...

    def choices(self, width: int, height: int) -> str:
        """What can be chosen right now: answers to a question, rows of a list."""
        ...

    def status(self, width: int) -> str:
        """The last line."""
        ...

    def resized(self) -> None:
        """The terminal has another width now; lines above may be broken."""
        ...


class ChatScreen:
    """The terminal of a conversation."""

    def __init__(
        self,
        shown: Shown,
        *,
        input: Input,
        output: TerminalOutput,
        keys: KeyBindingsBase,
        history: History,
        completer: Completer,
        typed: Callable[[str], None],
    ) -> None:
        """``typed`` is told what stands in the second place to type: a reason, or what is searched for."""
        self._shown = shown
        self._output = output
        self.draft = Buffer(
            multiline=True,
            history=history,
            completer=completer,
            complete_while_typing=True,
            tempfile_suffix=".md",
        )
        self.reply = Buffer(multiline=False, on_text_changed=lambda buffer: typed(buffer.text))
        self._searching = SearchToolbar(text_if_not_searching="")
        self._draft_window = self._typing_window(self.draft, lambda: "> ")
        self._reply_window = self._typing_window(self.reply, self._reply_sign)
        menu = FormattedTextControl(lambda: ANSI(self._choices_text), focusable=True, show_cursor=False)
        self._menu_window = Window(menu, dont_extend_height=True, always_hide_cursor=True)
        self._width = output.get_size().columns
        self._live_text = self._choices_text = self._status_text = ""
        self.app: Application[None] = Application(
            Layout(self._root(), focused_element=self._draft_window),
            key_bindings=keys,
            style=_STYLE,
            include_default_pygments_style=False,
            erase_when_done=True,
            input=input,
            output=output,
            before_render=lambda _: self._prepare(),
        )
        self.app.ttimeoutlen, self.app.timeoutlen = 0.05, 0.25

    # --- what it looks like ---------------------------------------------------------------------

    def _root(self) -> HSplit:
        chooses = Condition(lambda: self._shown.at != "draft")
        replies = Condition(lambda: self._shown.at in {"reason", "picker"})
        drafts = Condition(lambda: self._shown.at == "draft" or bool(self.draft.text))
        return HSplit(
            [
                ConditionalContainer(
                    Window(
                        FormattedTextControl(lambda: ANSI(self._live_text)),
                        dont_extend_height=True,
                        wrap_lines=False,
                    ),
                    Condition(lambda: bool(self._live_text)),
                ),
                Window(height=1),
                ConditionalContainer(self._menu_window, Condition(lambda: bool(self._choices_text))),
                ConditionalContainer(self._reply_window, replies),
                ConditionalContainer(self._draft_window, drafts & ~replies),
                self._searching,
                ConditionalContainer(self._completions(), has_completions & ~chooses),
                ConditionalContainer(
                    Window(FormattedTextControl(lambda: ANSI(self._status_text)), height=1, wrap_lines=False),
                    ~has_completions & ~is_searching,
                ),
            ],
            align=VerticalAlign.TOP,
        )

    def _reply_sign(self) -> str:
        return FIND if self._shown.at == "picker" else INSTEAD

    def _typing_window(self, buffer: Buffer, sign: Callable[[], str]) -> Window:
        is_empty = Condition(lambda: buffer is self.draft and not buffer.text)
        placeholder = AfterInput(
            lambda: joined(_PLACEHOLDER, self.width - len(sign()) - 1), "class:placeholder"
        )
        control = BufferControl(
            buffer,
            input_processors=[ConditionalProcessor(placeholder, is_empty)],
            search_buffer_control=self._searching.control if buffer is self.draft else None,
            focus_on_click=True,
        )

        def before(line: int, wrapped: int) -> StyleAndTextTuples:
            first = sign()
            return [("class:prompt", first if line == wrapped == 0 else " " * len(first))]

        return Window(
            control,
            height=lambda: Dimension(min=1, max=self._most_typed()),
            get_line_prefix=before,
            wrap_lines=True,
            dont_extend_height=True,
            scroll_offsets=ScrollOffsets(top=1, bottom=1),
        )

    def _completions(self) -> Window:
        return Window(
            CompletionsMenuControl(),
            height=Dimension(min=1, max=_MOST_COMPLETIONS),
            dont_extend_width=True,
            style="class:completion-menu",
            scroll_offsets=ScrollOffsets(top=1, bottom=1),
        )

    def _most_typed(self) -> int:
        return max(self.rows // 2 - 1, 1)

    def _prepare(self) -> None:
        """Ask once for everything that is about to be drawn."""
        if self.width != self._width:
            self._width = self.width
            self._shown.resized()
        below = 1 + bool(self.draft.text or self._shown.at in {"reason", "picker"})
        self._choices_text = self._shown.choices(self.width, max(self.rows - below - 1, 1)).rstrip("\n")
        self._live_text = self._shown.live(self.width, self._room()).rstrip("\n")
        self._status_text = self._shown.status(self.width).rstrip("\n")

    def _room(self) -> int:
        """Lines for what goes on: what is left by the other parts."""
        typed = min(self.draft.document.line_count + len(self.draft.text) // self.width, self._most_typed())
        chosen = len(self._choices_text.splitlines())
        listed = _MOST_COMPLETIONS if self.draft.complete_state else 1
        return max(self.rows - typed - chosen - listed - 2, 0 if chosen else _LEAST_LIVE)

    @property
    def typed(self) -> str:
        """What the person is writing."""
        return self.draft.text

    @property
    def width(self) -> int:
        return self._output.get_size().columns

    @property
    def rows(self) -> int:
        return self._output.get_size().rows

    # --- what changes it ------------------------------------------------------------------------

    async def run(self) -> None:
        """Show it until ``leave``, or until nobody is at the keys any more."""
        with suppress(EOFError):
            await self.app.run_async()

    def leave(self) -> None:
        """End it; what is drawn at the end of the terminal goes."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def changed(self) -> None:
        """Draw anew what changed, and let keys go where they belong now."""
        window = {"draft": self._draft_window, "question": self._menu_window}.get(
            self._shown.at, self._reply_window
        )
        if not self.app.layout.has_focus(window) and not self.app.layout.is_searching:
            self.reply.reset()
            self.app.layout.focus(window)
        self.app.invalidate()

    def print(self, text: str) -> None:
        """Put lines above everything that changes; they stay."""
        if not text:
            return
        if not self.app.is_running:
            self._output.write_raw(text)
            self._output.flush()
            return
        with self._output.held():
            self.app.renderer.erase(leave_alternate_screen=False)
            self._output.write_raw(text)
        self.changed()

    def print_anew(self, text: str) -> None:
        """Clear what can be seen of the terminal, and begin with these lines."""
        with self._output.held():
            self.app.renderer.clear()
            self._output.write_raw(text)
        self.changed()

    def write(self, text: str) -> None:
        """Put words where the person types, in place of what is there."""
        self.draft.text = text
        self.draft.cursor_position = len(text)

    def bell(self) -> None:
        """Call the person."""
        self._output.bell()
        self._output.flush()
