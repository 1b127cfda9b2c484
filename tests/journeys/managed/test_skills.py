"""Skills through the official client: sent, versioned, fetched, and used in a session."""

import io
import zipfile
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from tests.journeys.managed.conftest import Server, serving
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_files import TOOLS, results, said

from toolwright.contracts.models import ModelRequest
from toolwright.testing import call

pytestmark = pytest.mark.anyio


def files(text: str = "Read the form first.", name: str = "tax-forms") -> Any:
    written = f"---\nname: {name}\ndescription: Fills in tax forms.\n---\n\n{text}\n"
    return [
        (f"{name}/SKILL.md", written.encode(), "text/markdown"),
        (f"{name}/scripts/fill.sh", b"#!/bin/sh\necho filled\n"),
    ]


def archive(sent: Any) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as opened:
        for name, content, *_ in sent:
            opened.writestr(name, content)
    return whole.getvalue()


async def agent_with(client: AsyncAnthropic, *skills: Any, **more: Any) -> Any:
    return await client.beta.agents.create(
        name="Clerk", model="claude-sonnet-4-6", tools=TOOLS, skills=list(skills), **more
    )


async def test_a_skill_is_sent_listed_and_deleted(server: Server) -> None:
    skills = server.client.beta.skills
    skill = await skills.create(files=files(), display_name="Tax forms")
    assert skill.id.startswith("skill_")
    assert skill.latest_version_id.startswith("skver_")
    assert (skill.display_name, skill.source.type) == ("Tax forms", "custom")
    others = [(await skills.create(files=files())).id for _ in range(2)]
    assert [one.id async for one in skills.list(limit=1)] == [*others[::-1], skill.id]
    assert [one.id async for one in skills.list(source="anthropic")] == []
    assert len([one.id async for one in skills.list(source="custom")]) == 3
    assert await skills.retrieve(skill.id) == skill
    deleted = await skills.delete(skill.id)
    assert (deleted.id, deleted.type) == (skill.id, "skill_deleted")
    for look in (
        skills.retrieve(skill.id),
        skills.delete(skill.id),
        skills.versions.list(skill.id),
        skills.versions.retrieve(skill.latest_version_id, skill_id=skill.id),
    ):
        with pytest.raises(anthropic.NotFoundError):
            await look


async def test_versions_follow_one_another(server: Server) -> None:
    skills = server.client.beta.skills
    skill = await skills.create(files=files())
    assert skill.display_name == "tax-forms"
    first = await skills.versions.retrieve("latest", skill_id=skill.id)
    assert data(first) | {"created_at": ""} == {
        "id": skill.latest_version_id,
        "type": "skill_version",
        "skill_id": skill.id,
        "name": "tax-forms",
        "description": "Fills in tax forms.",
        "created_at": "",
    }
    second = await skills.versions.create(skill.id, files=[("any.zip", archive(files("Second.")))])
    assert (await skills.retrieve(skill.id)).latest_version_id == second.id
    assert [one.id async for one in skills.versions.list(skill.id, limit=1)] == [second.id, first.id]
    assert await skills.versions.retrieve("latest", skill_id=skill.id) == second
    with pytest.raises(anthropic.BadRequestError, match="named tax-forms"):
        await skills.versions.create(skill.id, files=files(name="other"))
    deleted = await skills.versions.delete(second.id, skill_id=skill.id)
    assert (deleted.id, deleted.type) == (second.id, "skill_version_deleted")
    assert (await skills.retrieve(skill.id)).latest_version_id == first.id
    with pytest.raises(anthropic.BadRequestError, match="at least one"):
        await skills.versions.delete(first.id, skill_id=skill.id)


async def test_the_files_of_a_version_are_fetched_as_an_archive(server: Server) -> None:
    skills = server.client.beta.skills
    skill = await skills.create(files=files())
    content = await skills.versions.download(skill.latest_version_id, skill_id=skill.id)
    with zipfile.ZipFile(io.BytesIO(await content.read())) as opened:
        assert opened.namelist() == ["tax-forms/SKILL.md", "tax-forms/scripts/fill.sh"]
        assert opened.read("tax-forms/scripts/fill.sh") == b"#!/bin/sh\necho filled\n"


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ([("a/SKILL.md", b"no front matter")], "front matter"),
        ([("SKILL.md", b"---\nname: a\ndescription: b\n---\n")], "one folder"),
        ([("a/SKILL.md", b"---\nname: a\ndescription: b\n---\n"), ("b/x", b"")], "one folder"),
        ([("a/x", b"")], "there is no SKILL"),
        ([("a/SKILL.md", b"---\nname: A B\ndescription: b\n---\n")], "'name'"),
        ([("skill.zip", b"PK\x03\x04 broken")], "archive"),
        ([("a/SKILL.md", b"---\nname: a\ndescription: b\n---\n")] * 2, "twice"),
    ],
)
async def test_files_that_are_no_skill_are_refused(
    server: Server, tmp_path: Path, sent: Any, named: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=named):
        await server.client.beta.skills.create(files=sent)
    assert [one async for one in server.client.beta.skills.list()] == []
    assert not list((tmp_path / "data").glob("files/*"))


