"""Notes in memory."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from toolwright.backends.notes.words import asked, words_of
from toolwright.contracts.notes import Note
from toolwright.contracts.ports import Clock

if TYPE_CHECKING:
    from toolwright.contracts.notes import NoteBook, NoteStore


class MemoryNotes:
    """``NoteStore`` that forgets with the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._books: dict[str, MemoryBook] = {}

    def of(self, workspace: str) -> "MemoryBook":
        return self._books.setdefault(workspace, MemoryBook(self._clock))

    async def close(self) -> None:
        """Nothing is held open."""


class MemoryBook:
    """``NoteBook`` of one workspace."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[str, Note] = {}

    async def put(self, key: str, value: str, *, description: str = "", session_id: str = "") -> None:
        at = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")
        self._notes.pop(key, None)  # what is written anew is the last one
        self._notes[key] = Note(
            key=key, value=value, description=description, session_id=session_id, written=at
        )

    async def search(self, query: str, *, limit: int = 10) -> Sequence[Note]:
        wanted = asked(query)
        newest_first = list(reversed(self._notes.values()))
        if not wanted:
            return newest_first[:limit]
        scored = [(_hits(note, wanted), note) for note in newest_first]
        best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [note for _, note in best[:limit]]


def _hits(note: Note, wanted: Sequence[str]) -> int:
    known = set(words_of(f"{note.key} {note.description} {note.value}"))
    return sum(word in known for word in wanted)


if TYPE_CHECKING:

    def _store(store: MemoryNotes) -> NoteStore:
        return store

    def _book(book: MemoryBook) -> NoteBook:
        return book
