"""A tool that is at work for as long as a test wants."""

import asyncio
from typing import Any

import anyio

from toolwright import tool


class Work:
    """A tool that must not run twice, and how often it was called."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.may_end = anyio.Event()
        self.calls = 0
        self.cancelled = 0

        @tool(concurrency_safe=True, touches=())
        async def post() -> str:
            """Do it once."""
            self.calls += 1
            self.begun.set()
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "posted"

        self.tool: Any = post
