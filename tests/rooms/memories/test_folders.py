"""Folders of memories, kept in step with their store in both directions."""

import os
from pathlib import Path

import pytest

from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.storage.memory_documents import MemoryDocuments
from toolwright.contracts.documents import Document
from toolwright.contracts.mounts import Mount
from toolwright.memories.folders import MemoryFolders
from toolwright.memories.service import STORE, VERSION, Actor, Memories, MemoryChange

pytestmark = pytest.mark.anyio
SESSION, SOMEBODY = "session_1", Actor("key", "key_1")


class Ticking(FakeClock):
    """Never tells one time twice: what comes later stands later in lists."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks = 0

    def now(self) -> float:
        self._ticks += 1
        return super().now() + self._ticks * 1e-3


class Case:
    """One store, and a folder of one session."""

    def __init__(self, place: Path) -> None:
        self.clock = Ticking()
        self.documents = MemoryDocuments()
        self.memories = Memories(self.documents, self.clock)
        self.folders = MemoryFolders(self.memories, self.clock)
        self.store = Document(kind=STORE, id="store_1")
        self.folder = place / "notes"
        self.folder.mkdir()
        self.mount = Mount(path="/mnt/notes", folder=str(self.folder), writable=True, source=self.store.id)

    async def settle(self, mount: Mount | None = None) -> str:
        return await self.folders.settle("default", SESSION, (mount or self.mount,))

    async def put(self, path: str, content: str) -> None:
        """Write a memory as somebody else does."""
        async with self.memories.turn(self.store.id):
            known = (await self.memories.every(self.store)).get(path)
            if known is None:
                await self.memories.create(self.store, path, content, SOMEBODY)
            else:
                await self.memories.change(self.store, known, MemoryChange(content=content), SOMEBODY)

    async def take(self, path: str) -> None:
        """Remove a memory as somebody else does."""
        async with self.memories.turn(self.store.id):
            known = (await self.memories.every(self.store))[path]
            await self.memories.remove(self.store, known, SOMEBODY)

    async def texts(self) -> dict[str, str]:
        every = await self.memories.every(self.store)
        return {path: await self.memories.content_of(memory) for path, memory in every.items()}

    def files(self) -> dict[str, str]:
        return {
            f"/{path.relative_to(self.folder)}": path.read_text()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    async def operations(self) -> list[tuple[str, str, str]]:
        """What was done to memories, by whom; the newest first."""
        found = [one.body for one in await self.documents.list("default", VERSION)]
        return [(one["operation"], one["path"], one["by"]["kind"]) for one in found]


@pytest.fixture
async def case(tmp_path: Path) -> Case:
    made = Case(tmp_path)
    await made.documents.add(made.store)
    await made.put("/a", "alpha")
    await made.put("/deep/b", "beta")
    assert await made.settle() == ""
    return made


async def test_what_is_in_the_store_lies_in_the_folder(case: Case) -> None:
    assert case.files() == {"/a": "alpha", "/deep/b": "beta"}
    before = await case.operations()
    assert await case.settle() == ""
    assert await case.operations() == before


async def test_what_a_session_does_reaches_the_store(case: Case) -> None:
    (case.folder / "a").write_text("changed")
    (case.folder / "new").write_text("")
    (case.folder / "deep" / "b").unlink()
    await case.settle()
    assert await case.texts() == {"/a": "changed", "/new": ""}
    assert set((await case.operations())[:-2]) == {
        ("modified", "/a", "session"),
        ("created", "/new", "session"),
        ("deleted", "/deep/b", "session"),
    }


async def test_what_others_do_reaches_the_folder(case: Case) -> None:
    await case.put("/a", "other")
    await case.put("/c/d", "delta")
    await case.take("/deep/b")
    await case.settle()
    assert case.files() == {"/a": "other", "/c/d": "delta"}


async def test_a_file_that_moves_stays_the_same_memory(case: Case) -> None:
    before = (await case.memories.every(case.store))["/a"]
    (case.folder / "a").rename(case.folder / "deep" / "moved")
    await case.settle()
    after = (await case.memories.every(case.store))["/deep/moved"]
    assert after.id == before.id
    assert (await case.operations())[0] == ("modified", "/deep/moved", "session")


async def test_a_file_gives_way_to_a_folder_of_its_name(case: Case) -> None:
    (case.folder / "a").unlink()
    (case.folder / "a").mkdir()
    (case.folder / "a" / "x").write_text("below")
    await case.settle()
    assert await case.texts() == {"/a/x": "below", "/deep/b": "beta"}


async def test_the_later_of_two_changes_counts_and_both_stay(case: Case) -> None:
    await case.put("/a", "theirs")
    (case.folder / "a").write_text("ours")
    await case.settle()
    assert (await case.texts())["/a"] == case.files()["/a"] == "ours"
    assert (await case.operations())[:2] == [("modified", "/a", "session"), ("modified", "/a", "key")]


async def test_what_others_have_changed_is_not_deleted_unseen(case: Case) -> None:
    await case.put("/a", "theirs")
    (case.folder / "a").unlink()
    await case.settle()
    assert (await case.texts())["/a"] == case.files()["/a"] == "theirs"


async def test_the_same_change_on_both_sides_is_none(case: Case) -> None:
    await case.put("/a", "same")
    (case.folder / "a").write_text("same")
    await case.settle()
    assert (await case.operations())[0] == ("modified", "/a", "key")


async def test_a_change_is_seen_though_times_and_size_are_the_same(case: Case) -> None:
    place = case.folder / "a"
    os.utime(place, ns=(10**18, 10**18))
    await case.settle()
    other = case.folder.parent / "other"
    other.write_text("omega")
    os.utime(other, ns=(10**18, 10**18))
    other.replace(place)
    await case.settle()
    assert (await case.texts())["/a"] == "omega"


async def test_a_folder_that_is_only_read_shows_the_store_and_nothing_else(case: Case) -> None:
    (case.folder / "a").write_text("changed")
    (case.folder / "new").write_text("new")
    only_read = Mount(path="/mnt/notes", folder=str(case.folder), source=case.store.id)
    await case.settle(only_read)
    assert case.files() == await case.texts() == {"/a": "alpha", "/deep/b": "beta"}


async def test_nothing_is_written_to_a_store_that_is_archived(case: Case) -> None:
    from dataclasses import replace

    await case.documents.replace(replace(case.store, archived_at=1.0))
    (case.folder / "a").write_text("changed")
    assert await case.settle() == "/mnt/notes/a is not kept as a memory: the memory store is archived."
    assert (await case.texts())["/a"] == "alpha"
    assert await case.settle() == ""


async def test_what_can_be_no_memory_is_told_of_once_and_left_alone(case: Case, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (case.folder / "a").write_bytes(b"x" * 102_401)
    (case.folder / "raw").write_bytes(b"\xff")
    (case.folder / "link").symlink_to(tmp_path / "secret")
    (case.folder / "two\nlines").write_text("x")
    (case.folder / "hard").hardlink_to(tmp_path / "secret")
    assert (await case.settle()).splitlines() == [
        "/mnt/notes/a is not kept as a memory: it is larger than 102,400 bytes.",
        "/mnt/notes/hard is not kept as a memory: it cannot be read.",
        "/mnt/notes/link is not kept as a memory: only regular files are kept.",
        "/mnt/notes/raw is not kept as a memory: it is no UTF-8 text.",
        "'/mnt/notes/two\\nlines' is not kept as a memory: it cannot be read.",
    ]
    assert await case.settle() == ""
    assert await case.texts() == {"/a": "alpha", "/deep/b": "beta"}
    assert (case.folder / "a").stat().st_size == 102_401
    assert (tmp_path / "secret").read_text() == "secret"
    (case.folder / "a").unlink()
    (case.folder / "raw").write_text("text")
    assert await case.settle() == ""
    assert await case.texts() == {"/deep/b": "beta", "/raw": "text"}


async def test_what_is_not_there_any_more_is_left_alone(case: Case) -> None:
    await case.documents.remove("default", STORE, case.store.id)
    assert await case.settle() == ""
    assert case.files() == {"/a": "alpha", "/deep/b": "beta"}
    for path in (case.folder / "a", case.folder / "deep" / "b"):
        path.unlink()
    (case.folder / "deep").rmdir()
    case.folder.rmdir()
    await case.documents.add(case.store)
    assert await case.settle() == ""


async def test_what_was_not_in_step_before_a_crash_is_brought_in_step_later(case: Case) -> None:
    (case.folder / "a").write_text("written before the crash")
    later = MemoryFolders(Memories(case.documents, case.clock), case.clock)
    await later.settle("default", SESSION, (case.mount,))
    assert (await case.texts())["/a"] == "written before the crash"
