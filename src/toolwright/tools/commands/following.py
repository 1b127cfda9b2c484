"""Follow a running program: pass its output on, and see it end or run out of time."""

import codecs
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio

from toolwright.contracts.ports import Process
from toolwright.contracts.tool import Progress

_JOINED: Final = 0.1
"""Seconds between two reports."""
_REPORTED: Final = 16_000
"""Characters of one report; a faster program is shown by its latest output."""


@asynccontextmanager
async def ended_with_call(process: Process) -> AsyncIterator[None]:
    """End the program when the call is cancelled or breaks; otherwise leave it alone."""
    went_well = False
    try:
        yield
        went_well = True
    finally:
        if not went_well:
            with anyio.CancelScope(shield=True):
                await process.stop()


async def followed(process: Process, report: Callable[[Progress], None], seconds: float) -> bool:
    """Report output as it comes. True once the program has ended, False when the time is over first."""
    with anyio.move_on_after(seconds):
        await _reported(process, report)
        return True
    return False


async def _reported(process: Process, report: Callable[[Progress], None]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    offset = 0
    while True:
        await process.wait_output(offset)
        data, following = process.output_since(offset)
        if following == offset:
            await process.wait()
            return
        offset = following
        report(Progress(output=decoder.decode(data)[-_REPORTED:]))
        with anyio.move_on_after(_JOINED):
            await process.wait()
