"""What happens by itself: the catalog is read anew when its files change or a signal says so, and questions
that nobody answers come to an end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from anyio.to_thread import run_sync

from toolwright.contracts.errors import EngineFault, ToolwrightError
from toolwright.surfaces.http.engine.desk import Desk
from toolwright.surfaces.http.engine.tasks import LABEL

log = logging.getLogger(__name__)
_LOOK: Final = 1.0
_SWEEP: Final = 60.0
_MOST: Final = 10_000
_NOBODY: Final = "Nobody answered in time."


def watch(desk: Desk) -> None:
    """Begin to look after a server's catalog and its questions; ends with the server."""
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def hung_up() -> None:
        task = loop.create_task(_reloaded(desk))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    desk.house.at_hangup.append(hung_up)
    tasks.add(loop.create_task(_every(desk, _SWEEP, lambda: unanswered(desk))))
    if desk.house.watches:
        tasks.add(loop.create_task(_followed(desk)))

    async def end() -> None:
        waiting = list(tasks)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    desk.house.stack.push_async_callback(end)


async def _reloaded(desk: Desk) -> None:
    found = await desk.reload()
    log.info("the catalog was read anew: %d tools", len(found.after.tools))


async def _followed(desk: Desk) -> None:
    """Read the catalog anew when a file of it has changed, once it stays the same between two looks."""
    known = seen = await run_sync(desk.keeper.fingerprint)
    while True:
        await desk.house.clock.sleep(_LOOK)
        now = await run_sync(desk.keeper.fingerprint)
        if now == seen and now != known:
            known = now
            await _reloaded(desk)
        seen = now


async def _every(desk: Desk, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await desk.house.clock.sleep(seconds)
        try:
            await work()
        except (ToolwrightError, EngineFault) as problem:
            log.warning("questions could not be looked at: %s", problem)


async def unanswered(desk: Desk) -> None:
    """Answer with a no what nobody has answered for too long."""
    works, since = desk.house.works, desk.house.clock.now() - desk.options.paused_seconds
    for card in await works.store.cards(status="waiting", limit=_MOST):
        if card.updated_at > since:
            continue
        state = await works.sessions.state(card.session_id)
        if LABEL not in state.created.labels:
            continue
        for asked in state.questions:
            if asked.request is not None:
                await works.sessions.answer(card.session_id, asked.request.denied(_NOBODY))
            else:
                await works.sessions.deliver(card.session_id, asked.call_id, _NOBODY, is_error=True)
