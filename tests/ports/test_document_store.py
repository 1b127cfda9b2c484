"""What may be relied on of every place that keeps documents."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.storage.memory_documents import MemoryDocuments
from toolwright.backends.storage.sqlite.documents import SqliteDocuments
from toolwright.contracts.documents import (
    Add,
    Document,
    DocumentStore,
    NameTaken,
    Remove,
    Replace,
    UnknownDocument,
    VersionConflict,
    Wanted,
    place_of,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[DocumentStore]:
    makers: dict[str, Callable[[], DocumentStore]] = {
        "sqlite": lambda: SqliteDocuments(str(tmp_path / "toolwright.db")),
        "memory": MemoryDocuments,
    }
    made = makers[request.param]()
    yield made
    await made.close()


def document(id: str, *, at: float = 1.0, kind: str = "agent", **more: Any) -> Document:
    return Document(kind=kind, id=id, created_at=at, updated_at=at, **more)


async def ids(store: DocumentStore, kind: str = "agent", **wanted: Any) -> list[str]:
    return [found.id for found in await store.list("default", kind, Wanted(**wanted))]


async def test_a_document_comes_back_as_it_was_put(store: DocumentStore) -> None:
    whole = document("a", parent="p", name="n", archived_at=3.5, body={"deep": {"list": [1, None, "ü"]}})
    await store.add(whole)
    assert await store.get("default", "agent", "a") == whole
    assert await store.get("default", "file", "a") is None
    assert await store.get("default", "agent", "b") is None


async def test_one_workspace_sees_and_changes_nothing_of_another(store: DocumentStore) -> None:
    await store.add(document("a", name="n"))
    assert await store.get("other", "agent", "a") is None
    assert await store.list("other", "agent") == []
    assert await store.versions("other", "agent", "a") == []
    assert not await store.remove("other", "agent", "a")
    with pytest.raises(UnknownDocument):
        await store.replace(document("a", workspace="other"))
    await store.add(document("b", name="n", workspace="other"))
    assert {found.workspace for found in await store.find("agent", "n")} == {"default", "other"}


async def test_a_change_that_expects_another_version_is_refused(store: DocumentStore) -> None:
    await store.add(document("a"))
    second = document("a", version=2, body={"x": 2})
    await store.replace(second, expected=1, versions=True)
    with pytest.raises(VersionConflict) as conflict:
        await store.replace(document("a", version=2, body={"x": 3}), expected=1)
    assert (conflict.value.expected, conflict.value.found) == (1, 2)
    assert await store.get("default", "agent", "a") == second
    with pytest.raises(UnknownDocument):
        await store.replace(document("b"))


async def test_every_kept_version_can_still_be_read(store: DocumentStore) -> None:
    first = document("a", body={"x": 1}, name="one")
    await store.add(first)
    known = [first]
    for number in (2, 3, 4):
        now = replace(first, version=number, updated_at=float(number), body={"x": number}, name=f"n{number}")
        await store.replace(now, versions=True)
        known.insert(0, now)
    assert list(await store.versions("default", "agent", "a")) == known
    assert list(await store.versions("default", "agent", "a", before=3, limit=1)) == known[2:3]
    for version in known:
        assert await store.get("default", "agent", "a", version=version.version) == version
    assert await store.get("default", "agent", "a", version=9) is None


async def test_a_name_is_one_documents_until_it_is_archived(store: DocumentStore) -> None:
    await store.add(document("a", name="n", parent="p"))
    with pytest.raises(NameTaken) as taken:
        await store.add(document("b", name="n", parent="p"))
    assert taken.value.other == "a"
    await store.add(document("b", name="n", parent="q"))
    await store.add(document("c", name="", parent="p"))
    await store.add(document("d", name="", parent="p"))
    await store.replace(document("a", name="n", parent="p", archived_at=2.0))
    await store.add(document("e", name="n", parent="p"))
    with pytest.raises(NameTaken):
        await store.replace(document("c", name="n", parent="p"))


async def test_lists_are_ordered_filtered_and_cut(store: DocumentStore) -> None:
    await store.add(document("a", at=1.0, name="x/1", body={"on": True, "deep": {"n": 1}}))
    await store.add(document("b", at=2.0, name="x/2", body={"on": False, "deep": {"n": 2}}))
    await store.add(document("c", at=2.0, name="y/1", body={"on": True}))
    await store.add(document("d", at=3.0, name="%", archived_at=4.0))
    assert await ids(store) == ["c", "b", "a"]
    assert await ids(store, archived=True) == ["d", "c", "b", "a"]
    assert await ids(store, order="oldest") == ["a", "b", "c"]
    assert await ids(store, order="name") == ["a", "b", "c"]
    assert await ids(store, name_prefix="x/") == ["b", "a"]
    assert await ids(store, since=2.0) == ["c", "b"]
    assert await ids(store, until=1.0) == ["a"]
    assert await ids(store, where={"on": True}) == ["c", "a"]
    assert await ids(store, where={"deep.n": 2}) == ["b"]
    assert await ids(store, where={"deep.n": None}) == ["c"]
    assert await ids(store, parent="") == ["c", "b", "a"]
    assert await ids(store, parent="p") == []
    assert await ids(store, limit=2) == ["c", "b"]
    assert await ids(store, limit=0) == []


@pytest.mark.parametrize("order", ["newest", "oldest", "name"])
async def test_pages_hold_everything_once_while_documents_are_added(store: DocumentStore, order: Any) -> None:
    for number in range(7):
        await store.add(document(f"id{number}", at=float(number // 2), name=f"n{number // 2}-{number}"))
    seen: list[str] = []
    wanted = Wanted(order=order, limit=2)
    for page in range(10):
        found = await store.list("default", "agent", wanted)
        if not found:
            break
        seen += [one.id for one in found]
        wanted = replace(wanted, after=place_of(found[-1], wanted))
        first = order == "newest"  # comes before all that was seen, so no page may show it
        await store.add(document(f"new{page}", at=100.0 if first else -1.0, name="a" + str(page)))
    assert sorted(seen) == [f"id{number}" for number in range(7)]


async def test_what_goes_takes_along_its_versions_and_its_parts(store: DocumentStore) -> None:
    await store.add(document("store", kind="store"))
    await store.add(document("part", kind="memory", parent="store"))
    await store.add(document("inner", kind="revision", parent="part"))
    await store.add(document("beside", kind="memory", parent="other"))
    await store.replace(document("store", kind="store", version=2), versions=True)
    assert await store.remove("default", "store", "store")
    assert not await store.remove("default", "store", "store")
    assert await store.get("default", "memory", "part") is None
    assert await store.get("default", "revision", "inner") is None
    assert await store.get("default", "memory", "beside") is not None
    await store.add(document("store", kind="store"))
    assert len(await store.versions("default", "store", "store")) == 1


async def test_of_many_changes_at_once_exactly_one_is_taken(store: DocumentStore) -> None:
    await store.add(document("a"))
    won: list[int] = []

    async def change(number: int) -> None:
        try:
            await store.replace(document("a", version=2, body={"by": number}), expected=1, versions=True)
        except VersionConflict:
            return
        won.append(number)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(change, number)
    kept = await store.get("default", "agent", "a")
    assert kept is not None
    assert [kept.body["by"]] == won


async def test_changes_that_belong_together_are_all_done_or_none(store: DocumentStore) -> None:
    await store.add(document("a", name="first"))
    await store.add(document("b"))
    await store.change(
        Add(document("c", name="third", parent="a")),
        Replace(document("a", version=2, body={"new": True}), 1),
        Remove("default", "agent", "b"),
        Remove("default", "agent", "never"),
    )
    assert sorted(await ids(store)) == ["a", "c"]
    kept = await store.get("default", "agent", "a")
    assert kept is not None
    assert (kept.version, kept.body) == (2, {"new": True})
    for wrong in (
        Replace(document("a", version=3), 1),
        Replace(document("never")),
        Add(document("e", name="third", parent="a")),
    ):
        with pytest.raises((VersionConflict, UnknownDocument, NameTaken)):
            await store.change(Add(document("d")), wrong)
        with pytest.raises(UnknownDocument):
            await store.change(Remove("default", "agent", "a"), Replace(document("a")))
        assert sorted(await ids(store)) == ["a", "c"]
        assert await store.get("default", "agent", "a") == kept
