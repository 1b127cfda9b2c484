"""A server that is a program: one message a line, over its standard input and output."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage

from toolwright.contracts.ports import Exit, Talk
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.streams import Incoming, Streams, pipes
from toolwright.tools.mcp.sdk.wire import LONGEST, read_message, written
from toolwright.tools.mcp.texts import one_line

log = logging.getLogger(__name__)
_MOST_NOISE: Final = 1_000
"""Lines that are no messages, one after another, before nothing more is expected of a server."""
_LEAVES_BY_ITSELF: Final = 2.0
_GRACE: Final = 1.0
"""Seconds between the first signal and the next, and between that and the end."""
_LAST_WORDS: Final = 300


@asynccontextmanager
async def stdio_streams(talk: Talk, ending: Ending) -> AsyncIterator[Streams]:
    """Speak with a started program; it is ended when this is left."""
    try:
        async with pipes() as ends, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, talk, ends.heard, ending)
            tasks.start_soon(_speak, talk, ends.to_say)
            try:
                yield ends.streams
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _ended(talk)


async def _listen(talk: Talk, heard: ObjectSendStream[Incoming], ending: Ending) -> None:
    lines = _Lines()
    noise = 0
    async with heard:
        while data := await talk.read():
            for line in lines.taken(data):
                message = read_message(line)
                if message is not None:
                    noise = 0
                    await heard.send(message)
                    continue
                noise += 1
                _note_noise(line, noise)
            if noise > _MOST_NOISE:
                return ending.say("protocol", "The server prints what are no messages of the protocol.")
            if lines.too_long:
                return ending.say("too_large", f"The server said more than {LONGEST:,} bytes in one line.")
        await _say_how_it_ended(talk, ending)
    return None


class _Lines:
    """Puts what comes in pieces together to lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._length = 0
        self.too_long = False

    def taken(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without empty ones."""
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._rest, whole[0]))
            self._rest, self._length = [], 0
        self._rest.append(rest)
        self._length += len(rest)
        self.too_long = self._length > LONGEST or any(len(line) > LONGEST for line in whole)
        return [] if self.too_long else [line for line in whole if line.strip()]


def _note_noise(line: bytes, count: int) -> None:
    if count == 1:
        log.info("a server printed what is no message: %s", one_line(line[:200].decode("utf-8", "replace")))


async def _speak(talk: Talk, to_say: ObjectReceiveStream[SessionMessage]) -> None:
    async with to_say:
        try:
            async for message in to_say:
                await talk.send(f"{written(message)}\n".encode())
        except BrokenPipeError:
            return  # whoever listens hears the end


async def _say_how_it_ended(talk: Talk, ending: Ending) -> None:
    with anyio.move_on_after(_GRACE):
        ending.say("closed", told_end(await talk.wait(), talk.errors()))
    ending.say("closed", "The server closed its output.")


def told_end(end: Exit, errors: bytes) -> str:
    """Say how a program ended, and what it complained of last."""
    how = f"signal {end.signal}" if end.signal is not None else f"exit code {end.code}"
    if end.limit is not None:
        how += f", over its limit of {end.limit}"
    words = one_line(errors[-4 * _LAST_WORDS :].decode("utf-8", "replace"), 4 * _LAST_WORDS)[-_LAST_WORDS:]
    return f"The server's program ended with {how}." + (f" Its last words: {words}" if words else "")


async def _ended(talk: Talk) -> None:
    """End the program: first by its own, then by signals."""
    talk.end_input()
    with anyio.move_on_after(_LEAVES_BY_ITSELF):
        await talk.wait()
        return
    await talk.stop(grace=_GRACE)
