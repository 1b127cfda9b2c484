"""Following a session: entries in order, and words as soon as they are said."""

from contextlib import aclosing

import anyio
import pytest

from toolwright.backends.clock.system import SystemClock
from toolwright.backends.storage.memory import MemoryEvents
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import LoggedEvent, ModelAsked, Record, SessionCreated
from toolwright.contracts.models import TextDelta
from toolwright.contracts.storage import FIRST_HASH, Entry, SessionCard, chained
from toolwright.sessions.codec import encoded
from toolwright.sessions.following import Following

pytestmark = pytest.mark.anyio
SESSION = "session_1"


class Log:
    """A log that is written to one entry at a time."""

    def __init__(self, store: MemoryEvents) -> None:
        self._store = store
        self._hash = FIRST_HASH
        self._seq = 0

    async def append(self, event: LoggedEvent) -> None:
        self._seq += 1
        data = encoded(self._seq, 0.0, event)
        self._hash = chained(self._hash, data)
        await self._store.append(SESSION, [Entry(self._seq, data, self._hash)], epoch=1)


async def test_words_said_behind_an_entry_that_is_not_durable_yet_come_right_behind_it() -> None:
    async with MemoryEvents() as store:
        await store.create(SessionCard(session_id=SESSION, created_at=0.0, updated_at=0.0))
        assert await store.claim(SESSION, "test") == 1
        log, following = Log(store), Following(store, SystemClock())
        await log.append(SessionCreated(session_id=SESSION, agent=AgentDefinition()))
        seen: list[Record] = []
        async with aclosing(following.follow(SESSION)) as records:
            with anyio.fail_after(30):
                seen.append(await anext(records))
                async with anyio.create_task_group() as group:

                    async def take_two() -> None:
                        seen.append(await anext(records))
                        seen.append(await anext(records))

                    group.start_soon(take_two)
                    await anyio.wait_all_tasks_blocked()
                    following.show(SESSION, 2, TextDelta("It is"))
                    await anyio.wait_all_tasks_blocked()
                    await log.append(ModelAsked(turn_id="t", model="m", fingerprint="f", messages=1))
    assert [type(record.event).__name__ for record in seen] == ["SessionCreated", "ModelAsked", "TextDelta"]
