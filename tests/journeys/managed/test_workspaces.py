"""What belongs to one workspace is not there for the key of another: every route of the OpenAPI document.

A route that is new and has no row here fails: say what it is asked with.
"""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.journeys.casts import Cast
from tests.journeys.managed.conftest import KEY, Server, serving
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_sessions import TOOLSET, until_idle
from tests.journeys.managed.test_threads import GO, threads, to_agent

pytestmark = pytest.mark.anyio
SHARED = {"GET /v1/models", "GET /v1/models/{model_id}"}
"""What the server says to everybody."""
ALONE: dict[str, list[Any]] = {
    # Makes something of one's own: bodies that name what is another's, each refused.
    "POST /v1/agents": [
        {"name": "x", "model": "m", "multiagent": {"type": "coordinator", "agents": ["{agent_id}"]}}
    ],
    "POST /v1/environments": [],
    "POST /v1/sessions": [
        {"agent": "{agent_id}", "environment_id": "{own_environment}"},
        {"agent": "{own_agent}", "environment_id": "{environment_id}"},
        {"agent": "{own_agent}", "environment_id": "{own_environment}", "vault_ids": ["{vault_id}"]},
        {
            "agent": "{own_agent}",
            "environment_id": "{own_environment}",
            "resources": [
                {"type": "file", "file_id": "{file_id}"},
            ],
        },
        {
            "agent": "{own_agent}",
            "environment_id": "{own_environment}",
            "resources": [
                {"type": "memory_store", "memory_store_id": "{memory_store_id}"},
            ],
        },
    ],
    "POST /v1/vaults": [],
    "POST /v1/files": [],
    "POST /v1/skills": [],
    "POST /v1/memory_stores": [],
}
MESSAGE = {"type": "user.message", "content": [{"type": "text", "text": "x"}]}
BEARER = {"type": "static_bearer", "mcp_server_url": "https://mcp.example.com/", "token": "a-token-for-tests"}
BODIES: dict[str, Any] = {
    "POST /v1/agents/{agent_id}": {"name": "mine"},
    "POST /v1/environments/{environment_id}": {"name": "mine"},
    "POST /v1/sessions/{session_id}": {"title": "mine"},
    "POST /v1/sessions/{session_id}/events": {"events": [MESSAGE]},
    "POST /v1/sessions/{session_id}/resources": {"type": "file", "file_id": "{file_id}"},
    "POST /v1/sessions/{session_id}/resources/{resource_id}": {"authorization_token": "x"},
    "POST /v1/memory_stores/{memory_store_id}": {"name": "mine"},
    "POST /v1/memory_stores/{memory_store_id}/memories": {"path": "/mine", "content": "x"},
    "POST /v1/memory_stores/{memory_store_id}/memories/{memory_id}": {"content": "mine"},
    "POST /v1/vaults/{vault_id}": {"display_name": "mine"},
    "POST /v1/vaults/{vault_id}/credentials": {"auth": BEARER},
    "POST /v1/vaults/{vault_id}/credentials/{credential_id}": {"display_name": "mine"},
}
SKILL = ("seeing/SKILL.md", b"---\nname: seeing\ndescription: How to see.\n---\nLook.\n", "text/markdown")
UPLOADS: dict[str, Any] = {"POST /v1/skills/{skill_id}/versions": [("files[]", SKILL)]}
"""What a route that changes something of another's is asked with; those without a body need no row."""


async def things_of(server: Server) -> dict[str, str]:
    """Make one of everything with the server's own client; return the ids by the names of paths."""
    beta = server.client.beta
    digger = await beta.agents.create(name="Digger", model="m")
    roster: Any = {"type": "coordinator", "agents": [digger.id]}
    agent = await beta.agents.create(name="Lead", model="m", tools=[TOOLSET], multiagent=roster)
    environment = await beta.environments.create(name="here")
    vault = await beta.vaults.create(display_name="mine")
    bearer: Any = BEARER
    credential = await beta.vaults.credentials.create(vault.id, auth=bearer)
    file = await beta.files.upload(file=("a.txt", b"x", "text/plain"))
    skill = await beta.skills.create(files=[SKILL])
    store = await beta.memory_stores.create(name="mine")
    memory = await beta.memory_stores.memories.create(store.id, path="/a", content="x")
    session = await beta.sessions.create(
        agent=agent.id,
        environment_id=environment.id,
        resources=[{"type": "file", "file_id": file.id}],
    )
    await until_idle(server, session.id, GO)
    return {
        "agent_id": digger.id,
        "environment_id": environment.id,
        "vault_id": vault.id,
        "credential_id": credential.id,
        "session_id": session.id,
        "file_id": file.id,
        "skill_id": skill.id,
        "version": str(skill.latest_version_id),
        "memory_store_id": store.id,
        "memory_id": memory.id,
        "version_id": memory.memory_version_id,
        "resource_id": next(one["id"] for one in data(session)["resources"]),
        "thread_id": (await threads(server, session.id))[1]["id"],
    }


