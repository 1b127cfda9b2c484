"""Agents and environments through the official client, which refuses every answer it does not know."""

from typing import Any

import anthropic
import pytest
from tests.journeys.managed.conftest import Server

pytestmark = pytest.mark.anyio
BETA: Any = {"headers": {"anthropic-beta": "managed-agents-2026-04-01"}}


def data(shown: Any) -> Any:
    """What was sent, as plain data."""
    return shown.to_dict(mode="json")


async def test_an_agent_is_made_with_everything_filled_in(server: Server) -> None:
    agent = await server.client.beta.agents.create(
        name="Helper",
        model="claude-sonnet-4-6",
        system="Be brief.",
        tools=[
            {
                "type": "agent_toolset_20260401",
                "configs": [{"name": "bash", "permission_policy": {"type": "always_ask"}}],
            },
            {
                "type": "custom",
                "name": "weigh",
                "description": "Weigh a thing.",
                "input_schema": {"type": "object", "properties": {"thing": {"type": "string"}}},
            },
        ],
        metadata={"team": "tests"},
    )
    toolset, custom = data(agent)["tools"]
    assert agent.version == 1
    assert data(agent)["model"] == {
        "id": "claude-sonnet-4-6",
        "effort": {"type": "high"},
        "speed": "standard",
        "inference_geo": None,
    }
    assert toolset == {
        "type": "agent_toolset_20260401",
        "default_config": {"enabled": True, "permission_policy": {"type": "always_allow"}},
        "configs": [
            {"type": "bash", "name": "bash", "enabled": True, "permission_policy": {"type": "always_ask"}}
        ],
    }
    assert custom["input_schema"] == {"type": "object", "properties": {"thing": {"type": "string"}}}
    assert await server.client.beta.agents.retrieve(agent.id) == agent


async def test_a_change_makes_a_version_and_no_change_makes_none(server: Server) -> None:
    agents = server.client.beta.agents
    agent = await agents.create(name="Helper", model="m", description="old", metadata={"a": "1", "b": "2"})
    same = await agents.update(agent.id, version=1, name="Helper")
    assert same == agent
    changed = await agents.update(agent.id, version=1, description=None, metadata={"a": None, "c": "3"})
    assert (changed.version, changed.description, changed.metadata) == (2, None, {"b": "2", "c": "3"})
    with pytest.raises(anthropic.ConflictError) as conflict:
        await agents.update(agent.id, version=1, name="Helper")
    assert conflict.value.response.headers["x-should-retry"] == "false"
    assert (await agents.retrieve(agent.id, version=1)).description == "old"
    listed = [found.version async for found in agents.versions.list(agent.id, limit=1)]
    assert listed == [2, 1]
    with pytest.raises(anthropic.NotFoundError):
        await agents.retrieve(agent.id, version=3)


async def test_an_archived_agent_stays_and_cannot_be_changed(server: Server) -> None:
    agents = server.client.beta.agents
    agent = await agents.create(name="Helper", model="m")
    archived = await agents.archive(agent.id)
    assert archived.archived_at is not None
    assert await agents.archive(agent.id) == archived
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await agents.update(agent.id, name="Other")
    assert [found async for found in agents.list()] == []
    assert [found.id async for found in agents.list(include_archived=True)] == [agent.id]


async def test_pages_hold_every_agent_once_the_newest_first(server: Server) -> None:
    agents = server.client.beta.agents
    made = [(await agents.create(name=f"Agent {number}", model="m")).id for number in range(5)]
    assert [found.id async for found in agents.list(limit=2)] == made[::-1]
    first = await agents.list(limit=5)
    assert first.next_page is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 257}, "name"),
        ({"description": "x" * 2_049}, "description"),
        ({"system": "x" * 100_001}, "system"),
        ({"metadata": {str(number): "" for number in range(17)}}, "metadata"),
        ({"metadata": {"k" * 65: ""}}, "metadata"),
        ({"surprise": 1}, "surprise"),
        ({"tools": [{"type": "agent_toolset_20260401"}] * 2}, "agent_toolset_20260401"),
        ({"tools": [{"type": "unknown"}]}, "tools.0"),
        ({"tools": [{"type": "agent_toolset_20260401", "configs": [{"name": "cat"}]}]}, "tools.0"),
        ({"tools": [{"type": "agent_toolset_20260401", "configs": [{"name": "bash"}] * 2}]}, "bash"),
        (
            {
                "tools": [
                    {
                        "type": "agent_toolset_20260401",
                        "configs": [{"name": "bash", "allowed_domains": ["a.b"]}],
                    }
                ]
            },
            "allowed_domains",
        ),
        (
            {
                "tools": [
                    {
                        "type": "agent_toolset_20260401",
                        "configs": [{"name": "web_fetch", "allowed_domains": ["http://a.b"]}],
                    }
                ]
            },
            "plain host",
        ),
        ({"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]}, "mcp_servers"),
        ({"mcp_servers": [{"type": "url", "name": "x", "url": "https://x.example"}]}, "mcp_toolset"),
        (
            {
                "tools": [
                    {"type": "custom", "name": "a b", "description": "d", "input_schema": {"type": "object"}}
                ]
            },
            "name",
        ),
        (
            {
                "tools": [
                    {"type": "agent_toolset_20260401"},
                    {
                        "type": "custom",
                        "name": "bash",
                        "description": "d",
                        "input_schema": {"type": "object"},
                    },
                ]
            },
            "bash",
        ),
        ({"skills": [{"type": "custom", "skill_id": "skill_x"}]}, "skill"),
        ({"multiagent": {"type": "coordinator", "agents": ["agent_x"]}}, "multiagent.agents.0"),
        ({"multiagent": {"type": "coordinator", "agents": []}}, "multiagent"),
    ],
)
async def test_what_is_wrong_with_an_agent_is_named(
    server: Server, given: dict[str, object], named: str
) -> None:
    whole: dict[str, object] = {"name": "Helper", "model": "m", **given}
    with pytest.raises(anthropic.BadRequestError) as refused:
        await server.client.post("/v1/agents", body=whole, cast_to=object, options=BETA)
    assert named in str(refused.value)
    assert refused.value.type == "invalid_request_error"


