"""Puts a conversation together with the terminal that a person sits at."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from io import TextIOBase
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input, create_input

from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.chat.choosing import chosen_row
from toolwright.surfaces.chat.commands import words_of
from toolwright.surfaces.chat.completing import ChatCompleter
from toolwright.surfaces.chat.conversation import Conversation
from toolwright.surfaces.chat.files import ProjectFiles
from toolwright.surfaces.chat.hands import ConversationHands
from toolwright.surfaces.chat.history import InputHistory
from toolwright.surfaces.chat.keys import chat_keys
from toolwright.surfaces.chat.looking import WHICH_SESSION, session_rows
from toolwright.surfaces.chat.page import Page
from toolwright.surfaces.chat.painter import Painter
from toolwright.surfaces.chat.picking import Picker
from toolwright.surfaces.chat.screen import ChatScreen
from toolwright.surfaces.chat.shown import ShownConversation
from toolwright.surfaces.chat.state import ChatState
from toolwright.surfaces.chat.terminal_output import TerminalOutput
from toolwright.surfaces.rendering.calls import Verbosity

if TYPE_CHECKING:
    from toolwright.surfaces.engine import Engine, Session

_HISTORY = os.path.join("sessions", "typed.jsonl")


def made(
    engine: "Engine",
    session: "Session",
    *,
    input: Input,
    output: TerminalOutput,
    environ: Mapping[str, str],
    details: Verbosity = "normal",
    screen_reader: bool = False,
) -> tuple[Conversation, ChatScreen]:
    """Return a conversation, and the screen that shows it and takes keys for it."""
    state = ChatState(details=details)
    page = Page(state, Painter(environ, screen_reader=screen_reader))
    talk = Conversation(engine, session, page=page, state=state)
    hands = ConversationHands(talk)
    screen = ChatScreen(
        ShownConversation(talk, redraw=hands.redraw),
        input=input,
        output=output,
        keys=chat_keys(hands),
        history=InputHistory(os.path.join(engine.loaded.data_folder, _HISTORY)),
        completer=ChatCompleter(
            words=partial(words_of, talk), files=ProjectFiles(engine.loaded.project).paths
        ),
        typed=hands.typed,
    )
    hands.screen = page.paper = screen
    screen.app.key_processor.before_key_press += lambda _: hands.touched()
    return talk, screen


async def talked(
    engine: "Engine",
    session: "Session",
    *,
    first: str = "",
    details: Verbosity = "normal",
    screen_reader: bool = False,
) -> str | None:
    """Talk until the person leaves; return the id of the session talked to last, None when it is empty.

    ``first`` is said at once.
    """
    talk, screen = made(
        engine,
        session,
        input=create_input(sys.stdin),
        output=TerminalOutput.of(sys.stdout, os.environ),
        environ=os.environ,
        details=details,
        screen_reader=screen_reader,
    )
    loop = asyncio.get_running_loop()
    with nothing_else_prints(lambda text: loop.call_soon_threadsafe(talk.page.note, text)):
        talk.greet()
        if first:
            talk.order(partial(talk.send, first))
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, screen.leave)
        await talk.talk(screen.run)
        return None if await talk.remove_if_empty() else talk.session.id


async def picked(engine: "Engine", *, screen_reader: bool) -> str | None:
    """Let a person choose a session of the folder; None for somebody who leaves. May raise SettingsError."""
    rows = await session_rows(engine)
    if not rows:
        raise SettingsError("there is no session in this folder to choose from.")
    chosen = await chosen_row(
        Picker(WHICH_SESSION, rows),
        Painter(os.environ, screen_reader=screen_reader),
        input=create_input(sys.stdin),
        output=TerminalOutput.of(sys.stdout, os.environ),
    )
    return chosen.key if chosen is not None else None


@contextmanager
def nothing_else_prints(note: Callable[[str], object]) -> Iterator[None]:
    """Show as a note what the program, a library or somebody's tool would print into the screen."""
    lines = _Lines(note)
    handler = _Notes(note)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with redirect_stdout(lines), redirect_stderr(lines):
            yield
    finally:
        root.removeHandler(handler)


class _Notes(logging.Handler):
    """Warnings of the program, as notes."""

    def __init__(self, note: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note(record.getMessage())


class _Lines(TextIOBase):
    """Something to print into: each whole line becomes a note."""

    def __init__(self, note: Callable[[str], object]) -> None:
        super().__init__()
        self._note = note
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._note(line)
        return len(text)
