"""Somebody at a terminal, talking to a scripted model through the real keys and the real drawing."""

import io
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from tests.journeys.engines import Desk, engine, look

from toolwright import Engine, ScriptedModel, Session
from toolwright.surfaces.chat.conversation import Conversation
from toolwright.surfaces.chat.screen import ChatScreen
from toolwright.surfaces.chat.talking import made
from toolwright.surfaces.chat.terminal_output import TerminalOutput

_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x07")
ENTER, ESCAPE, TAB, SHIFT_TAB, UP, DOWN = "\r", "\x1b", "\t", "\x1b[Z", "\x1b[A", "\x1b[B"
CTRL_C, CTRL_D, CTRL_J, CTRL_L, CTRL_O, ALT_ENTER = "\x03", "\x04", "\n", "\x0c", "\x0f", "\x1b\r"


def paste(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


class Sitting:
    """A person at a terminal."""

    def __init__(self, keys: PipeInput, size: Size, environ: dict[str, str]) -> None:
        self.size = size
        self.paper = io.StringIO()
        self.output = TerminalOutput(self.paper, environ, lambda: self.size)
        self.keys = keys
        self.talk: Conversation
        self.screen: ChatScreen
        self.left = anyio.Event()
        self._drawn = anyio.Event()

    def sit_down(self, talk: Conversation, screen: ChatScreen) -> None:
        """Begin to look."""
        self.talk, self.screen = talk, screen
        screen.app.after_render += lambda _: self._drawn.set()

    async def stay(self) -> None:
        """Talk until leaving."""
        await self.talk.talk(self.screen.run)
        self.left.set()

    def press(self, *keys: str) -> None:
        """Press keys, or type a text."""
        for key in keys:
            self.keys.send_text(key)

    @property
    def end(self) -> str:
        """The end of the terminal, that changes."""
        screen = self.screen.app.renderer.last_rendered_screen
        if screen is None:
            return ""
        rows = [screen.data_buffer[y] for y in range(screen.height)]
        return "\n".join("".join(row[x].char for x in range(self.size.columns)).rstrip() for row in rows)

    @property
    def printed(self) -> str:
        """Everything that was written to the terminal so far, without what steers it."""
        return _STEERING.sub("", self.paper.getvalue()).replace("\r", "")

    async def until(self, *there: str, gone: Iterable[str] = ()) -> None:
        """Wait until texts stand at the end of the terminal, and others do not."""
        await self._wait(lambda: all(text in self.end for text in there) and not _any(gone, self.end))

    async def until_printed(self, *there: str) -> None:
        """Wait until texts stand above the end of the terminal, or stood there."""
        await self._wait(lambda: all(text in self.printed for text in there))

    async def until_true(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds when the terminal has been drawn."""
        await self._wait(holds)

    async def until_left(self) -> None:
        """Wait until the person has left."""
        with anyio.fail_after(20):
            await self.left.wait()

    async def _wait(self, holds: Callable[[], bool]) -> None:
        with anyio.move_on_after(20):
            while not holds():
                self._drawn = anyio.Event()
                await self._drawn.wait()
            return
        raise AssertionError(f"it never came:\n{self.printed[-3000:]}\n--- end ---\n{self.end}")


def _any(texts: Iterable[str], end: str) -> bool:
    return any(text in end for text in texts)


@asynccontextmanager
async def sitting(
    folder: Path,
    script: Iterable[Any] | ScriptedModel,
    *,
    columns: int = 80,
    rows: int = 30,
    environ: dict[str, str] | None = None,
    resume: str = "",
    screen_reader: bool = False,
    **more: Any,
) -> AsyncIterator[Sitting]:
    """Sit down at a terminal, in a session of an engine in ``folder``; whoever leaves the block leaves it."""
    given = {"tools": [look, Desk().tool], "answers_later": True, **more}
    async with engine(folder, script, **given) as works:
        session = await works.open(resume) if resume else await works.session()
        async with _at(
            works, session, Size(rows, columns), environ or {}, screen_reader=screen_reader
        ) as one:
            yield one
        await works.close(grace=0)


@asynccontextmanager
async def _at(
    works: Engine, session: Session, size: Size, environ: dict[str, str], *, screen_reader: bool
) -> AsyncIterator[Sitting]:
    environ = {"TERM": "xterm-256color", **environ}
    with create_pipe_input() as keys, create_app_session():
        one = Sitting(keys, size, environ)
        talk, screen = made(
            works, session, input=keys, output=one.output, environ=environ, screen_reader=screen_reader
        )
        one.sit_down(talk, screen)
        async with anyio.create_task_group() as group:
            group.start_soon(one.stay)
            await one.until_true(lambda: screen.app.renderer.last_rendered_screen is not None)
            yield one
            screen.leave()
