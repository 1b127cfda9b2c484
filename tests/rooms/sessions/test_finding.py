"""A session is found by as much of its id as tells it from the others."""

from collections.abc import AsyncIterator

import pytest

from toolwright.contracts.storage import UnknownSession
from toolwright.sessions.finding import session_meant
from toolwright.testing import MemoryEvents
from toolwright.testing.event_store import card_of

pytestmark = pytest.mark.anyio

IDS = ("session_ab1", "session_ab2", "session_ab", "session_c0ffee", "named-by-somebody")


@pytest.fixture
async def store() -> AsyncIterator[MemoryEvents]:
    async with MemoryEvents() as store:
        for name in IDS:
            await store.create(card_of(name, parent_id="session_ab" if name == "session_c0ffee" else None))
        yield store


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("session_ab1", "session_ab1"),
        ("ab1", "session_ab1"),
        (" c0 ", "session_c0ffee"),
        ("session_c", "session_c0ffee"),
        ("session_ab", "session_ab"),
        ("ab", "session_ab"),
        ("named", "named-by-somebody"),
    ],
)
async def test_the_one_session_that_begins_so_is_meant(store: MemoryEvents, words: str, meant: str) -> None:
    assert await session_meant(store, words) == meant


@pytest.mark.parametrize("words", ["", " ", "nobody", "b1", "session_ab3", "AB1", "%"])
async def test_what_no_session_begins_with_is_unknown(store: MemoryEvents, words: str) -> None:
    with pytest.raises(UnknownSession, match="toolwright sessions list"):
        await session_meant(store, words)


async def test_words_that_fit_several_name_them(store: MemoryEvents) -> None:
    with pytest.raises(UnknownSession, match=r"begin with .a.: session_ab1, session_ab2, session_ab\. Write"):
        await session_meant(store, "a")


async def test_of_very_many_only_some_are_named(store: MemoryEvents) -> None:
    for number in range(7):
        await store.create(card_of(f"session_d{number}"))

    with pytest.raises(UnknownSession, match=r"session_d4 and others"):
        await session_meant(store, "d")
