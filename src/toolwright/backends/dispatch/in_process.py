"""Work on sessions in this process: a task for each that has something to do, none for the others."""

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.contracts.dispatch import Dispatcher, Work

log = logging.getLogger(__name__)


class InProcessDispatch:
    """Tasks of the running event loop."""

    def __init__(self) -> None:
        self._work: Work | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._closed = False

    def open(self, work: "Work") -> None:
        self._work = work
        self._closed = False

    def wake(self, session_id: str) -> None:
        if self._closed or self._work is None:
            return
        if session_id in self._tasks:
            self._again.add(session_id)
            return
        self._tasks[session_id] = asyncio.get_running_loop().create_task(self._until_done(session_id))

    def is_busy(self, session_id: str) -> bool:
        return session_id in self._tasks

    async def idle(self, session_id: str) -> None:
        while (task := self._tasks.get(session_id)) is not None:
            await asyncio.wait([task])

    async def close(self, *, grace: float = 5.0) -> None:
        self._closed = True
        tasks = list(self._tasks.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _until_done(self, session_id: str) -> None:
        work = self._work
        try:
            while work is not None:
                self._again.discard(session_id)
                await work(session_id)
                if session_id not in self._again or self._closed:
                    return
        except Exception:
            log.exception("the work on session %s failed", session_id)
        finally:
            self._again.discard(session_id)
            del self._tasks[session_id]


if TYPE_CHECKING:
    _: Dispatcher = InProcessDispatch()
