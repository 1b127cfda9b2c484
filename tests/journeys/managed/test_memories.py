"""Memory stores through the official client, and through the folders of sessions."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from tests.journeys.managed.conftest import Server, serving
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_files import results, said, session_with

from toolwright.contracts.models import ModelRequest
from toolwright.testing import call

pytestmark = pytest.mark.anyio
PLACE = "/mnt/memory/team-notes"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def store_with(client: AsyncAnthropic, **memories: str) -> Any:
    """Make a store; ``notes_a="x"`` is the memory ``/notes/a`` with that text."""
    store = await client.beta.memory_stores.create(name="Team  Notes!", description="What the team knows.")
    for name, content in memories.items():
        path = "/" + name.replace("_", "/")
        await client.beta.memory_stores.memories.create(store.id, path=path, content=content)
    return store


async def paths(client: AsyncAnthropic, store_id: str, **asked: Any) -> list[str]:
    return [one.path async for one in client.beta.memory_stores.memories.list(store_id, **asked)]


async def texts(client: AsyncAnthropic, store_id: str) -> dict[str, str]:
    listed: Any = client.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content async for one in listed}


async def versions(client: AsyncAnthropic, store_id: str, **asked: Any) -> list[Any]:
    return [one async for one in client.beta.memory_stores.memory_versions.list(store_id, **asked)]


async def test_stores_are_made_changed_archived_and_deleted(server: Server) -> None:
    stores = server.client.beta.memory_stores
    store = await stores.create(name="one", metadata={"a": "1"})
    assert store.id.startswith("memstore_")
    assert (store.description, store.archived_at) == ("", None)
    changed = await stores.update(store.id, name="two", description="new", metadata={"a": None, "b": "2"})
    assert (changed.name, changed.description, changed.metadata) == ("two", "new", {"b": "2"})
    others = [(await stores.create(name="same")).id for _ in range(3)]
    assert [one.id async for one in stores.list(limit=2)] == [*others[::-1], store.id]
    archived = await stores.archive(store.id)
    assert archived.archived_at is not None
    assert await stores.archive(store.id) == archived
    assert store.id not in [one.id async for one in stores.list()]
    assert store.id in [one.id async for one in stores.list(include_archived=True)]
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await stores.update(store.id, name="three")
    deleted = await stores.delete(store.id)
    assert (deleted.id, deleted.type) == (store.id, "memory_store_deleted")
    with pytest.raises(anthropic.NotFoundError):
        await stores.retrieve(store.id)
    wrongs: list[dict[str, Any]] = [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 256},
        {"name": "a", "description": "x" * 1_025},
    ]
    for wrong in wrongs:
        with pytest.raises(anthropic.BadRequestError):
            await stores.create(**wrong)


async def test_a_memory_is_written_read_moved_and_deleted(server: Server) -> None:
    store = await store_with(server.client)
    memories = server.client.beta.memory_stores.memories
    made = await memories.create(store.id, path="/a/b.md", content="alpha", view="full")
    assert made.id.startswith("mem_")
    assert (made.content, made.content_sha256, made.content_size_bytes) == ("alpha", digest("alpha"), 5)
    basic = await memories.retrieve(made.id, memory_store_id=store.id, view="basic")
    assert basic.content is None
    changed = await memories.update(made.id, memory_store_id=store.id, content="beta")
    assert (changed.id, changed.content, changed.content_sha256) == (made.id, None, digest("beta"))
    assert changed.memory_version_id not in {made.memory_version_id, ""}
    moved = await memories.update(made.id, memory_store_id=store.id, path="/c.md")
    assert (moved.id, moved.path, moved.content_sha256) == (made.id, "/c.md", digest("beta"))
    same = await memories.update(made.id, memory_store_id=store.id, path="/c.md", content="beta")
    assert same == moved
    assert (await memories.retrieve(made.id, memory_store_id=store.id)).content == "beta"
    deleted = await memories.delete(made.id, memory_store_id=store.id)
    assert (deleted.id, deleted.type) == (made.id, "memory_deleted")
    with pytest.raises(anthropic.NotFoundError):
        await memories.retrieve(made.id, memory_store_id=store.id)
    told = await versions(server.client, store.id, view="full")
    assert [(one.operation, one.path, one.content) for one in told] == [
        ("deleted", "/c.md", None),
        ("modified", "/c.md", "beta"),
        ("modified", "/a/b.md", "beta"),
        ("created", "/a/b.md", "alpha"),
    ]
    assert {one.memory_id for one in told} == {made.id}
    assert {one.created_by.type for one in told} == {"api_actor"}


async def test_what_others_have_changed_is_not_overwritten_unseen(server: Server) -> None:
    store = await store_with(server.client, a="alpha", b_c="beta")
    memories = server.client.beta.memory_stores.memories
    first = await memories.list(store.id)
    memory: Any = first.data[0]
    wrong: Any = {"type": "content_sha256", "content_sha256": digest("other")}
    right: Any = {"type": "content_sha256", "content_sha256": digest("alpha")}
    with pytest.raises(anthropic.ConflictError) as conflict:
        await memories.update(memory.id, memory_store_id=store.id, content="x", precondition=wrong)
    assert "memory_precondition_failed_error" in str(conflict.value.body)
    assert conflict.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(anthropic.ConflictError):
        await memories.delete(memory.id, memory_store_id=store.id, expected_content_sha256=digest("other"))
    await memories.update(memory.id, memory_store_id=store.id, content="x", precondition=right)
    for path in ("/a", "/a/deeper", "/b"):
        with pytest.raises(anthropic.ConflictError) as conflict:
            await memories.create(store.id, path=path, content="y")
        assert "memory_path_conflict_error" in str(conflict.value.body)
    with pytest.raises(anthropic.ConflictError):
        await memories.update(memory.id, memory_store_id=store.id, path="/b/c")
    await memories.delete(memory.id, memory_store_id=store.id, expected_content_sha256=digest("x"))
    assert await paths(server.client, store.id) == ["/b/c"]


@pytest.mark.parametrize(
    "given",
    [
        {"path": "a"},
        {"path": "/"},
        {"path": "/a//b"},
        {"path": "/a/../b"},
        {"path": "/a/."},
        {"path": "/" + "/".join("x" * 21)},
        {"path": "/a\u200eb"},
        {"path": "/a\u2028b"},
        {"path": "/a\x7fb"},
        {"path": "/e\u0301"},
        {"path": "/" + "/".join(["x" * 250] * 5)},
        {"content": "x" * 102_401},
        {"content": "ü" * 51_201},
    ],
)
async def test_a_memory_that_cannot_be_is_refused(server: Server, given: dict[str, Any]) -> None:
    store = await store_with(server.client)
    whole: dict[str, Any] = {"path": "/a", "content": "alpha", **given}
    with pytest.raises(anthropic.BadRequestError, match=next(iter(given))):
        await server.client.beta.memory_stores.memories.create(store.id, **whole)
    assert await paths(server.client, store.id) == []


async def test_lists_are_ordered_narrowed_and_folded(server: Server) -> None:
    given = {"b": "1", "a_x": "2", "a_y_z": "3", "a_y_w": "4", "ab_x": "5"}
    store = await store_with(server.client, **given)
    everything = ["/a/x", "/a/y/w", "/a/y/z", "/ab/x", "/b"]
    assert await paths(server.client, store.id) == everything
    assert await paths(server.client, store.id, limit=2) == everything
    assert await paths(server.client, store.id, path_prefix="/a/") == everything[:3]
    assert await paths(server.client, store.id, depth=1) == ["/a/", "/ab/", "/b"]
    assert await paths(server.client, store.id, depth=1, limit=1) == ["/a/", "/ab/", "/b"]
    assert await paths(server.client, store.id, depth=1, path_prefix="/a/") == ["/a/x", "/a/y/"]
    kinds = [one.type async for one in server.client.beta.memory_stores.memories.list(store.id, depth=1)]
    assert kinds == ["memory_prefix", "memory_prefix", "memory"]
    assert (await texts(server.client, store.id))["/a/y/w"] == "4"
    wrongs: list[dict[str, Any]] = [
        {"path_prefix": "/a"},
        {"depth": 2},
        {"limit": 101},
        {"limit": 21, "view": "full"},
        {"page": "page_x"},
    ]
    for wrong in wrongs:
        with pytest.raises(anthropic.BadRequestError):
            await server.client.beta.memory_stores.memories.list(store.id, **wrong)


async def test_versions_are_narrowed_and_redacted(server: Server) -> None:
    client = server.client
    store = await store_with(client, a="alpha", b="beta")
    first: Any = (await client.beta.memory_stores.memories.list(store.id)).data[0]
    await client.beta.memory_stores.memories.update(first.id, memory_store_id=store.id, content="new")
    of_first = await versions(client, store.id, memory_id=first.id, limit=1)
    assert [(one.operation, one.content) for one in of_first] == [("modified", None), ("created", None)]
    assert len(await versions(client, store.id, operation="created")) == 2
    key = of_first[0].created_by.api_key_id
    assert len(await versions(client, store.id, api_key_id=key)) == 3
    for nobody in ({"session_id": "sesn_x"}, {"service_account_id": "svac_x"}, {"api_key_id": "key_x"}):
        assert await versions(client, store.id, **nobody) == []
    assert await versions(client, store.id, created_at_gte="2999-01-01T00:00:00Z") == []
    redacting = client.beta.memory_stores.memory_versions
    with pytest.raises(anthropic.BadRequestError, match="holds now"):
        await redacting.redact(of_first[0].id, memory_store_id=store.id)
    redacted = await redacting.redact(of_first[1].id, memory_store_id=store.id)
    assert redacted.redacted_at is not None
    assert redacted.redacted_by is not None
    assert (redacted.path, redacted.content, redacted.content_sha256) == (None, None, None)
    assert redacted.content_size_bytes is None
    assert await redacting.redact(of_first[1].id, memory_store_id=store.id) == redacted
    again = await redacting.retrieve(of_first[1].id, memory_store_id=store.id)
    assert again == redacted


async def test_an_archived_store_is_read_and_not_written(server: Server) -> None:
    client = server.client
    store = await store_with(client, a="alpha", b="beta")
    await client.beta.memory_stores.archive(store.id)
    memories = client.beta.memory_stores.memories
    first: Any = (await memories.list(store.id)).data[0]
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await memories.create(store.id, path="/c", content="x")
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await memories.update(first.id, memory_store_id=store.id, content="x")
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await session_with(client, resources=[{"type": "memory_store", "memory_store_id": store.id}])
    assert (await memories.retrieve(first.id, memory_store_id=store.id)).content == "alpha"
    await memories.delete(first.id, memory_store_id=store.id)
    [gone, *_] = await versions(client, store.id, memory_id=first.id, operation="created")
    await client.beta.memory_stores.memory_versions.redact(gone.id, memory_store_id=store.id)


async def test_a_store_goes_with_all_that_is_in_it(server: Server) -> None:
    store = await store_with(server.client, a="alpha")
    first: Any = (await server.client.beta.memory_stores.memories.list(store.id)).data[0]
    await server.client.beta.memory_stores.delete(store.id)
    documents = server.house.documents
    assert await documents.get("default", "memory", first.id) is None
    assert await documents.get("default", "memory_version", first.memory_version_id) is None


async def test_the_beta_of_memories_is_needed_and_stands_alone(server: Server) -> None:
    stores = server.client.beta.memory_stores
    both = {"anthropic-beta": "agent-memory-2026-07-22,managed-agents-2026-04-01"}
    with pytest.raises(anthropic.BadRequestError):
        await stores.create(name="a", extra_headers=both)
    assert (await stores.create(name="a", extra_headers={"anthropic-beta": "managed-agents-2026-04-01"})).id
    with pytest.raises(anthropic.NotFoundError):
        await stores.create(name="a", extra_headers={"anthropic-beta": "other"})


# --- in sessions ---


async def test_what_a_session_writes_becomes_memories_of_that_session(tmp_path: Path) -> None:
    seen: list[ModelRequest] = []

    def begin(request: ModelRequest) -> Any:
        seen.append(request)
        return [call("read", file_path=f"{PLACE}/a")]

    script = [
        begin,
        [call("grep", pattern="beta", path=PLACE)],
        [call("edit", file_path=f"{PLACE}/a", old_string="alpha", new_string="changed")],
        [call("bash", command=f"cd {PLACE} && mkdir deep && echo new > deep/n.md && mv b c && rm d")],
        [call("write", file_path=f"{PLACE}/w.md", content="written")],
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        client = server.client
        store = await store_with(client, a="alpha", b="beta", d="delta")
        before: dict[str, Any] = {
            one.path: one async for one in client.beta.memory_stores.memories.list(store.id)
        }
        session = await session_with(
            client,
            resources=[
                {"type": "memory_store", "memory_store_id": store.id, "instructions": "Look here first."}
            ],
        )
        [resource] = session.resources
        assert data(resource) | {"id": "", "created_at": "", "updated_at": ""} == {
            "id": "",
            "type": "memory_store",
            "memory_store_id": store.id,
            "access": "read_write",
            "name": "Team  Notes!",
            "description": "What the team knows.",
            "instructions": "Look here first.",
            "mount_path": PLACE,
            "created_at": "",
            "updated_at": "",
        }
        told = results(await said(client, session.id))
        assert [error for error, _ in told] == [False] * 5, told
        assert "alpha" in told[0][1]
        assert f"{PLACE}/b" in told[1][1]
        assert await texts(client, store.id) == {
            "/a": "changed", "/c": "beta", "/deep/n.md": "new\n", "/w.md": "written",
        }  # fmt: skip
        after: dict[str, Any] = {
            one.path: one async for one in client.beta.memory_stores.memories.list(store.id)
        }
        assert after["/c"].id == before["/b"].id
        by_session = await versions(client, store.id, session_id=session.id)
        assert sorted((one.operation, one.path) for one in by_session) == [
            ("created", "/deep/n.md"), ("created", "/w.md"), ("deleted", "/d"), ("modified", "/a"),
            ("modified", "/c"),
        ]  # fmt: skip
        assert {one.created_by.session_id for one in by_session} == {session.id}
        assert [one.id async for one in client.beta.sessions.list(memory_store_id=store.id)] == [session.id]
        assert [one.id async for one in client.beta.sessions.list(memory_store_id="memstore_x")] == []
        with pytest.raises(anthropic.BadRequestError, match="stays"):
            await client.beta.sessions.resources.delete(data(resource)["id"], session_id=session.id)
        await client.beta.sessions.delete(session.id)
        assert await paths(client, store.id) == ["/a", "/c", "/deep/n.md", "/w.md"]
    system = "\n".join(seen[0].preamble.system)
    assert f"- {PLACE} (read and write): Notes that outlast" in system
    assert "What the team knows. Look here first." in system


async def test_what_others_change_reaches_a_session_with_its_next_message(tmp_path: Path) -> None:
    read = call("bash", command=f"cat {PLACE}/* | sort; echo end")
    script = [[read], "Read.", [read], "Read.", [call("bash", command=f"echo mine > {PLACE}/a")], "Done."]
    async with serving(tmp_path, script) as server:
        client = server.client
        store = await store_with(client, a="alpha\n", b="beta\n")
        session = await session_with(
            client, resources=[{"type": "memory_store", "memory_store_id": store.id}]
        )
        assert results(await said(client, session.id))[0][1].startswith("alpha\nbeta\nend")
        listed: dict[str, Any] = {
            one.path: one async for one in client.beta.memory_stores.memories.list(store.id)
        }
        memories = client.beta.memory_stores.memories
        await memories.update(listed["/a"].id, memory_store_id=store.id, content="other\n")
        await memories.delete(listed["/b"].id, memory_store_id=store.id)
        await memories.create(store.id, path="/c", content="new\n")
        assert results(await said(client, session.id))[0][1].startswith("new\nother\nend")
        await said(client, session.id)
        assert await texts(client, store.id) == {"/a": "mine\n", "/c": "new\n"}
        told = await versions(client, store.id, memory_id=listed["/a"].id, view="full")
        assert [one.content for one in told] == ["mine\n", "other\n", "alpha\n"]


async def test_a_store_that_is_only_read_is_not_written(tmp_path: Path) -> None:
    script = [
        [call("bash", command=f"cat {PLACE}/a; echo x > {PLACE}/b")],
        [call("bash", command=f"rm -f {PLACE}/a; true")],
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        store = await store_with(server.client, a="alpha")
        session = await session_with(
            server.client,
            resources=[{"type": "memory_store", "memory_store_id": store.id, "access": "read_only"}],
        )
        told = results(await said(server.client, session.id))
        assert "alpha" in told[0][1]
        assert "Read-only file system" in told[0][1]
        assert await texts(server.client, store.id) == {"/a": "alpha"}
        assert len(await versions(server.client, store.id)) == 1


async def test_a_model_is_told_once_of_what_cannot_be_kept(tmp_path: Path) -> None:
    seen: list[str] = []

    def then(request: ModelRequest) -> Any:
        seen.append(str(request.messages[-1]))
        return [call("bash", command="true")]

    def last(request: ModelRequest) -> str:
        seen.append(str(request.messages[-1]))
        return "Done."

    command = (
        f"cd {PLACE}; head -c 200000 /dev/zero | tr '\\0' x > big; printf '\\377' > raw; ln -s /etc link"
    )
    async with serving(tmp_path, [[call("bash", command=command)], then, last]) as server:
        store = await store_with(server.client, a="alpha")
        session = await session_with(
            server.client, resources=[{"type": "memory_store", "memory_store_id": store.id}]
        )
        await said(server.client, session.id)
        assert await paths(server.client, store.id) == ["/a"]
    for path, why in (
        ("big", "it is larger than 102,400 bytes"),
        ("raw", "it is no UTF-8 text"),
        ("link", "only regular files are kept"),
    ):
        note = f"{PLACE}/{path} is not kept as a memory: {why}."
        assert note in seen[0]
        assert note not in seen[1]


@pytest.mark.parametrize(
    ("resources", "named"),
    [
        ([{"memory_store_id": "memstore_unknown"}], r"resources\.0\.memory_store_id"),
        ([{"memory_store_id": "STORE"}] * 2, r"resources\.1\.memory_store_id"),
        ([{"memory_store_id": "STORE", "instructions": "x" * 4_097}], "instructions"),
        ([{"memory_store_id": "STORE", "access": "write"}], "access"),
    ],
)
async def test_stores_that_a_session_cannot_have_are_refused(
    server: Server, tmp_path: Path, resources: list[dict[str, str]], named: str
) -> None:
    store = await store_with(server.client)
    given = [
        {"type": "memory_store"} | {key: store.id if text == "STORE" else text for key, text in one.items()}
        for one in resources
    ]
    with pytest.raises(anthropic.BadRequestError, match=named):
        await session_with(server.client, resources=given)
    assert not list((tmp_path / "data").glob("mounts/*"))


async def test_resources_stand_in_the_order_in_which_they_were_given(server: Server) -> None:
    store = await store_with(server.client)
    file = await server.client.beta.files.upload(file=("a.txt", b"alpha"))
    files: list[Any] = [
        {"type": "file", "file_id": file.id, "mount_path": f"{number}.txt"} for number in range(3)
    ]
    memory: Any = {"type": "memory_store", "memory_store_id": store.id}
    session = await session_with(server.client, resources=[files[2], memory, files[0], files[1]])
    places = [data(one)["mount_path"].rpartition("/")[2] for one in session.resources]
    assert places == ["2.txt", "team-notes", "0.txt", "1.txt"]


async def test_two_stores_of_one_name_have_folders_of_their_own(server: Server) -> None:
    made = [await store_with(server.client) for _ in range(2)]
    session = await session_with(
        server.client, resources=[{"type": "memory_store", "memory_store_id": one.id} for one in made]
    )
    assert [data(one)["mount_path"] for one in session.resources] == [PLACE, f"{PLACE}-2"]


async def all_looks(client: AsyncAnthropic, store: Any, memory: Any) -> AsyncIterator[Any]:
    """Yield every way to look at or change a memory."""
    stores = client.beta.memory_stores
    version: Any = {"memory_version_id": memory.memory_version_id, "memory_store_id": store.id}
    yield stores.retrieve(store.id)
    yield stores.update(store.id, name="x")
    yield stores.archive(store.id)
    yield stores.delete(store.id)
    yield stores.memories.list(store.id)
    yield stores.memories.create(store.id, path="/x", content="x")
    yield stores.memories.retrieve(memory.id, memory_store_id=store.id)
    yield stores.memories.update(memory.id, memory_store_id=store.id, content="x")
    yield stores.memories.delete(memory.id, memory_store_id=store.id)
    yield stores.memory_versions.list(store.id)
    yield stores.memory_versions.retrieve(**version)
    yield stores.memory_versions.redact(**version)


async def test_memories_of_another_workspace_are_not_there(server: Server) -> None:
    store = await store_with(server.client, a="alpha")
    memory: Any = (await server.client.beta.memory_stores.memories.list(store.id)).data[0]
    _, key = await server.house.keys.create(workspace="other")
    async with server.other(key) as other:
        assert [one async for one in other.beta.memory_stores.list()] == []
        async for look in all_looks(other, store, memory):
            with pytest.raises(anthropic.NotFoundError):
                await look
        with pytest.raises(anthropic.BadRequestError, match="memory_store_id"):
            await session_with(other, resources=[{"type": "memory_store", "memory_store_id": store.id}])
    elsewhere = await store_with(server.client)
    memories = server.client.beta.memory_stores.memories
    for beside in (
        memories.retrieve(memory.id, memory_store_id=elsewhere.id),
        memories.update(memory.id, memory_store_id=elsewhere.id, content="x"),
        memories.delete(memory.id, memory_store_id=elsewhere.id),
    ):
        with pytest.raises(anthropic.NotFoundError):
            await beside
    assert await texts(server.client, store.id) == {"/a": "alpha"}