async def test_allowed_tools_of_a_server_are_written_out(server: Server) -> None:
    whole = {
        "name": "Helper",
        "model": "m",
        "mcp_servers": [{"type": "url", "name": "tracker", "url": "https://mcp.example.com/mcp"}],
        "tools": [{"type": "mcp_toolset", "mcp_server_name": "tracker", "allowed_tools": ["list"]}],
    }
    made: Any = await server.client.post("/v1/agents", body=whole, cast_to=object, options=BETA)
    ask = {"type": "always_ask"}
    assert made["tools"] == [
        {
            "type": "mcp_toolset",
            "mcp_server_name": "tracker",
            "default_config": {"enabled": False, "permission_policy": ask},
            "configs": [{"name": "list", "enabled": True, "permission_policy": ask}],
        }
    ]


async def test_a_roster_is_pinned_when_it_is_saved(server: Server) -> None:
    agents = server.client.beta.agents
    reviewer = await agents.create(name="Reviewer", model="m")
    lead = await agents.create(
        name="Lead", model="m", multiagent={"type": "coordinator", "agents": [reviewer.id, {"type": "self"}]}
    )
    await agents.update(reviewer.id, name="Other reviewer")
    roster = data(await agents.retrieve(lead.id))["multiagent"]
    assert roster["agents"] == [
        {"type": "agent", "id": reviewer.id, "version": 1},
        {"type": "agent", "id": lead.id, "version": 1},
    ]
    with pytest.raises(anthropic.BadRequestError, match="roster"):
        await agents.create(name="L", model="m", multiagent={"type": "coordinator", "agents": [lead.id]})


async def test_an_environment_is_made_changed_archived_and_deleted(server: Server) -> None:
    environments = server.client.beta.environments
    plain = await environments.create(name="plain")
    assert data(plain)["config"]["networking"] == {"type": "unrestricted"}
    limited = await environments.create(
        name="limited",
        config={
            "type": "cloud",
            "networking": {"type": "limited", "allowed_hosts": ["*.example.com"], "allow_mcp_servers": True},
        },
        description="d",
        metadata={"a": "1", "b": "2"},
    )
    changed = await environments.update(
        limited.id,
        config={"type": "cloud", "networking": {"type": "limited", "allow_package_managers": True}},
        description=None,
        metadata={"a": None, "b": ""},
    )
    assert data(changed)["config"]["networking"] == {
        "type": "limited",
        "allowed_hosts": ["*.example.com"],
        "allow_mcp_servers": True,
        "allow_package_managers": True,
    }
    assert (changed.description, changed.metadata) == (None, {})
    archived = await environments.archive(limited.id)
    assert archived.archived_at is not None
    with pytest.raises(anthropic.BadRequestError, match="archived"):
        await environments.update(limited.id, name="other")
    assert [found.id async for found in environments.list()] == [plain.id]
    assert (await environments.delete(plain.id)).type == "environment_deleted"
    with pytest.raises(anthropic.NotFoundError):
        await environments.retrieve(plain.id)


async def test_packages_need_the_network_for_them(server: Server) -> None:
    with pytest.raises(anthropic.BadRequestError, match="allow_package_managers"):
        await server.client.beta.environments.create(
            name="e",
            config={
                "type": "cloud",
                "networking": {"type": "limited"},
                "packages": {"type": "packages", "pip": ["ruff"]},
            },
        )


async def test_one_workspace_sees_nothing_of_another(server: Server) -> None:
    _, key = await server.house.keys.create(workspace="other")
    agent = await server.client.beta.agents.create(name="Helper", model="m")
    environment = await server.client.beta.environments.create(name="e")
    async with server.other(key) as other:
        assert [found async for found in other.beta.agents.list()] == []
        for look in (
            other.beta.agents.retrieve(agent.id),
            other.beta.agents.update(agent.id, name="mine"),
            other.beta.agents.archive(agent.id),
            other.beta.agents.versions.list(agent.id),
            other.beta.environments.retrieve(environment.id),
            other.beta.environments.delete(environment.id),
        ):
            with pytest.raises(anthropic.NotFoundError):
                await look
    assert (await server.client.beta.agents.retrieve(agent.id)).name == "Helper"


async def test_headers_that_a_group_needs_are_asked_for(server: Server) -> None:
    raw = server.client.with_options(default_headers={"anthropic-beta": ""})
    with pytest.raises(anthropic.NotFoundError, match="managed-agents-2026-04-01"):
        await raw.get("/v1/agents", cast_to=object)
    old = server.client.with_options(default_headers={"anthropic-version": "1999-01-01"})
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        await old.get("/v1/agents", cast_to=object)


async def test_a_key_that_may_only_read_changes_nothing(server: Server) -> None:
    _, key = await server.house.keys.create(scope="read")
    async with server.other(key) as reader:
        assert [found async for found in reader.beta.agents.list()] == []
        with pytest.raises(anthropic.PermissionDeniedError):
            await reader.beta.agents.create(name="Helper", model="m")
    async with server.other("wrong") as stranger:
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.beta.agents.list()