async def test_an_agent_has_a_skill_at_one_version(server: Server) -> None:
    client = server.client
    skill = await client.beta.skills.create(files=files())
    agent = await agent_with(client, {"type": "custom", "skill_id": skill.id})
    assert data(agent)["skills"] == [
        {"type": "custom", "skill_id": skill.id, "version": skill.latest_version_id}
    ]
    second = await client.beta.skills.versions.create(skill.id, files=files("Second."))
    assert data(await client.beta.agents.retrieve(agent.id))["skills"] == data(agent)["skills"]
    later = await agent_with(client, {"type": "custom", "skill_id": skill.id, "version": "latest"})
    assert data(later)["skills"][0]["version"] == second.id
    other = await client.beta.skills.create(files=files())
    for wrong in (
        {"skill_id": "skill_unknown"},
        {"skill_id": skill.id, "version": "skver_unknown"},
        {"skill_id": skill.id, "version": other.latest_version_id},
    ):
        with pytest.raises(anthropic.BadRequestError, match=r"skills\.0"):
            await agent_with(client, {"type": "custom", **wrong})


async def test_a_session_is_told_of_skills_and_finds_their_files(tmp_path: Path) -> None:
    seen: list[ModelRequest] = []

    def begin(request: ModelRequest) -> Any:
        seen.append(request)
        return [call("read", file_path="/mnt/skills/tax-forms/SKILL.md")]

    script = [
        begin,
        [call("bash", command="/mnt/skills/tax-forms/scripts/fill.sh")],
        [call("bash", command="touch /mnt/skills/tax-forms/new")],
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        client = server.client
        skill = await client.beta.skills.create(files=files())
        agent = await agent_with(client, {"type": "custom", "skill_id": skill.id}, system="Be brief.")
        environment = await client.beta.environments.create(name="here")
        session = await client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
        await client.beta.skills.delete(skill.id)
        told = results(await said(client, session.id))
        assert "Read the form first." in told[0][1]
        assert "filled" in told[1][1]
        assert told[2][0]
        with pytest.raises(anthropic.BadRequestError, match="deleted"):
            await client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
    system = "\n".join(seen[0].preamble.system)
    assert "- tax-forms (/mnt/skills/tax-forms/SKILL.md): Fills in tax forms." in system
    assert "Be brief." in system


async def test_a_session_keeps_its_skills_when_its_tools_change(tmp_path: Path) -> None:
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return "Yes."

    async with serving(tmp_path, [answer]) as server:
        client = server.client
        skill = await client.beta.skills.create(files=files())
        agent = await agent_with(client, {"type": "custom", "skill_id": skill.id})
        environment = await client.beta.environments.create(name="here")
        session = await client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
        less: Any = [{**TOOLS[0], "configs": [{"name": "bash", "enabled": False}]}]
        await client.beta.sessions.update(session.id, agent={"tools": less})
        await said(client, session.id)
    assert "/mnt/skills/tax-forms/SKILL.md" in "\n".join(seen[0].preamble.system)


async def test_two_skills_of_one_name_have_folders_of_their_own(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        client = server.client
        made = [await client.beta.skills.create(files=files(text)) for text in ("One.", "Two.")]
        agent = await agent_with(client, *({"type": "custom", "skill_id": one.id} for one in made))
        environment = await client.beta.environments.create(name="here")
        session = await client.beta.sessions.create(agent=agent.id, environment_id=environment.id)
        place = tmp_path / "data" / "mounts" / session.id / "skills"
        texts = sorted(path.read_text().splitlines()[-1] for path in place.glob("*/SKILL.md"))
        assert texts == ["One.", "Two."]


async def test_skills_of_another_workspace_are_not_there(server: Server) -> None:
    skill = await server.client.beta.skills.create(files=files())
    _, key = await server.house.keys.create(workspace="other")
    async with server.other(key) as other:
        skills = other.beta.skills
        assert [one async for one in skills.list()] == []
        version = skill.latest_version_id
        for look in (
            skills.retrieve(skill.id),
            skills.delete(skill.id),
            skills.versions.list(skill.id),
            skills.versions.create(skill.id, files=files()),
            skills.versions.retrieve(version, skill_id=skill.id),
            skills.versions.download(version, skill_id=skill.id),
            skills.versions.delete(version, skill_id=skill.id),
        ):
            with pytest.raises(anthropic.NotFoundError):
                await look
        with pytest.raises(anthropic.BadRequestError, match="skills"):
            await agent_with(other, {"type": "custom", "skill_id": skill.id})
