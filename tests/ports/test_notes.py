"""What every store of notes does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.notes.memory import MemoryNotes
from toolwright.backends.notes.sqlite import SqliteNotes
from toolwright.contracts.notes import NoteStore
from toolwright.contracts.storage import StoreUnavailable

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[NoteStore]:
    clock = FakeClock()
    store: NoteStore = (
        MemoryNotes(clock) if request.param == "memory" else SqliteNotes(str(tmp_path / "notes.db"), clock)
    )
    yield store
    await store.close()


async def test_a_note_is_found_by_a_word_of_any_of_its_texts(store: NoteStore) -> None:
    book = store.of("default")
    await book.put("coffee", "Espresso, no sugar.", description="What to drink", session_id="s1")
    for query in ("COFFEE", "what about espresso?", "drink-something"):
        (note,) = await book.search(query)
        assert (note.key, note.value, note.session_id) == ("coffee", "Espresso, no sugar.", "s1")
        assert note.written


async def test_the_note_with_more_of_the_words_comes_first(store: NoteStore) -> None:
    book = store.of("default")
    await book.put("one", "apples")
    await book.put("two", "apples pears plums")
    await book.put("three", "bread")
    assert [note.key for note in await book.search("pears and apples")] == ["two", "one"]


async def test_a_note_of_the_same_key_takes_the_place_of_the_former(store: NoteStore) -> None:
    book = store.of("default")
    await book.put("city", "Rome")
    await book.put("city", "Oslo")
    assert [note.value for note in await book.search("city")] == ["Oslo"]
    assert await book.search("Rome") == []


async def test_nothing_is_seen_from_another_workspace(store: NoteStore) -> None:
    await store.of("one").put("secret", "word")
    assert await store.of("two").search("secret") == []
    assert await store.of("two").search("") == []


async def test_a_query_without_words_finds_the_last_ones(store: NoteStore) -> None:
    book = store.of("default")
    for key in ("a", "b", "c"):
        await book.put(key, "x")
    assert [note.key for note in await book.search(' "*( ', limit=2)] == ["c", "b"]


async def test_notes_are_there_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "notes.db")
    first = SqliteNotes(path, FakeClock())
    await first.of("default").put("k", "kept")
    await first.close()
    second = SqliteNotes(path, FakeClock())
    assert [note.value for note in await second.of("default").search("kept")] == ["kept"]
    await second.close()


async def test_a_file_that_cannot_be_used_is_said_so(tmp_path: Path) -> None:
    store = SqliteNotes(str(tmp_path / "missing" / "notes.db"), FakeClock())
    with pytest.raises(StoreUnavailable, match=r"notes\.db"):
        await store.of("default").put("k", "v")