def filled(body: Any, ids: dict[str, str]) -> Any:
    if isinstance(body, str):
        return ids.get(body.strip("{}"), body)
    if isinstance(body, dict):
        return {name: filled(value, ids) for name, value in body.items()}
    return [filled(value, ids) for value in body] if isinstance(body, list) else body


def client_for(server: Server, key: str, beta: str) -> httpx2.AsyncClient:
    headers = {"authorization": f"Bearer {key}", "anthropic-version": "2026-10-21", "anthropic-beta": beta}
    return httpx2.AsyncClient(base_url=server.address, headers=headers, timeout=30)


def beta_of(operation: Any) -> str:
    """Return the beta that a route needs, as the document says it."""
    wanted = [one["schema"]["const"] for one in operation["parameters"] if one["name"] == "anthropic-beta"]
    return str(wanted[0]) if wanted else "managed-agents-2026-04-01"


async def test_two_workspaces_never_see_each_other(tmp_path: Path) -> None:
    model = Cast({GO: [[to_agent("Dig here.")], "I wait.", "Done."], "Dig here": ["Gold."]})
    async with serving(tmp_path, model) as server:
        ids = await things_of(server)
        _, key = await server.house.keys.create(workspace="other")
        async with server.other(key) as other:
            own_agent = await other.beta.agents.create(name="x", model="m")
            own_environment = await other.beta.environments.create(name="x")
        async with client_for(server, KEY, "managed-agents-2026-04-01") as mine:
            document = (await mine.get("/v1/openapi.json")).json()
            before = {path: (await mine.get(path)).json() for path in looked_at(ids)}
        own = {"own_agent": own_agent.id, "own_environment": own_environment.id}
        wrong: list[str] = []
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                async with client_for(server, key, beta_of(operation)) as stranger:
                    wrong += await asked(stranger, f"{method.upper()} {path}", operation, ids | own)
        async with client_for(server, KEY, "managed-agents-2026-04-01") as mine:
            assert {path: (await mine.get(path)).json() for path in looked_at(ids)} == before
    assert wrong == []


def looked_at(ids: dict[str, str]) -> list[str]:
    return [
        f"/v1/agents/{ids['agent_id']}",
        f"/v1/environments/{ids['environment_id']}",
        f"/v1/sessions/{ids['session_id']}/events",
        f"/v1/vaults/{ids['vault_id']}",
        f"/v1/vaults/{ids['vault_id']}/credentials/{ids['credential_id']}",
    ]


async def asked(stranger: httpx2.AsyncClient, route: str, operation: Any, ids: dict[str, str]) -> list[str]:
    """Ask one route for another's things; return what is wrong with the answers."""
    method, _, path = route.partition(" ")
    if route in SHARED:
        return []
    names = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
    if unknown := [name for name in names if name not in ids]:
        return [f"{route}: say in things_of what {unknown[0]} is"]
    if not names and method == "GET":
        found = {one["id"] for one in (await stranger.get(path)).json()["data"]}
        return [f"{route}: lists {id}" for id in sorted(found - {ids["own_agent"], ids["own_environment"]})]
    if not names:
        if route not in ALONE:
            return [f"{route}: say in ALONE which bodies name another's things"]
        answers = [await stranger.request(method, path, json=filled(body, ids)) for body in ALONE[route]]
        return [f"{route}: {one.status_code} {one.text[:200]}" for one in answers if one.status_code != 400]
    body, files = filled(BODIES.get(route), ids), UPLOADS.get(route)
    if "requestBody" in operation and body is None and files is None:
        return [f"{route}: say in BODIES or UPLOADS what it is asked with"]
    answer = await stranger.request(method, path.format(**ids), json=body, files=files)
    return [] if answer.status_code == 404 else [f"{route}: {answer.status_code} {answer.text[:200]}"]
