"""Renewals under way. One that began comes to its end, whoever stops waiting for it.

Many issuers give another refresh token each time and take the old one no more: what they gave has to be kept.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Renewals:
    """Those of one engine."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def carried_out(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return what comes of a renewal. When whoever waits is cancelled it goes on."""
        task = asyncio.create_task(work, name="renewal of a token")
        self._under_way.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: "asyncio.Task[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits is told; where nobody does, the next use tells it

    async def settled(self) -> None:
        """Return once all that are under way have ended."""
        while self._under_way:
            await asyncio.wait(tuple(self._under_way))
