"""Files through the official client: sent in, listed, mounted; and what a session writes, fetched."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic
from tests.journeys.managed.conftest import KEY, Server, process, serving
from tests.journeys.managed.test_definitions import data

from toolwright.contracts.models import ModelRequest
from toolwright.testing import call

pytestmark = pytest.mark.anyio
UPLOADS, OUTPUTS = "/mnt/session/uploads", "/mnt/session/outputs"
TOOLS: Any = [{"type": "agent_toolset_20260401"}]


async def session_with(client: AsyncAnthropic, **given: Any) -> Any:
    agent = await client.beta.agents.create(name="Helper", model="claude-sonnet-4-6", tools=TOOLS)
    environment = await client.beta.environments.create(name="here")
    return await client.beta.sessions.create(agent=agent.id, environment_id=environment.id, **given)


async def said(client: AsyncAnthropic, session_id: str, text: str = "Go on.") -> list[Any]:
    """Send a message; return the events up to the end of the turn."""
    message: Any = {"type": "user.message", "content": [{"type": "text", "text": text}]}
    events = []
    async with await client.beta.sessions.events.stream(session_id) as stream:
        await client.beta.sessions.events.send(session_id, events=[message])
        async for event in stream:
            events.append(event)
            if event.type == "session.status_idle":
                return events
    raise AssertionError("the stream ended before the turn did")


def results(events: list[Any]) -> list[tuple[bool, str]]:
    """Whether each result of a call is an error, and its text."""
    found = [event for event in events if event.type == "agent.tool_result"]
    return [(bool(one.is_error), "".join(part.text for part in one.content or ())) for one in found]


async def test_a_file_is_sent_listed_and_deleted(server: Server) -> None:
    files = server.client.beta.files
    file = await files.upload(file=("notes/plan.txt", b"alpha", "text/plain"))
    assert file.id.startswith("file_")
    assert data(file) | {"id": "", "created_at": ""} == {
        "id": "",
        "type": "file",
        "filename": "plan.txt",
        "mime_type": "text/plain",
        "size_bytes": 5,
        "created_at": "",
        "downloadable": False,
        "expires_at": None,
        "scope": None,
    }
    assert await files.retrieve_metadata(file.id) == file
    others = [(await files.upload(file=(f"{number}.csv", b""))).id for number in range(3)]
    assert [one.id async for one in files.list(limit=2)] == [*others[::-1], file.id]
    with pytest.raises(anthropic.BadRequestError) as refused:
        await files.download(file.id)
    assert "file_not_downloadable" in str(refused.value.body)
    deleted = await files.delete(file.id)
    assert (deleted.id, deleted.type) == (file.id, "file_deleted")
    for look in (files.retrieve_metadata(file.id), files.delete(file.id), files.download(file.id)):
        with pytest.raises(anthropic.NotFoundError):
            await look


async def test_files_are_found_by_their_ids(server: Server) -> None:
    files = server.client.beta.files
    made = [(await files.upload(file=(f"{number}", b"x"))).id for number in range(3)]
    page = await files.list(ids=[made[2], "file_unknown", made[0], made[2]])
    assert [one.id for one in page.data] == [made[2], made[0]]
    assert page.next_page is None
    for wrong in ({"limit": 2}, {"page": "page_x"}):
        with pytest.raises(anthropic.BadRequestError, match="ids"):
            await files.list(ids=made, **wrong)
    with pytest.raises(anthropic.BadRequestError, match="at most 100"):
        await files.list(ids=[f"file_{number}" for number in range(101)])


@pytest.mark.parametrize(
    ("name", "media", "shown"),
    [
        ("C:\\temp\\a.txt", "text/plain", ("a.txt", "text/plain")),
        ("table.csv", None, ("table.csv", "text/csv")),
        ("picture.png", "application/octet-stream", ("picture.png", "image/png")),
        ("grüße.md", "text/markdown", ("grüße.md", "text/markdown")),
        ("..", "text/plain", ("unnamed.txt", "text/plain")),
        ("data", "not a type", ("data", "application/octet-stream")),
    ],
)
async def test_only_the_last_part_of_a_name_counts(
    server: Server, name: str, media: str | None, shown: tuple[str, str]
) -> None:
    file = await server.client.beta.files.upload(file=(name, b"x", media) if media else (name, b"x"))
    assert (file.filename, file.mime_type) == shown


async def test_a_file_without_a_name_is_taken(server: Server) -> None:
    content = bytes(range(256)) * 1_000
    file = await server.client.beta.files.upload(file=content)
    assert (file.filename, file.size_bytes) == ("unnamed.bin", len(content))
    found = [piece async for piece in server.house.files.read(file.id)]
    assert b"".join(found) == content


@pytest.mark.parametrize("name", ["a?.txt", "a<b", "x" * 256])
async def test_a_name_that_no_file_has_is_refused(server: Server, name: str) -> None:
    with pytest.raises(anthropic.BadRequestError, match="file: a name"):
        await server.client.beta.files.upload(file=(name, b"x"))


async def test_a_file_may_expire(server: Server, tmp_path: Path) -> None:
    files = server.client.beta.files
    file = await files.upload(file=("a.txt", b"alpha"), expires_in_seconds=3_600)
    assert file.expires_at is not None
    assert (file.expires_at - file.created_at).total_seconds() == pytest.approx(3_600)
    for wrong in (3_599, 7_776_001):
        with pytest.raises(anthropic.BadRequestError, match="expires_in_seconds"):
            await files.upload(file=("a.txt", b"alpha"), expires_in_seconds=wrong)
    house = server.house
    found = await house.documents.get("default", "file", file.id)
    assert found is not None
    from dataclasses import replace

    await house.documents.replace(replace(found, body={**found.body, "expires_at": house.clock.now() - 1}))
    await files.upload(file=("b.txt", b"beta"))
    assert not (tmp_path / "data" / "files" / file.id).exists()
    with pytest.raises(anthropic.NotFoundError) as gone:
        await files.download(file.id)
    assert "file_expired" in str(gone.value.body)
    with pytest.raises(anthropic.BadRequestError, match="expired"):
        await session_with(server.client, resources=[{"type": "file", "file_id": file.id}])


async def raw(server: Server, content: bytes, kind: str) -> httpx2.Response:
    head = {"authorization": f"Bearer {KEY}", "anthropic-version": "2026-10-21", "content-type": kind}
    async with httpx2.AsyncClient(base_url=server.address) as client:
        return await client.post("/v1/files", content=content, headers=head)


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "application/json", 415),
        (b"", "multipart/form-data", 400),
        (b"nothing of a form", "multipart/form-data; boundary=x", 400),
        (b"--x--\r\n", "multipart/form-data; boundary=x", 400),
        (b'--x\r\ncontent-disposition: form-data; name="other"; filename="a"\r\n\r\nx\r\n--x--\r\n',
         "multipart/form-data; boundary=x", 400),
    ],
)  # fmt: skip
async def test_a_form_that_is_none_is_refused(
    server: Server, tmp_path: Path, content: bytes, kind: str, status: int
) -> None:
    answer = await raw(server, content, kind)
    assert (answer.status_code, answer.json()["type"]) == (status, "error")
    assert not list((tmp_path / "data").glob("files/*"))


async def test_a_file_that_says_it_is_too_large_is_refused_before_it_is_read(server: Server) -> None:
    head = (
        f"POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {KEY}\r\n"
        "anthropic-version: 2026-10-21\r\ncontent-type: multipart/form-data; boundary=x\r\n"
        f"content-length: {501 * 1024 * 1024}\r\n\r\n"
    )
    import asyncio

    host, port = server.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.encode())
    async with asyncio.timeout(20):
        line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    assert line.split()[1] == b"413"


async def test_a_mounted_file_is_read_and_an_output_is_fetched(tmp_path: Path) -> None:
    script = [
        [call("read", file_path=f"{UPLOADS}/in/table.csv")],
        [call("bash", command=f"wc -c < {UPLOADS}/in/table.csv > {OUTPUTS}/count.txt; pwd")],
        [call("write", file_path=f"{OUTPUTS}/deep/report.md", content="# Done\n")],
        [call("grep", pattern="Done", path=OUTPUTS)],
        [call("glob", pattern="**/*", path=UPLOADS)],
        "It is done.",
    ]
    async with serving(tmp_path, script) as server:
        client = server.client
        file = await client.beta.files.upload(file=("table.csv", b"a,b\n1,2\n"))
        session = await session_with(
            client, resources=[{"type": "file", "file_id": file.id, "mount_path": "in/table.csv"}]
        )
        [resource] = session.resources
        assert resource.mount_path == f"{UPLOADS}/in/table.csv"
        assert resource.file_id not in {file.id, ""}
        assert [one.id async for one in client.beta.files.list(scope_id=session.id)] == []
        told = results(await said(client, session.id))
        assert [error for error, _ in told] == [False] * 5, told
        assert "1,2" in told[0][1]
        assert f"{OUTPUTS}/deep/report.md" in told[3][1]
        assert f"{UPLOADS}/in/table.csv" in told[4][1]
        assert str(tmp_path / "data" / "mounts") not in str(told)
        found = {one.filename: one async for one in client.beta.files.list(scope_id=session.id)}
        assert {name: one.size_bytes for name, one in found.items()} == {"count.txt": 2, "report.md": 7}
        for one in found.values():
            assert one.downloadable
            assert one.scope is not None
            assert (one.scope.type, one.scope.id) == ("session", session.id)
        content = await client.beta.files.download(found["report.md"].id)
        assert await content.read() == b"# Done\n"
        again = {one.filename: one.id async for one in client.beta.files.list(scope_id=session.id)}
        assert again == {name: one.id for name, one in found.items()}
        await client.beta.files.delete(found["count.txt"].id)
        assert [one.filename async for one in client.beta.files.list(scope_id=session.id)] == ["report.md"]
        copy = await client.beta.files.retrieve_metadata(resource.file_id)
        assert (copy.filename, copy.downloadable) == ("table.csv", False)
        await client.beta.sessions.delete(session.id)
        for id in (found["report.md"].id, resource.file_id):
            with pytest.raises(anthropic.NotFoundError):
                await client.beta.files.retrieve_metadata(id)
        assert (await client.beta.files.retrieve_metadata(file.id)).id == file.id
        assert os.listdir(tmp_path / "data" / "mounts") == []


async def test_what_was_mounted_cannot_be_changed(tmp_path: Path) -> None:
    place = f"{UPLOADS}/a.txt"
    script = [
        [call("read", file_path=place)],
        [
            call("edit", file_path=place, old_string="alpha", new_string="beta"),
            call("write", file_path=f"{UPLOADS}/new.txt", content="new"),
            call("bash", command=f"echo beta > {place}"),
        ],
        "No.",
    ]
    async with serving(tmp_path, script) as server:
        file = await server.client.beta.files.upload(file=("a.txt", b"alpha\n"))
        session = await session_with(
            server.client, resources=[{"type": "file", "file_id": file.id, "mount_path": place}]
        )
        told = results(await said(server.client, session.id))
        assert "alpha" in told[0][1]
        assert all(error for error, _ in told[1:]), told
        mounted = tmp_path / "data" / "mounts" / session.id / "uploads"
        assert os.listdir(mounted) == ["a.txt"]
        assert (mounted / "a.txt").read_bytes() == b"alpha\n"


async def _until_rest(client: AsyncAnthropic, session_id: str) -> list[Any]:
    """Follow a session from its beginning until it rests, denying whatever it asks about."""
    from anyio import fail_after, sleep

    with fail_after(60):
        while True:
            events = [event async for event in client.beta.sessions.events.list(session_id)]
            last: Any = events[-1]
            if last.type == "session.status_idle" and last.stop_reason.type != "requires_action":
                return events
            if last.type == "session.status_idle":
                answers: Any = [
                    {"type": "user.tool_confirmation", "tool_use_id": id, "result": "deny"}
                    for id in last.stop_reason.event_ids
                ]
                await client.beta.sessions.events.send(session_id, events=answers)
            await sleep(0.05)


async def test_outputs_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    command = (
        f"cd {OUTPUTS}; ln -s {tmp_path}/secret a; ln -s /etc/hostname b; ln -s ../../.. c; "
        "mkfifo d; echo plain > e; ln -s e f"
    )
    async with serving(tmp_path, [[call("bash", command=command)], "Done."]) as server:
        session = await session_with(server.client)
        await said(server.client, session.id)
        found = [one async for one in server.client.beta.files.list(scope_id=session.id)]
        assert [one.filename for one in found] == ["e"]


async def test_no_tool_reaches_what_is_neither_folder_nor_mount(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("what nobody may read")
    links = (
        f"cd {OUTPUTS}; ln -s {tmp_path} a; ln -s ../../../../../../../../../.. b; ln -s {UPLOADS}/x c; "
        "ln -s ../uploads d"
    )
    script = [
        [call("bash", command=links)],
        [call("read", file_path=f"{OUTPUTS}/a/secret")],
        [call("read", file_path=f"{OUTPUTS}/b{tmp_path}/secret")],
        [call("grep", pattern="nobody", path=f"{OUTPUTS}/a")],
        [call("glob", pattern="*", path=f"{OUTPUTS}/a")],
        [call("write", file_path=f"{OUTPUTS}/a/new", content="x")],
        [call("write", file_path=f"{OUTPUTS}/d/new", content="x")],
        [call("read", file_path=f"{tmp_path}/secret")],
        [call("write", file_path=f"{tmp_path}/new", content="x")],
        [call("read", file_path=f"{OUTPUTS}/c")],
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        file = await server.client.beta.files.upload(file=("x", b"given"))
        given: Any = [{"type": "file", "file_id": file.id, "mount_path": "x"}]
        session = await session_with(server.client, resources=given)
        told = results(await said(server.client, session.id))
        assert [error for error, _ in told] == [False, *[True] * 8, False], told
        assert "given" in told[-1][1]
        assert "what nobody may read" not in str(told)
        assert not (tmp_path / "new").exists()
        assert os.listdir(tmp_path / "data" / "mounts" / session.id / "uploads") == ["x"]


async def test_resources_come_and_go_while_a_session_is_there(tmp_path: Path) -> None:
    script = [[call("read", file_path=f"{UPLOADS}/later.txt")], "Read."]
    async with serving(tmp_path, script) as server:
        client = server.client
        resources = client.beta.sessions.resources
        file = await client.beta.files.upload(file=("a.txt", b"alpha\n"))
        session = await session_with(client, resources=[{"type": "file", "file_id": file.id}])
        first: Any = session.resources[0]
        assert first.mount_path == f"{UPLOADS}/{file.id}"
        added = await resources.add(
            session.id, type="file", file_id=file.id, mount_path=f"{UPLOADS}/later.txt"
        )
        assert added.mount_path == f"{UPLOADS}/later.txt"
        with pytest.raises(anthropic.BadRequestError, match="mount_path"):
            await resources.add(session.id, type="file", file_id=file.id, mount_path="later.txt")
        with pytest.raises(anthropic.BadRequestError, match="mount_path"):
            await resources.add(session.id, type="file", file_id=file.id, mount_path="later.txt/below")
        with pytest.raises(anthropic.BadRequestError, match="file_id"):
            await resources.add(session.id, type="file", file_id="file_unknown")
        assert "alpha" in results(await said(client, session.id))[0][1]
        assert [data(one)["id"] async for one in resources.list(session.id)] == [first.id, added.id]
        paged = [data(one)["id"] async for one in resources.list(session.id, limit=1)]
        assert paged == [first.id, added.id]
        assert await resources.retrieve(added.id, session_id=session.id) == added
        with pytest.raises(anthropic.BadRequestError, match="authorization_token"):
            await resources.update(added.id, session_id=session.id, authorization_token="token-of-mine")
        deleted = await resources.delete(added.id, session_id=session.id)
        assert (deleted.id, deleted.type) == (added.id, "session_resource_deleted")
        with pytest.raises(anthropic.NotFoundError):
            await resources.retrieve(added.id, session_id=session.id)
        shown = await client.beta.sessions.retrieve(session.id)
        assert [data(one)["id"] for one in shown.resources] == [first.id]
        assert os.listdir(tmp_path / "data" / "mounts" / session.id / "uploads") == [file.id]


@pytest.mark.parametrize(
    ("resources", "named"),
    [
        ([{"type": "file", "file_id": "file_unknown"}], r"resources\.0\.file_id"),
        ([{"type": "file", "file_id": "FILE", "mount_path": "../x"}], "mount_path"),
        ([{"type": "file", "file_id": "FILE", "mount_path": "a\x00b"}], "mount_path"),
        ([{"type": "file", "file_id": "FILE", "mount_path": "a//b"}], "mount_path"),
        ([{"type": "file", "file_id": "FILE", "mount_path": UPLOADS}], "mount_path"),
        ([{"type": "file", "file_id": "FILE"}] * 2, "mount_path"),
        ([{"type": "github_repository", "url": "https://github.com/a/b"}], r"resources\.0: repositories"),
    ],
)
async def test_resources_that_cannot_be_are_refused_and_leave_nothing(
    server: Server, tmp_path: Path, resources: list[dict[str, str]], named: str
) -> None:
    file = await server.client.beta.files.upload(file=("a.txt", b"alpha"))
    given = [{key: file.id if value == "FILE" else value for key, value in one.items()} for one in resources]
    with pytest.raises(anthropic.BadRequestError, match=named):
        await session_with(server.client, resources=given)
    assert [one async for one in server.client.beta.sessions.list()] == []
    assert not list((tmp_path / "data").glob("mounts/*"))


async def test_the_model_is_told_where_files_are(tmp_path: Path) -> None:
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return "Yes."

    async with serving(tmp_path, [answer]) as server:
        session = await session_with(server.client)
        await said(server.client, session.id)
    system = "\n".join(seen[0].preamble.system)
    assert f"- {UPLOADS} (read only)" in system
    assert f"- {OUTPUTS} (read and write)" in system


async def test_files_of_another_workspace_are_not_there(tmp_path: Path) -> None:
    script = [[call("write", file_path=f"{OUTPUTS}/a.txt", content="alpha")], "Done."]
    async with serving(tmp_path, script) as server:
        file = await server.client.beta.files.upload(file=("a.txt", b"alpha"))
        session = await session_with(server.client, resources=[{"type": "file", "file_id": file.id}])
        await said(server.client, session.id)
        [output] = [one async for one in server.client.beta.files.list(scope_id=session.id)]
        _, key = await server.house.keys.create(workspace="other")
        async with server.other(key) as other:
            assert [one async for one in other.beta.files.list()] == []
            assert [one async for one in other.beta.files.list(scope_id=session.id)] == []
            assert (await other.beta.files.list(ids=[file.id, output.id])).data == []
            resource = session.resources[0].id
            for look in (
                other.beta.files.retrieve_metadata(file.id),
                other.beta.files.download(output.id),
                other.beta.files.delete(output.id),
                other.beta.sessions.resources.list(session.id),
                other.beta.sessions.resources.retrieve(resource, session_id=session.id),
                other.beta.sessions.resources.delete(resource, session_id=session.id),
                other.beta.sessions.resources.add(session.id, type="file", file_id=file.id),
            ):
                with pytest.raises(anthropic.NotFoundError):
                    await look
            with pytest.raises(anthropic.BadRequestError, match="file_id"):
                await session_with(other, resources=[{"type": "file", "file_id": file.id}])


async def test_files_outlive_the_server(tmp_path: Path) -> None:
    script = [[call("write", file_path=f"{OUTPUTS}/a.txt", content="alpha")], "Done."]
    async with serving(tmp_path, script) as server:
        file = await server.client.beta.files.upload(file=("a.txt", b"alpha\n"))
        session = await session_with(server.client, resources=[{"type": "file", "file_id": file.id}])
        await said(server.client, session.id)
    async with serving(tmp_path, [[call("read", file_path=f"{UPLOADS}/{file.id}")], "Read."]) as server:
        assert await server.client.beta.files.retrieve_metadata(file.id) == file
        [output] = [one async for one in server.client.beta.files.list(scope_id=session.id)]
        content = await server.client.beta.files.download(output.id)
        assert await content.read() == b"alpha"
        assert "alpha" in results(await said(server.client, session.id))[0][1]


PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + b"a little picture"


async def test_content_may_be_named_by_a_file(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(request: ModelRequest) -> str:
        seen.append(str(request.messages[-1]))
        return "Seen."

    async with serving(tmp_path, [answer, answer]) as server:
        client = server.client
        text = await client.beta.files.upload(file=("a.md", "Grüße".encode(), "text/markdown"))
        paper = await client.beta.files.upload(file=("a.pdf", b"%PDF-1.7 a paper", "application/pdf"))
        picture = await client.beta.files.upload(file=("a.png", PICTURE, "image/png"))
        content: Any = [
            {"type": "document", "source": {"type": "file", "file_id": text.id}, "title": "Greeting"},
            {"type": "document", "source": {"type": "file", "file_id": paper.id}},
            {"type": "image", "source": {"type": "file", "file_id": picture.id}},
        ]
        session = await session_with(client)
        message: Any = {"type": "user.message", "content": content}
        async with await client.beta.sessions.events.stream(session.id) as stream:
            await client.beta.sessions.events.send(session.id, events=[message])
            async for event in stream:
                if event.type == "session.status_idle":
                    break
        again = await session_with(client, initial_events=[message])
        await _until_rest(client, again.id)
    first, second = seen
    for told in (first, second):
        assert "Greeting" in told
        assert "Grüße" in told
        for sent in (b"%PDF-1.7 a paper", PICTURE):
            assert base64.b64encode(sent).decode() in told


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        ("document", "unknown", r"content\.0\.source\.file_id: there is no file"),
        ("document", "a.bin", r"content\.0\.source\.file_id: a document"),
        ("image", "a.txt", r"content\.0\.source\.file_id: text/plain is no picture"),
    ],
)
async def test_content_that_cannot_be_taken_is_refused(
    server: Server, kind: str, name: str, named: str
) -> None:
    client = server.client
    made = {
        "a.bin": await client.beta.files.upload(file=("a.bin", b"\xff\xfe\x00")),
        "a.txt": await client.beta.files.upload(file=("a.txt", b"text")),
    }
    id = made[name].id if name in made else "file_unknown"
    content = [{"type": kind, "source": {"type": "file", "file_id": id}}]
    message: Any = {"type": "user.message", "content": content}
    session = await session_with(client)
    with pytest.raises(anthropic.BadRequestError, match=named):
        await client.beta.sessions.events.send(session.id, events=[message])
    with pytest.raises(anthropic.BadRequestError, match=named):
        await session_with(client, initial_events=[message])
    assert len([one async for one in client.beta.sessions.list()]) == 1


async def test_what_was_answered_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"answers": ["Yes."], "continues": True}))
    skill: Any = [("forms/SKILL.md", b"---\nname: forms\ndescription: For forms.\n---\n")]
    async with process(tmp_path, script) as server:
        client = server.client
        file = await client.beta.files.upload(file=("a.txt", b"alpha"))
        made = await client.beta.skills.create(files=skill)
        store = await client.beta.memory_stores.create(name="notes")
        memory = await client.beta.memory_stores.memories.create(store.id, path="/a", content="alpha")
        given: Any = [
            {"type": "file", "file_id": file.id},
            {"type": "memory_store", "memory_store_id": store.id},
        ]
        session = await session_with(client, resources=given)
        server.kill()
    async with process(tmp_path, script) as server:
        client = server.client
        assert await client.beta.files.retrieve_metadata(file.id) == file
        assert await client.beta.skills.retrieve(made.id) == made
        content = await client.beta.skills.versions.download(made.latest_version_id, skill_id=made.id)
        assert (await content.read()).startswith(b"PK")
        kept = await client.beta.memory_stores.memories.retrieve(memory.id, memory_store_id=store.id)
        assert kept.content == "alpha"
        [one] = await versions_of(client, store.id)
        assert one.id == kept.memory_version_id
        shown = await client.beta.sessions.retrieve(session.id)
        assert shown.resources == session.resources
        mounted = tmp_path / "data" / "mounts" / session.id
        assert (mounted / "uploads" / file.id).read_bytes() == b"alpha"
        assert (mounted / "memory" / "notes" / "a").read_text() == "alpha"


async def versions_of(client: AsyncAnthropic, store_id: str) -> list[Any]:
    return [one async for one in client.beta.memory_stores.memory_versions.list(store_id)]
